/*
 * 128 bits that stand for bytes: two that differ have the same ones with a
 * chance of about 2^-100 at most, whoever chooses them, since the key is
 * random and never leaves the process.  Not for files: another process has
 * another key.
 */
#ifndef STORE_BASE_FINGERPRINT_H
#define STORE_BASE_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fingerprint {
	uint64_t a, b;
};

struct fingerprint_key {
	uint64_t a[2], b[2];
};

/* False when the system gives no random bytes. */
bool fingerprint_key_init(struct fingerprint_key *key);

/* Multiplies two words and folds the product. */
static inline uint64_t
fingerprint_fold(uint64_t x, uint64_t y)
{
	unsigned __int128 product = (unsigned __int128)x * y;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* That of `f` followed by two words. */
static inline struct fingerprint
fingerprint_add(const struct fingerprint_key *k, struct fingerprint f,
    uint64_t x, uint64_t y)
{
	return (struct fingerprint){
	    fingerprint_fold(x ^ k->a[0], y ^ f.a ^ k->a[1]),
	    fingerprint_fold(x ^ k->b[0], y ^ f.b ^ k->b[1])};
}

struct fingerprint fingerprint_bytes(const struct fingerprint_key *key,
    const void *p, size_t n);

/* From fingerprints to numbers: open addressing, at most half full; all zero
 * when empty.  No hashtable.h: these 16 bytes stand in the slot itself, so that
 * a lookup misses the caches once. */
struct fingerprint_entry {
	struct fingerprint f;
	uint32_t number; /* plus one; 0 = free */
};

struct fingerprint_map {
	struct fingerprint_entry *entries;
	uint32_t n, cap;
};

void fingerprint_map_fini(struct fingerprint_map *m);
/* The number, or UINT32_MAX. */
uint32_t fingerprint_map_get(const struct fingerprint_map *m,
    struct fingerprint f);
static inline void
fingerprint_map_prefetch(const struct fingerprint_map *m,
    struct fingerprint f)
{
	if (m->cap > 0)
		__builtin_prefetch(&m->entries[(uint32_t)f.a & (m->cap - 1)]);
}
/* Sets one that is not there yet; false when out of memory. */
bool fingerprint_map_add(struct fingerprint_map *m, struct fingerprint f,
    uint32_t number);

#endif
