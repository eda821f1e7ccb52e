/*
 * What of the hash table is not on the way of a lookup.
 */
#include "store/base/hashtable.h"

#include <stdlib.h>
#include <string.h>

#define FEWEST 64u /* slots */

bool
hashtable_grow(struct hashtable *t, uint32_t n,
    uint32_t (*hash_of)(const void *items, uint32_t i), const void *items)
{
	struct hashtable old = *t;
	uint64_t cap = old.cap < FEWEST ? FEWEST : old.cap;

	while ((uint64_t)n * 3 > cap * 2)
		cap *= 2;
	if (cap > UINT32_MAX ||
	    (t->slots = calloc(cap, sizeof(*t->slots))) == NULL) {
		*t = old;
		return false;
	}
	t->n = 0;
	t->cap = (uint32_t)cap;
	for (uint32_t slot = 0; slot < old.cap; slot++) {
		uint32_t i = hashtable_at(&old, slot);

		if (i != HASHTABLE_NONE)
			hashtable_add(t, hash_of(items, i), i);
	}
	free(old.slots);
	return true;
}

void
hashtable_clear(struct hashtable *t)
{
	if (t->n > 0)
		memset(t->slots, 0, t->cap * sizeof(*t->slots));
	t->n = 0;
}

void
hashtable_fini(struct hashtable *t)
{
	free(t->slots);
	*t = (struct hashtable){0};
}
