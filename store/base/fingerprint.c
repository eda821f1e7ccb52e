/*
 * Multiplications of 64 by 64 bits with a secret key, four chains side by side:
 * one alone would wait for each product.
 */
#include "store/base/fingerprint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

bool
fingerprint_key_init(struct fingerprint_key *key)
{
	return getrandom(key, sizeof(*key), 0) == sizeof(*key);
}

/* The words that hold n bytes, 1 to 16; which bytes they are follows from n
 * alone. */
static inline void
fingerprint_tail(const uint8_t *s, size_t n, uint64_t words[2])
{
	uint32_t half[2];

	if (n >= 8) {
		memcpy(&words[0], s, 8);
		memcpy(&words[1], s + n - 8, 8);
	} else if (n >= 4) {
		memcpy(&half[0], s, 4);
		memcpy(&half[1], s + n - 4, 4);
		words[0] = half[0];
		words[1] = half[1];
	} else {
		words[0] = s[0];
		words[1] = (uint64_t)s[n / 2] << 8 | s[n - 1];
	}
}

#define CHAINS 4

/* As many steps of CHAINS * 16 bytes as there are: one chain would wait for
 * each product. */
static struct fingerprint
fingerprint_steps(const struct fingerprint_key *key, struct fingerprint f,
    const uint8_t *s, size_t n)
{
	struct fingerprint chains[CHAINS] = {f, f, f, f};
	uint64_t words[2 * CHAINS];

	for (; n >= sizeof(words); n -= sizeof(words), s += sizeof(words)) {
		memcpy(words, s, sizeof(words));
		for (int i = 0; i < CHAINS; i++)
			chains[i] = fingerprint_add(key, chains[i],
			    words[2 * i], words[2 * i + 1]);
	}
	for (int i = 0; i < CHAINS; i++)
		f = fingerprint_add(key, f, chains[i].a, chains[i].b);
	return f;
}

/* 16 bytes a step; the length first, so that none is the beginning of
 * another. */
struct fingerprint
fingerprint_bytes(const struct fingerprint_key *key, const void *p, size_t n)
{
	struct fingerprint f = fingerprint_add(key, (struct fingerprint){0, 0},
	    n, 1);
	const uint8_t *s = p;
	size_t steps = n >= 128 ? n & ~(size_t)63 : 0;
	uint64_t words[2];

	if (steps > 0)
		f = fingerprint_steps(key, f, s, steps);
	for (s += steps, n -= steps; n > 16; n -= 16, s += 16) {
		memcpy(words, s, 16);
		f = fingerprint_add(key, f, words[0], words[1]);
	}
	if (n > 0) {
		fingerprint_tail(s, n, words);
		f = fingerprint_add(key, f, words[0], words[1]);
	}
	return f;
}

void
fingerprint_map_fini(struct fingerprint_map *m)
{
	free(m->entries);
	*m = (struct fingerprint_map){0};
}

static struct fingerprint_entry *
fingerprint_place(const struct fingerprint_map *m, struct fingerprint f)
{
	uint32_t at = (uint32_t)f.a & (m->cap - 1);

	while (m->entries[at].number != 0 && (m->entries[at].f.a != f.a ||
	        m->entries[at].f.b != f.b))
		at = (at + 1) & (m->cap - 1);
	return &m->entries[at];
}

static bool
fingerprint_grow(struct fingerprint_map *m)
{
	struct fingerprint_map new = {NULL, m->n, m->cap ? m->cap * 2 : 64};

	new.entries = calloc(new.cap, sizeof(*new.entries));
	if (new.entries == NULL)
		return false;
	for (uint32_t i = 0; i < m->cap; i++) {
		if (m->entries[i].number != 0)
			*fingerprint_place(&new, m->entries[i].f) =
			    m->entries[i];
	}
	free(m->entries);
	*m = new;
	return true;
}

uint32_t
fingerprint_map_get(const struct fingerprint_map *m, struct fingerprint f)
{
	return m->cap == 0 ? UINT32_MAX : fingerprint_place(m, f)->number - 1;
}

bool
fingerprint_map_add(struct fingerprint_map *m, struct fingerprint f,
    uint32_t number)
{
	if (m->n >= m->cap / 2 && !fingerprint_grow(m))
		return false;
	*fingerprint_place(m, f) = (struct fingerprint_entry){f, number + 1};
	m->n++;
	return true;
}
