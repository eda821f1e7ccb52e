/*
 * What one point of a series says: over a step of many, or over the one span
 * that was asked for.
 */
#ifndef FCGI_SERIES_POINT_H
#define FCGI_SERIES_POINT_H

#include "store/base/buf.h"
#include "store/store.h"

enum series_fn { FN_DEFAULT, FN_MEAN, FN_RATE, FN_INCREASE, FN_LAST, FN_MIN,
	FN_MAX, FN_COUNT };

/* A counter's rate, the largest of quantiles, else the mean. */
enum series_fn series_point_default(const struct series_desc *d);

/* *num / *den, in the series' scale; a rate is one a slot. */
void series_point_term(enum series_fn fn, const struct metric_point *p,
    int128 *num, uint128 *den);

/*
 * Makes the points of a gauge say by how much it has grown, as a counter's do:
 * some programs call their counters gauges.  In a step before which it was not
 * seen, or in which it begins anew, below half of what it was, that is not
 * known.  False: it falls, so it is no counter; and then its points are of no
 * use any more.
 */
bool series_point_grow(struct metric_series *m);

/* The one point of a series over one span; NULL where that has no data. */
const struct metric_point *series_point_only(const struct metric_series *m);

/* The same where the series has this name and source. */
const struct metric_point *series_point_of(const struct metric_series *m,
    const char *name, const char *source);

#endif
