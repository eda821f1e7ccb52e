/*
 * From a piece of text, as a file writes it again and again, to the number
 * that was made of it: one look-up instead of taking it apart.  The hash is
 * made while the text is looked for its end (stacks_cache_mix), so that each
 * byte is read once.
 */
#ifndef FCGI_FORMAT_STACKS_CACHE_H
#define FCGI_FORMAT_STACKS_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "store/base/buf.h"

struct stacks_cache_entry {
	uint32_t hash, first, len; /* first: in text; len 0: free */
	uint32_t value;
};

/* All zero is empty. */
struct stacks_cache {
	struct buf text;
	struct stacks_cache_entry *table;
	uint32_t n, mask;
};

#define STACKS_CACHE_NONE UINT32_MAX

void stacks_cache_fini(struct stacks_cache *c);

/* Puts a text that is not there; false when out of memory. */
bool stacks_cache_add(struct stacks_cache *c, uint32_t hash, const char *p,
    size_t n, uint32_t value);

/* Takes the next eight bytes, or the last few with zeros above them. */
static inline uint64_t
stacks_cache_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9fb21c651e98df25u;
	return hash ^ hash >> 32;
}

/* Begins to load what stacks_cache_get() will look at: first the entry, then,
 * when that has come, its text. */
static inline void
stacks_cache_fetch(const struct stacks_cache *c, uint32_t hash)
{
	if (c->table != NULL)
		__builtin_prefetch(&c->table[hash & c->mask]);
}

static inline void
stacks_cache_fetch_text(const struct stacks_cache *c, uint32_t hash)
{
	const uint8_t *text;

	if (c->table == NULL)
		return;
	text = c->text.data + c->table[hash & c->mask].first;
	__builtin_prefetch(text);
	__builtin_prefetch(text + 64);
}

/* Is it a, of n bytes?  Without a call where the text is short. */
static inline bool
stacks_cache_same(const uint8_t *a, const char *b, size_t n)
{
	uint64_t x, y;

	if (n < 8 || n > 64)
		return memcmp(a, b, n) == 0;
	for (size_t i = 0; i + 8 < n; i += 8) {
		memcpy(&x, a + i, 8);
		memcpy(&y, b + i, 8);
		if (x != y)
			return false;
	}
	memcpy(&x, a + n - 8, 8);
	memcpy(&y, b + n - 8, 8);
	return x == y;
}

/* The value of a text of 1 to 2^32 - 1 bytes, or STACKS_CACHE_NONE. */
static inline uint32_t
stacks_cache_get(const struct stacks_cache *c, uint32_t hash, const char *p,
    size_t n)
{
	uint32_t at = hash & c->mask;

	if (c->table == NULL)
		return STACKS_CACHE_NONE;
	for (; c->table[at].len != 0; at = (at + 1) & c->mask) {
		const struct stacks_cache_entry *e = &c->table[at];

		if (e->hash == hash && e->len == n &&
		    stacks_cache_same(c->text.data + e->first, p, n))
			return e->value;
	}
	return STACKS_CACHE_NONE;
}

#endif
