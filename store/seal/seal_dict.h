/*
 * The dictionary of a file that is being made, and its making of a span in
 * memory: which symbols it needs, in which order, under which numbers.  That
 * of sealed files is made by seal_merge.c.  Used by sealing alone.
 */
#ifndef STORE_SEAL_DICT_H
#define STORE_SEAL_DICT_H

#include "store/batch/symtab.h"

struct seal_dict {
	struct batch *out;      /* sorted; facts are added by seal.c */
	uint32_t *stack_nodes;  /* stack number -> node of out */
	uint32_t n_stacks;

	/* of a span in memory */
	struct symtab *syms;    /* its symbols; borrowed */
	bool last;              /* they are freed as soon as they are in out */
	uint8_t *stack_used;    /* symbol node -> has a value of its own */
	uint8_t *series_used;   /* symbol series -> has a block */
	uint8_t *string_used;   /* of facts; grown by seal_dict_sort() */
	uint32_t *string_map;   /* symbol -> number in out */
	uint32_t *series_map;   /* symbol -> number in out or INTERN_NONE */
	uint32_t *stack_map;    /* symbol node -> stack number */
};

void seal_dict_fini(struct seal_dict *d);
/* To be called before marking. */
const struct err *seal_dict_mark_begin(struct seal_dict *d,
    struct symtab *syms);
/* Sorts what is marked, and numbers it. */
const struct err *seal_dict_sort(struct seal_dict *d);

#endif
