/*
 * The histogram. Bucket i holds, for values under 256, just i; above, the
 * top nine bits of the value number it: with e = log2(value) - 8,
 *
 *	i = 256 * e + (value >> e)		(value >> e is in 256..511)
 */

#include "kvload_hist.h"

#include <math.h>
#include <stdlib.h>

#define SUB_BITS	8
#define SUB		(1 << SUB_BITS)
#define BUCKETS		((64 - SUB_BITS + 1) * SUB)

struct hist {
	uint64_t count, min, max;
	double sum;
	uint64_t buckets[BUCKETS];
};

struct hist *
hist_new(void)
{
	struct hist *h = calloc(1, sizeof(*h));

	if (h != NULL)
		h->min = UINT64_MAX;
	return h;
}

void
hist_free(struct hist *h)
{
	free(h);
}

static unsigned
exponent_of(uint64_t ns)
{
	if (ns < 2 * SUB)
		return 0;
	return 63 - (unsigned)__builtin_clzll(ns) - SUB_BITS;
}

static size_t
bucket_of(uint64_t ns)
{
	unsigned e = exponent_of(ns);

	return (size_t)e * SUB + (size_t)(ns >> e);
}

static uint64_t
bucket_middle(size_t i)
{
	unsigned e;
	uint64_t low;

	if (i < 2 * SUB)
		return i;
	e = (unsigned)(i / SUB) - 1;
	low = (uint64_t)(i - (size_t)e * SUB) << e;
	return low + ((UINT64_C(1) << e) >> 1);
}

void
hist_record(struct hist *h, uint64_t ns)
{
	h->count++;
	h->sum += (double)ns;
	if (ns < h->min)
		h->min = ns;
	if (ns > h->max)
		h->max = ns;
	h->buckets[bucket_of(ns)]++;
}

uint64_t
hist_count(const struct hist *h)
{
	return h->count;
}

uint64_t
hist_max(const struct hist *h)
{
	return h->max;
}

double
hist_mean(const struct hist *h)
{
	return h->count > 0 ? h->sum / (double)h->count : 0;
}

uint64_t
hist_quantile(const struct hist *h, double q)
{
	uint64_t seen = 0, rank, value;
	size_t i;

	if (h->count == 0)
		return 0;
	/* 0.99 * 100 must be 99, not the next above. */
	rank = (uint64_t)ceil(q * (double)h->count - 1e-9);
	if (rank < 1)
		rank = 1;
	if (rank > h->count)
		rank = h->count;
	for (i = 0; (seen += h->buckets[i]) < rank; i++)
		continue;
	value = bucket_middle(i);
	if (value < h->min)
		return h->min;
	return value > h->max ? h->max : value;
}
