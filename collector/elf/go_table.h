/*
 * The table that Go's runtime itself walks stacks with, section .gopclntab.
 * Its head, with words of 8 bytes:
 *
 *	magic, 0, 0, smallest instruction, 8       8 bytes
 *	Go 1.18: functions, files, text, names, ..., table    8 words
 *	Go 1.16: functions, files, names, ..., table          7 words
 *	Go 1.2:  functions, table                  (the table begins here)
 *
 * `names`, `table` and what is between them are offsets in the section.  The
 * table has, for each function by address, its entry and where in the table
 * (Go 1.2: in the section) it is described, and at last the end of the text:
 * numbers of 4 bytes from `text` on, before Go 1.18 words and addresses.  A
 * description begins with the entry again and the offset of the name.
 *
 * From Go 1.18 on it goes on so, after the name's offset:
 *
 *	arguments, deferred      4 bytes each
 *	depths                   4: where they are behind the word `depths`
 *	files, lines, number, unit    4 each
 *	first line               4, from Go 1.20 on
 *	kind, flags              1 each
 *
 * Depths of the stack are pairs up to a 0 in the first place: what the depth
 * rises by (from -1 on; the lowest bit is the sign), and for how many bytes of
 * code it holds, seven bits a byte.
 */
#ifndef COLLECTOR_GO_TABLE_H
#define COLLECTOR_GO_TABLE_H

#include "collector/elf/elf_private.h"

#define GO_WINDOW 4096

/* Bytes of a part of the file that were read last: what is asked for
 * rises. */
struct go_window {
	const struct elf *e;
	uint64_t at, size; /* of the part */
	uint64_t from;
	size_t n;
	uint8_t bytes[GO_WINDOW];
};

struct go_table {
	uint64_t functions, text, names, table;
	uint64_t described; /* what places of descriptions count from */
	uint64_t depths;    /* 0: not known of this form */
	size_t number;      /* bytes of a number of the table */
	size_t flags;       /* where they are in a description */
	Elf64_Shdr section;
};

/* Bytes of the part until the next call, at most a window of them; NULL when
 * they are not there. */
const uint8_t *go_bytes(struct go_window *w, uint64_t at, size_t n);

/* An unsigned number of 4 or 8 bytes. */
bool go_number(struct go_window *w, uint64_t at, size_t size, uint64_t *out);

/* The section and its head; false when there is none that is known. */
bool go_open(const struct elf *e, struct go_window *w, struct go_table *t);

/* May names and so many functions be in the section? */
bool go_has_functions(const struct go_table *t);

/* Where function i begins, and where it is described; behind the last one
 * the text ends. */
bool go_function(struct go_window *w, const struct go_table *t, uint64_t i,
    uint64_t *entry, uint64_t *at);

#endif
