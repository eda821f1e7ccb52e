/*
 * The buckets of latency histograms, log-linear: values below 128 have one
 * each, then 128 to a power of two, so that a bucket is at most 1/128 =
 * 0.78 % wide.  Negative values count as 0.
 */
#ifndef STORE_HISTOGRAM_H
#define STORE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BUCKETS 7296 /* histogram_bucket(INT64_MAX) + 1 */
uint32_t histogram_bucket(int64_t value);
/* The smallest value of a bucket, and that of the next one. */
int64_t histogram_low(uint32_t bucket);

#endif
