/*
 * Prometheus's text exposition format, and what OpenMetrics adds to it that
 * can be read over: a pure parser.
 *
 *	# TYPE http_requests_total counter
 *	http_requests_total{code="200",method="get"} 1027 1395066363000
 *
 * A line that is not understood is counted and skipped; timestamps and
 * exemplars are passed over.
 */
#ifndef FORMAT_PROMETHEUS_H
#define FORMAT_PROMETHEUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/model/series.h"

#define PROM_LABELS_MAX 16
#define PROM_NAME_MAX 255
#define PROM_FAMILIES_MAX 16384

struct err;

enum prom_type {
	PROM_UNTYPED,
	PROM_COUNTER,
	PROM_GAUGE,
	PROM_HISTOGRAM,
	PROM_GAUGE_HISTOGRAM, /* its parts may fall */
	PROM_SUMMARY
};

enum prom_value {
	PROM_NUMBER,
	PROM_NAN,     /* no data; any case of "nan" */
	PROM_INFINITE /* +Inf, -Inf */
};

struct prom_sample {
	const char *name;
	enum prom_type type;  /* of its family */
	const char *unit;     /* "# UNIT" of its family, or "" */
	const struct label *labels; /* sorted by name */
	size_t n_labels;
	enum prom_value kind;
	long double value;    /* of a PROM_NUMBER */
};

struct prom_counts {
	uint64_t samples; /* handed to the callback */
	uint64_t bad;     /* lines that were not understood */
};

/* Everything in *s is borrowed until it returns. */
typedef void prom_fn(void *arg, const struct prom_sample *s);

/* Walks the samples of `text`, which need not end with a NUL.  Errors: out
 * of memory alone. */
const struct err *prom_parse(const char *text, size_t n, prom_fn *fn,
    void *arg, struct prom_counts *counts);

/*
 * How a sample is stored: kind, unit and decimal scale follow from its type,
 * name and "# UNIT" alone, so that they are the same every time.  A counter
 * is a counter, and so are the buckets, sum and count of a histogram or a
 * summary, all else a gauge; bytes and counts have scale 0, all else 6.
 */
void prom_describe(const struct prom_sample *s, struct series_desc *d);

/* value * 10^scale, rounded, in *out; false when it is out of range. */
bool prom_scale(long double value, uint8_t scale, int64_t *out);

#endif
