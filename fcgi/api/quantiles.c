/*
 * Rows of histograms, as JSON.
 */
#include "fcgi/api/quantiles.h"

#include "fcgi/format/writer.h"
#include "store/store.h"

void
quantiles_put_columns(struct writer *w)
{
	static const char *const names[HISTOGRAM_QUANTILES] = {"p50", "p90",
	    "p95", "p99", "p99.9"};

	writer_key_open(w, "columns", '[');
	writer_str(w, "time");
	for (int i = 0; i < HISTOGRAM_QUANTILES; i++)
		writer_str(w, names[i]);
	writer_str(w, "max");
	writer_str(w, "mean");
	writer_str(w, "count");
	writer_close(w, ']');
}

/* A row of the columns: "no data" is null, but a count of 0 is told too. */
void
quantiles_put_point(struct writer *w, int64_t time_ns, int scale,
    const struct histogram_point *p)
{
	writer_open(w, '[');
	writer_seconds(w, time_ns);
	for (int i = 0; i < HISTOGRAM_QUANTILES; i++) {
		if (p->count > 0)
			writer_decimal(w, p->values[i], (uint8_t)scale);
		else
			writer_null(w);
	}
	if (p->count > 0) {
		writer_decimal(w, p->max, (uint8_t)scale);
		writer_quotient(w, p->sum, p->count, scale);
	} else {
		writer_null(w);
		writer_null(w);
	}
	writer_int(w, (int64_t)p->count);
	writer_close(w, ']');
}
