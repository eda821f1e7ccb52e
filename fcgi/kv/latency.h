/*
 * Latencies as a histogram of the store's buckets (histogram.h), each at most
 * 0.78 % wide, and their quantiles.  Pure.
 */
#ifndef FCGI_LATENCY_H
#define FCGI_LATENCY_H

#include <stdint.h>

#include "store/model/histogram.h"

struct writer;

struct latency { /* all zero when empty */
	uint32_t counts[HISTOGRAM_BUCKETS]; /* of nanoseconds */
	uint32_t n;
	int64_t min_ns, max_ns;
};

void latency_observe(struct latency *l, int64_t ns);

/* The smallest latency that permille / 1000 of all do not exceed, to half a
 * bucket: 0.4 % of it; -1 where there is none. */
int64_t latency_quantile(const struct latency *l, unsigned permille);

/* An object: count, p50, p90, p99, max in seconds, null where there is none,
 * and buckets [from, until, count]. */
void latency_put(struct writer *w, const struct latency *l);

#endif
