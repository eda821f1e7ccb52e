/*
 * What was added to a batch becomes its entries: sorted, and folded where one
 * stack was added to twice.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/batch/batch_private.h"

static int
addition_compare(const void *a, const void *b)
{
	const struct batch_addition *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static inline uint64_t
addition_key(const struct batch_addition *a)
{
	return (uint64_t)a->block << 32 | a->key;
}

/* By the bytes in which any two differ, the lowest first: two or three of
 * eight for a profile. */
static void
batch_sort(struct batch_addition *adds, size_t n)
{
	struct batch_addition *from = adds, *to, *room;
	uint64_t differ = 0;

	for (size_t i = 1; i < n; i++)
		differ |= addition_key(&adds[i]) ^ addition_key(&adds[0]);
	if ((room = to = malloc(n * sizeof(*room))) == NULL) {
		qsort(adds, n, sizeof(*adds), addition_compare);
		return;
	}
	for (unsigned shift = 0; shift < 64; shift += 8) {
		size_t at[257] = {0};
		struct batch_addition *swap = from;

		if ((differ >> shift & 255) == 0)
			continue;
		for (size_t i = 0; i < n; i++)
			at[(addition_key(&from[i]) >> shift & 255) + 1]++;
		for (size_t k = 1; k < 256; k++)
			at[k] += at[k - 1];
		for (size_t i = 0; i < n; i++)
			to[at[addition_key(&from[i]) >> shift & 255]++] =
			    from[i];
		from = to;
		to = swap;
	}
	if (from != adds)
		memcpy(adds, from, n * sizeof(*adds));
	free(room);
}

/* Folds the sorted additions into entries; false on overflow. */
static bool
batch_fold(struct batch *b)
{
	struct batch_index *x = b->index;
	struct batch_entry *out = b->entries;
	size_t i;

	for (i = 0; i < x->n_adds; i++) {
		const struct batch_addition *a = &x->adds[i];
		struct batch_block *block = &b->blocks[a->block];

		if (block->n == 0)
			block->first = (uint32_t)(out - b->entries);
		if (block->n > 0 && out[-1].key == a->key) {
			if (__builtin_add_overflow(out[-1].value, a->value,
			        &out[-1].value))
				return false;
			continue;
		}
		*out++ = (struct batch_entry){a->key, a->value};
		block->n++;
	}
	b->n_entries = (size_t)(out - b->entries);
	return true;
}

const struct err *
batch_finish(struct batch *b)
{
	struct batch_index *x = b->index;

	if (b->failed)
		return err_new(ERR_LIMIT, 0,
		    "a batch ran out of memory or over a bound");
	if (x->n_adds == 0 || b->entries != NULL)
		return NULL;
	for (size_t i = 0; i < x->n_adds; i++) {
		struct batch_block *k = &b->blocks[x->adds[i].block];

		if (k->count == 0 && !k->joins) /* who adds has observed */
			k->count = 1;
	}
	batch_sort(x->adds, x->n_adds);
	b->entries = malloc(x->n_adds * sizeof(*b->entries));
	if (b->entries == NULL)
		return err_nomem();
	if (!batch_fold(b)) {
		b->failed = true;
		return err_new(ERR_LIMIT, 0, "a value is over 2^63 - 1");
	}
	return NULL;
}
