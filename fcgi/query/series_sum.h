/*
 * Series that are added because somebody asked for it: those that differ in
 * nothing but some labels.
 */
#ifndef FCGI_SERIES_SUM_H
#define FCGI_SERIES_SUM_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/buf.h"
#include "store/model/series.h"

struct err;
struct metric_series;

#define SERIES_SUM_LABELS 8 /* that can be added over */

/* The labels to add over: "instance", or "instance,level". */
struct series_over {
	char text[200];
	const char *names[SERIES_SUM_LABELS];
	size_t n;
};

/* `text` NULL: none.  Errors: 400 with the field "sum". */
const struct err *series_over_parse(struct series_over *o, const char *text);

/* One answer: `n` series, the first of which names it. */
struct series_sum {
	const struct metric_series **members;
	size_t n;
	struct label *labels; /* without those that are added over */
	size_t n_labels;
	uint64_t *times; /* series_times.h; NULL: each has its own */
};

/* Groups of the series in the order of their first ones; without labels to
 * add over each series is one.  Strings and members are borrowed from
 * `series`; series_sums_free(). */
const struct err *series_sums_new(struct series_sum **out, size_t *n_out,
    const struct metric_series *series, size_t n,
    const struct series_over *over);
/* Does a series have the labels of the sum, neither more nor fewer? */
bool series_sum_has_labels(const struct series_sum *sum,
    const struct series_desc *d);
/* Is a series one of the sum's? */
bool series_sum_takes(const struct series_sum *sum,
    const struct series_desc *d, const struct series_over *over);
void series_sums_free(struct series_sum *sums, size_t n);

/* *num / *den += num2 / den2, the denominators at most 2^40.  Exact as long as
 * they have a common multiple as small, and to one part in 2^39 beyond. */
void series_add_quotient(int128 *num, uint128 *den, int128 num2,
    uint128 den2);

#endif
