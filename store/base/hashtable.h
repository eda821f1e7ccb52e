/*
 * Finds items of an array by a hash of them: open addressing with linear
 * probing, at most two thirds full.  It holds their numbers alone, 4 bytes a
 * slot; what is equal, and where the items are, the caller knows.
 *
 *	static uint32_t
 *	thing_hash(const void *things, uint32_t i) ...
 *
 *	hashtable_each(i, &l->table, hash) {
 *		if (thing_equal(&l->things[i], key))
 *			return i;
 *	}
 *	if (!array_room(&l->things, l->n + 1, &l->cap) ||
 *	    !hashtable_room(&l->table, l->n + 1, thing_hash, l->things))
 *		return HASHTABLE_NONE;
 *	l->things[l->n] = ...
 *	hashtable_add(&l->table, hash, l->n);
 *	return l->n++;
 *
 * For byte strings there is intern.h, for keys of 64 bits its map64, which
 * holds them in its slots: one miss of the caches where this has two.
 */
#ifndef STORE_BASE_HASHTABLE_H
#define STORE_BASE_HASHTABLE_H

#include <stdbool.h>
#include <stdint.h>

#define HASHTABLE_NONE UINT32_MAX

/* All zero when empty. */
struct hashtable {
	uint32_t *slots; /* number + 1; 0 = free */
	uint32_t n, cap; /* a power of 2 */
};

bool hashtable_grow(struct hashtable *t, uint32_t n,
    uint32_t (*hash_of)(const void *items, uint32_t i), const void *items);
/* Room for n numbers in all, so that hashtable_add() cannot fail; `hash_of` is
 * asked for each number when it grows.  False when out of memory, and then
 * nothing has changed. */
static inline bool
hashtable_room(struct hashtable *t, uint32_t n,
    uint32_t (*hash_of)(const void *items, uint32_t i), const void *items)
{
	return (uint64_t)n * 3 <= (uint64_t)t->cap * 2 ||
	    hashtable_grow(t, n, hash_of, items);
}
/* Adds a number, of which there is none that is equal; there is room. */
static inline void
hashtable_add(struct hashtable *t, uint32_t hash, uint32_t i)
{
	while (t->slots[hash & (t->cap - 1)] != 0)
		hash++;
	t->slots[hash & (t->cap - 1)] = i + 1;
	t->n++;
}
/* Takes all out and keeps the memory. */
void hashtable_clear(struct hashtable *t);
void hashtable_fini(struct hashtable *t);

/* What stands in a slot, counted round the table: a number or NONE. */
static inline uint32_t
hashtable_at(const struct hashtable *t, uint32_t slot)
{
	return t->cap == 0 ? HASHTABLE_NONE
	                   : t->slots[slot & (t->cap - 1)] - 1;
}

/* The same of a table that has slots. */
static inline uint32_t
hashtable_in(const struct hashtable *t, uint32_t slot)
{
	return t->slots[slot & (t->cap - 1)] - 1;
}

/* Adds a number where a search for it found hashtable_at() to be NONE; there
 * is room. */
static inline void
hashtable_set(struct hashtable *t, uint32_t slot, uint32_t i)
{
	t->slots[slot & (t->cap - 1)] = i + 1;
	t->n++;
}

/* Declares `i` and goes through the numbers that may have this hash: the low
 * bits must differ.  Nothing may be added on the way. */
#define hashtable_each(i, t, hash)                                             \
	for (uint32_t slot_##i = (hash), i;                                    \
	    (i = hashtable_at(t, slot_##i)) != HASHTABLE_NONE; slot_##i++)

/* Fetches ahead what hashtable_each() will need. */
static inline void
hashtable_prefetch(const struct hashtable *t, uint32_t hash)
{
	if (t->cap > 0)
		__builtin_prefetch(&t->slots[hash & (t->cap - 1)]);
}

#endif
