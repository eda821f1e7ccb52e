/*
 * Words of bits tell where the next needed number is, so that nothing is
 * looked at one by one.
 */
#include "store/journal/open_table.h"

#include <stdlib.h>
#include <string.h>

void
open_table_fini(struct open_table *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		for (int k = 0; t->branches[i] != NULL && k < 64; k++)
			free(t->branches[i]->known[k]);
		free(t->branches[i]);
	}
	free(t->branches);
	*t = (struct open_table){0};
}

static bool
open_table_grow(struct open_table *t, uint32_t n)
{
	uint32_t want = t->n + t->n / 2;
	struct open_branch **p;

	if (n <= t->n)
		return true;
	want = want < n ? n : want;
	p = realloc(t->branches, want * sizeof(struct open_branch *));
	if (p == NULL)
		return false;
	memset(p + t->n, 0, (want - t->n) * sizeof(struct open_branch *));
	t->branches = p;
	t->bytes += (want - t->n) * sizeof(struct open_branch *);
	t->n = want;
	return true;
}

/* The branch of a number, made when there is none; NULL: out of memory. */
static struct open_branch *
open_table_branch(struct open_table *t, uint32_t number)
{
	uint32_t i = number / OPEN_BRANCH;

	if (!open_table_grow(t, i + 1))
		return NULL;
	if (t->branches[i] == NULL) {
		t->branches[i] = calloc(1, sizeof(*t->branches[i]));
		if (t->branches[i] != NULL)
			t->bytes += sizeof(*t->branches[i]);
	}
	return t->branches[i];
}

bool
open_table_put(struct open_table *t, uint32_t number, uint32_t symbol)
{
	struct open_branch *b = open_table_branch(t, number);
	uint32_t **leaf;

	if (b == NULL)
		return false;
	leaf = &b->known[number / OPEN_LEAF % 64];
	if (*leaf == NULL) {
		if ((*leaf = malloc(OPEN_LEAF * sizeof(**leaf))) == NULL)
			return false;
		memset(*leaf, 0xff, OPEN_LEAF * sizeof(**leaf));
		t->bytes += OPEN_LEAF * sizeof(**leaf);
	}
	(*leaf)[number % OPEN_LEAF] = symbol;
	return true;
}

bool
open_table_need(struct open_table *t, uint32_t number)
{
	struct open_branch *b = open_table_branch(t, number);
	uint32_t leaf = number / OPEN_LEAF % 64;

	if (b == NULL)
		return false;
	b->leaves |= UINT64_C(1) << leaf;
	b->need[leaf] |= UINT64_C(1) << number % OPEN_LEAF;
	return true;
}

bool
open_table_needs(const struct open_table *t, uint32_t number)
{
	uint32_t i = number / OPEN_BRANCH;

	return i < t->n && t->branches[i] != NULL &&
	    (t->branches[i]->need[number / OPEN_LEAF % 64] >>
	        number % OPEN_LEAF & 1);
}

/* The bits from this one on, and up to this one. */
static uint64_t
bits_from(uint64_t bits, uint32_t first)
{
	return bits & UINT64_MAX << first;
}

static uint64_t
bits_to(uint64_t bits, uint32_t last)
{
	return bits & UINT64_MAX >> (63 - last);
}

static uint32_t
bits_highest(uint64_t bits)
{
	return 63 - (uint32_t)__builtin_clzll(bits);
}

uint32_t
open_table_next(const struct open_table *t, uint32_t number)
{
	uint32_t leaf = number / OPEN_LEAF % 64, bit = number % OPEN_LEAF;

	for (uint32_t i = number / OPEN_BRANCH; i < t->n; i++) {
		const struct open_branch *b = t->branches[i];
		uint64_t leaves = b == NULL ? 0 : bits_from(b->leaves, leaf);

		if (leaves >> leaf & 1 && bits_from(b->need[leaf], bit) == 0)
			leaves ^= UINT64_C(1) << leaf;
		if (leaves != 0) {
			uint32_t k = (uint32_t)__builtin_ctzll(leaves);
			uint64_t bits = bits_from(b->need[k],
			    k == leaf ? bit : 0);

			return i * OPEN_BRANCH + k * OPEN_LEAF +
			    (uint32_t)__builtin_ctzll(bits);
		}
		leaf = bit = 0;
	}
	return INTERN_NONE;
}

uint32_t
open_table_last(const struct open_table *t, uint32_t number)
{
	uint32_t end = t->n * OPEN_BRANCH; /* numbers are below INTERN_NONE */
	uint32_t at = (t->n <= number / OPEN_BRANCH ? end : number) - 1;
	uint32_t leaf = at / OPEN_LEAF % 64, bit = at % OPEN_LEAF;

	for (uint32_t i = at / OPEN_BRANCH; number > 0 && i < t->n; i--) {
		const struct open_branch *b = t->branches[i];
		uint64_t leaves = b == NULL ? 0 : bits_to(b->leaves, leaf);

		if (leaves >> leaf & 1 && bits_to(b->need[leaf], bit) == 0)
			leaves ^= UINT64_C(1) << leaf;
		if (leaves != 0) {
			uint32_t k = bits_highest(leaves);
			uint64_t bits = bits_to(b->need[k],
			    k == leaf ? bit : 63);

			return i * OPEN_BRANCH + k * OPEN_LEAF +
			    bits_highest(bits);
		}
		leaf = bit = 63;
	}
	return INTERN_NONE;
}

uint64_t
open_table_count(const struct open_table *t)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		if (t->branches[i] == NULL)
			continue;
		for (int k = 0; k < 64; k++)
			n += (uint32_t)__builtin_popcountll(
			    t->branches[i]->need[k]);
	}
	return n;
}

void
open_table_rest(struct open_table *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		struct open_branch *b = t->branches[i];

		if (b == NULL || b->leaves == 0)
			continue;
		memset(b->need, 0, sizeof(b->need));
		b->leaves = 0;
	}
}
