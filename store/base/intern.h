/*
 * Byte strings to small numbers and back, and a map of 64-bit keys.
 *
 * Numbers count up from 0 in the order of first sight.  Items are followed
 * by a NUL that is not part of them, so that text can be used in place.
 * Both structures are all zero when empty and report failure by value.
 */
#ifndef STORE_BASE_INTERN_H
#define STORE_BASE_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"
#include "store/base/hashtable.h"

#define INTERN_NONE UINT32_MAX

struct intern_item {
	uint32_t first, len; /* in bytes.data */
	uint32_t hash;       /* 0: not known yet */
};

/* Bytes to be looked up; `hash` is that of an equal item elsewhere, or 0. */
struct intern_key {
	const void *p;
	uint32_t len, hash;
};

struct intern {
	struct buf bytes;
	struct intern_item *items;
	uint32_t n, cap;
	struct hashtable table;
	uint32_t indexed; /* items that are in the table */
	bool aligned;    /* items begin at multiples of 8: structs */
};

void intern_fini(struct intern *t);
/* Memory of it. */
size_t intern_bytes(const struct intern *t);
/* Gives back the hash table; the next put makes it anew. */
void intern_rest(struct intern *t);
/* The number of these bytes, new or old; INTERN_NONE when out of memory. */
uint32_t intern_put(struct intern *t, const void *p, size_t n);
/*
 * Puts n keys, n up to INTERN_MANY; false when out of memory.  Quicker than
 * one after the other where the table is not in the processor's caches: what
 * each lookup needs is fetched while the others wait.
 */
#define INTERN_MANY 64
bool intern_put_many(struct intern *t, struct intern_key *keys, size_t n,
    uint32_t *numbers);
/* The same as intern_put() without looking for an equal one: for decoded
 * dictionaries.  intern_put() finds it nevertheless, intern_find() does
 * not. */
uint32_t intern_push(struct intern *t, const void *p, size_t n);
/* From now on intern_find() finds those, too.  False: out of memory. */
bool intern_index(struct intern *t);
/* Makes sure that the next put of n bytes cannot fail. */
bool intern_reserve(struct intern *t, size_t n);
/* The number of these bytes, or INTERN_NONE when they are not there. */
uint32_t intern_find(const struct intern *t, const void *p, size_t n);

static inline const void *
intern_at(const struct intern *t, uint32_t i)
{
	return t->bytes.data + t->items[i].first;
}

static inline const char *
intern_str(const struct intern *t, uint32_t i)
{
	return (const char *)t->bytes.data + t->items[i].first;
}

/* Orders two items by their bytes, shorter first where one is a prefix. */
int intern_compare(const struct intern *t, uint32_t a, uint32_t b);

/* Keys are any uint64_t, values any uint32_t but INTERN_NONE. */
struct map64_pair {
	uint64_t key;
	uint32_t value; /* INTERN_NONE = free */
};

struct map64 {
	struct map64_pair *pairs;
	uint32_t n, cap;
};

void map64_fini(struct map64 *m);
/* The value of a key, or INTERN_NONE. */
uint32_t map64_get(const struct map64 *m, uint64_t key);
/* Fetches ahead what map64_get() of the key will need. */
void map64_prefetch(const struct map64 *m, uint64_t key);
/* Sets a key that is not there yet; false when out of memory. */
bool map64_add(struct map64 *m, uint64_t key, uint32_t value);

#endif
