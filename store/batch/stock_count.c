/*
 * The observations of stocks: a table of the newest slots, four places to a
 * hash, of which the oldest slot gives way.
 */
#include "store/batch/stock_count.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/batch/batch.h"

#define WAYS 4u
#define CELLS 16384u /* 256 KB */
/* Label sets of one block that are told apart; one process has few. */
#define SETS_MAX 64

void
stock_count_fini(struct stock_count *o)
{
	free(o->cells);
	free(o->noted);
	free(o->own);
	*o = (struct stock_count){0};
}

static struct stock_count_cell *
stock_count_ways(const struct stock_count *o, uint64_t key)
{
	return &o->cells[(key % (CELLS / WAYS)) * WAYS];
}

static uint32_t
stock_count_find(const struct stock_count *o, uint64_t key)
{
	const struct stock_count_cell *c = stock_count_ways(o, key);

	for (unsigned i = 0; i < WAYS; i++) {
		if (c[i].key == key)
			return c[i].n;
	}
	return 0;
}

static void
stock_count_put(struct stock_count *o, const struct stock_count_cell *new)
{
	struct stock_count_cell *c = stock_count_ways(o, new->key), *to = c;

	for (unsigned i = 0; i < WAYS; i++) {
		if (c[i].key == new->key || c[i].key == 0) {
			to = &c[i];
			break;
		}
		/* low bits go round */
		if ((int32_t)(c[i].slot - to->slot) < 0)
			to = &c[i];
	}
	*to = *new;
}

static const struct err *
stock_count_note(struct stock_count *o, uint64_t key, uint64_t slot, uint64_t n)
{
	if (!array_room(&o->noted, o->n_noted + 1, &o->cap_noted))
		return err_nomem();
	o->noted[o->n_noted++] = (struct stock_count_cell){key, (uint32_t)slot,
	    n < UINT32_MAX ? (uint32_t)n : UINT32_MAX};
	return NULL;
}

/* ---- what is observed ---- */

static uint64_t
stock_count_hash(const struct batch *b, uint64_t hash, uint32_t string)
{
	const char *s = batch_str(b, string);

	return hash64(hash, s, strlen(s) + 1);
}

static uint64_t
stock_count_hash_set(const struct batch *b, uint64_t hash, uint32_t set)
{
	const struct batch_labels *l = &b->labels[set];

	for (uint32_t i = 2 * l->first; i < 2 * (l->first + l->n); i++)
		hash = stock_count_hash(b, hash, b->pairs[i]);
	return hash;
}

static uint64_t
stock_count_hash_block(const struct batch *b, const struct batch_block *k)
{
	const struct batch_series *s = &b->series[k->series];
	uint64_t hash = hash64_u64(k->slot, (uint64_t)s->period);

	hash = stock_count_hash(b, hash, s->name);
	hash = stock_count_hash(b, hash, s->unit);
	return stock_count_hash_set(b, hash, s->labels) | 1;
}

/* The label sets of a block's stacks, without repetition; that of a block
 * without stacks is 0. */
static size_t
stock_count_sets(const struct batch *b, const struct batch_block *k,
    uint32_t sets[SETS_MAX])
{
	size_t n = 0, i;

	sets[0] = 0;
	for (uint32_t e = k->first; e < k->first + k->n && n < SETS_MAX; e++) {
		uint32_t node = b->entries[e].key;

		while (node != 0 && b->nodes[node].parent != 0)
			node = b->nodes[node].parent;
		for (i = 0; i < n; i++) {
			if (sets[i] == b->nodes[node].edge)
				break;
		}
		if (i == n)
			sets[n++] = b->nodes[node].edge;
	}
	return n > 0 ? n : 1;
}

/* How often the sets of a block have observed its slot with it: *most.  One
 * that joins counts where its own set had moments, for those were the parts
 * of the slot before its own. */
static const struct err *
stock_count_moments(struct stock_count *o, const struct batch *b,
    const struct batch_block *k, uint64_t slot_key, uint64_t *most)
{
	uint64_t add = k->count > 0 ? k->count : 1;
	uint32_t sets[SETS_MAX];
	size_t n = stock_count_sets(b, k, sets);
	const struct err *e = NULL;

	for (size_t i = 0; i < n && e == NULL; i++) {
		uint64_t key = stock_count_hash_set(b, hash64_u64(slot_key, 1),
		    sets[i]) | 1;
		uint64_t own = stock_count_find(o, key);

		if (k->count == 0 && own == 0)
			continue;
		own += add;
		if (own > *most)
			*most = own;
		e = stock_count_note(o, key, k->slot, own);
	}
	return e;
}

static const struct err *
stock_count_block(struct stock_count *o, const struct batch *b,
    struct batch_block *k)
{
	uint64_t slot_key = stock_count_hash_block(b, k), most, before;
	uint64_t moments = hash64_u64(slot_key, 2) | 1;
	const struct err *e = NULL;

	before = most = stock_count_find(o, slot_key);
	if (k->count > 0)
		e = stock_count_note(o, moments, k->slot, 1);
	if (e == NULL && (k->count > 0 || stock_count_find(o, moments) > 0))
		e = stock_count_moments(o, b, k, slot_key, &most);
	if (most == 0)
		most = 1;
	k->count = most - before;
	return e != NULL ? e : stock_count_note(o, slot_key, k->slot, most);
}

/* ---- a batch ---- */

static const struct err *
stock_count_keep(struct stock_count *o, const struct batch *b)
{
	if (o->cells == NULL)
		o->cells = calloc(CELLS, sizeof(*o->cells));
	if (o->cells == NULL ||
	    !array_room(&o->own, b->n_blocks, &o->cap_own))
		return err_nomem();
	for (size_t i = 0; i < b->n_blocks; i++)
		o->own[i] = b->blocks[i].count;
	return NULL;
}

const struct err *
stock_count_begin(struct stock_count *o, struct batch *b)
{
	const struct err *e = NULL;
	size_t i = 0;

	o->n_noted = 0;
	while (i < b->n_blocks && b->blocks[i].kind != SERIES_STOCK)
		i++;
	if (i == b->n_blocks)
		return NULL;
	if ((e = stock_count_keep(o, b)) != NULL)
		return e;
	for (; i < b->n_blocks && e == NULL; i++) {
		if (b->blocks[i].kind == SERIES_STOCK)
			e = stock_count_block(o, b, &b->blocks[i]);
	}
	if (e != NULL)
		stock_count_end(o, b, false);
	return e;
}

void
stock_count_end(struct stock_count *o, struct batch *b, bool written)
{
	if (o->n_noted == 0)
		return;
	for (size_t i = 0; i < b->n_blocks; i++)
		b->blocks[i].count = o->own[i];
	for (size_t i = 0; i < o->n_noted && written; i++)
		stock_count_put(o, &o->noted[i]);
	o->n_noted = 0;
}

const struct err *
stock_count_save(const struct stock_count *o, struct stock_count *kept)
{
	*kept = (struct stock_count){0};
	if (o->cells == NULL)
		return NULL;
	kept->cells = malloc(CELLS * sizeof(*kept->cells));
	if (kept->cells == NULL)
		return err_nomem();
	memcpy(kept->cells, o->cells, CELLS * sizeof(*kept->cells));
	return NULL;
}

void
stock_count_restore(struct stock_count *o, struct stock_count *kept, bool back)
{
	if (back) {
		free(o->cells);
		o->cells = kept->cells;
		kept->cells = NULL;
	}
	stock_count_fini(kept);
}
