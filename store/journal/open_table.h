/*
 * Which number each symbol of a dictionary has in a symbol table, and which
 * are needed there: in leaves of 64 and branches of 64 leaves, where there is
 * something to know, so that a question costs what it asks for and not what
 * others have in the dictionary.
 */
#ifndef STORE_OPEN_TABLE_H
#define STORE_OPEN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/intern.h"

#define OPEN_LEAF 64u
#define OPEN_BRANCH (64u * OPEN_LEAF) /* numbers of a branch */

struct open_branch {
	uint64_t leaves;    /* bits: needed anything of it */
	uint64_t need[64];  /* bits by number */
	uint32_t *known[64]; /* the table's numbers, or INTERN_NONE; NULL:
	                      * none of this leaf */
};

/* All zero when empty. */
struct open_table {
	struct open_branch **branches; /* NULL: nothing known or needed */
	uint32_t n;
	size_t bytes;
};

void open_table_fini(struct open_table *t);

/* What a number has in the table, or INTERN_NONE. */
static inline uint32_t
open_table_get(const struct open_table *t, uint32_t number)
{
	const struct open_branch *b;
	uint32_t leaf = number / OPEN_LEAF % 64;

	if (number / OPEN_BRANCH >= t->n ||
	    (b = t->branches[number / OPEN_BRANCH]) == NULL ||
	    b->known[leaf] == NULL)
		return INTERN_NONE;
	return b->known[leaf][number % OPEN_LEAF];
}

/* False: out of memory. */
bool open_table_put(struct open_table *t, uint32_t number, uint32_t symbol);
bool open_table_need(struct open_table *t, uint32_t number);

/* The lowest needed number from `number` on, the highest below it;
 * INTERN_NONE: there is none. */
uint32_t open_table_next(const struct open_table *t, uint32_t number);
uint32_t open_table_last(const struct open_table *t, uint32_t number);
bool open_table_needs(const struct open_table *t, uint32_t number);
/* How many are needed; and none any more. */
uint64_t open_table_count(const struct open_table *t);
void open_table_rest(struct open_table *t);

#endif
