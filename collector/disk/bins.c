/*
 * Buckets by key, and their way into a batch.
 */
#include "collector/disk/bins.h"

#include <stdlib.h>

#include "store/base/array.h"
#include "store/batch/batch.h"
#include "store/model/histogram.h"

static struct bin *
bins_get(struct bins *b, uint64_t key)
{
	uint32_t i = map64_get(&b->index, key);

	if (i != INTERN_NONE)
		return &b->all[i];
	if (!array_room(&b->all, b->n + 1, &b->cap) ||
	    !map64_add(&b->index, key, b->n))
		return NULL;
	b->all[b->n] = (struct bin){.key = key};
	return &b->all[b->n++];
}

bool
bins_add(struct bins *b, uint64_t key, uint32_t bucket, uint64_t count,
    uint64_t above)
{
	struct bin *bin = bins_get(b, key);

	if (bin == NULL)
		return false;
	bin->count += count;
	bin->sum += count * (uint64_t)histogram_low(bucket) + above;
	return true;
}

bool
bins_add_bin(struct bins *b, const struct bin *other)
{
	struct bin *bin = bins_get(b, other->key);

	if (bin == NULL)
		return false;
	bin->count += other->count;
	bin->sum += other->sum;
	return true;
}

/* The mean need not be whole: some are one above it. */
void
bins_put(const struct bin *bin, struct batch *b, uint32_t series,
    uint64_t slot)
{
	int64_t mean = (int64_t)(bin->sum / bin->count);
	int64_t above = (int64_t)(bin->sum % bin->count);

	batch_add_histogram(b, series, slot, mean,
	    (int64_t)bin->count - above);
	if (above > 0)
		batch_add_histogram(b, series, slot, mean + 1, above);
}

void
bins_clear(struct bins *b)
{
	b->n = 0;
	map64_fini(&b->index);
}

void
bins_fini(struct bins *b)
{
	bins_clear(b);
	free(b->all);
	b->all = NULL;
	b->cap = 0;
}
