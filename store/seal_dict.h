/*
 * The dictionary of a file that is being made: which symbols it needs, in
 * which order, under which numbers.  Used by sealing alone.
 */
#ifndef STORE_SEAL_DICT_H
#define STORE_SEAL_DICT_H

#include "symtab.h"

struct seal_dict {
	struct symtab syms;     /* of all sources */
	uint8_t *stack_used;    /* symbol node -> has a value of its own */
	uint8_t *series_used;   /* symbol series -> has a block */
	uint8_t *string_used;   /* of facts; grown by seal_dict_sort() */
	struct batch *out;      /* sorted; facts are added by seal.c */
	uint32_t *string_map;   /* symbol -> number in out */
	uint32_t *series_map;   /* symbol -> number in out or INTERN_NONE */
	uint32_t *series_order; /* number in out -> symbol */
	uint32_t *stack_map;    /* symbol node -> stack number */
	uint32_t *stack_nodes;  /* stack number -> node of out */
	uint32_t n_stacks;
};

const struct err *seal_dict_init(struct seal_dict *d);
void seal_dict_fini(struct seal_dict *d);
/* To be called when all sources are in syms, before marking. */
const struct err *seal_dict_mark_begin(struct seal_dict *d);
/* Sorts what is marked, and numbers it. */
const struct err *seal_dict_sort(struct seal_dict *d);

#endif
