/*
 * What a purge takes out of one file while a new one is made of it.  Without
 * a purge everything passes.
 */
#ifndef STORE_SEAL_SIEVE_H
#define STORE_SEAL_SIEVE_H

#include "store/file/sealed.h"

struct seal_drop;

struct seal_sieve {
	const struct sealed *file;
	const struct seal_drop *drop; /* NULL: everything passes */
	uint64_t size;                /* slots of a leaf */
	uint8_t *series;  /* of the file: does the selector match it? */
	uint8_t *stacks;  /* of the file: does it match the label set? */
	uint8_t *keep_series, *keep_stacks; /* still used after the purge */
	bool whole;       /* the selector has no matcher for stacks */
};

const struct err *seal_sieve_init(struct seal_sieve *v, struct sealed *f,
    const struct seal_drop *drop, unsigned base);
void seal_sieve_fini(struct seal_sieve *v);

/* The first slot of a leaf of which something goes, from drop->from on;
 * UINT64_MAX: nothing does. */
const struct err *seal_sieve_first(struct sealed *f,
    const struct seal_drop *drop, uint64_t *first);

/* Is anything left of a series, of a stack? */
bool seal_sieve_series(const struct seal_sieve *v, uint32_t series);
bool seal_sieve_stack(const struct seal_sieve *v, uint32_t stack);
bool seal_sieve_fact(const struct seal_sieve *v, const struct batch_fact *f);
/* Does a whole leaf go?  One of its stacks? */
bool seal_sieve_drops(const struct seal_sieve *v, uint32_t series,
    const struct block *b);
bool seal_sieve_drops_stack(const struct seal_sieve *v, uint32_t series,
    const struct block *b, uint32_t stack);

#endif
