/*
 * Buckets of the histograms of the open slot, by keys that the caller makes.
 * Each has its count and its sum: what goes to the store is the count, at
 * values around their mean, so that counts and sums are exact, and the
 * smallest and the largest value to within a bucket.
 */
#ifndef COLLECTOR_BINS_H
#define COLLECTOR_BINS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/intern.h"

struct batch;

struct bin {
	uint64_t key;
	uint64_t count, sum;
};

/* All zero is empty. */
struct bins {
	struct bin *all; /* read freely */
	uint32_t n, cap;
	struct map64 index;
};

/* Adds `count` values of a bucket of the store's, which are so much above its
 * least one, all together; the key is of that bucket alone.  False: out of
 * memory. */
bool bins_add(struct bins *b, uint64_t key, uint32_t bucket, uint64_t count,
    uint64_t above);

/* The same with all of a bin of others. */
bool bins_add_bin(struct bins *b, const struct bin *other);

/* Adds one of them to a series of the batch. */
void bins_put(const struct bin *bin, struct batch *b, uint32_t series,
    uint64_t slot);

/* Forgets them; the memory stays. */
void bins_clear(struct bins *b);
void bins_fini(struct bins *b);

#endif
