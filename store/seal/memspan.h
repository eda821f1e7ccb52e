/*
 * The blocks and facts of some batches, in memory: what a journal holds.
 * Names live in a symbol table that several spans can share.  Numbers are kept
 * as bytes: a span is all that one host measures in ten minutes.
 */
#ifndef STORE_MEMSPAN_H
#define STORE_MEMSPAN_H

#include "store/batch/symtab.h"
#include "store/file/block.h"
#include "store/journal/journal_names.h"

struct mem_block {
	uint64_t slot;
	uint32_t series; /* of the table */
	uint32_t at;     /* of its numbers in bytes; they end where those of
	                  * the next block begin */
};

struct mem_fact {
	int64_t time_ns;
	uint64_t slot; /* of its time; in whose file it is to stand */
	uint32_t kind, subject; /* string of the table */
	size_t first, n;        /* in fact_bytes */
};

struct memspan {
	struct symtab *syms; /* borrowed */
	struct mem_block *blocks;
	struct mem_fact *facts;
	struct buf bytes, fact_bytes;
	size_t n_blocks, cap_blocks, n_facts, cap_facts;
};

void memspan_fini(struct memspan *m);
/* The memory in use, without the table of symbols. */
size_t memspan_bytes(const struct memspan *m);
/* Adds a batch, self-contained or of the journal whose names are given; they
 * take up what it adds.  After an error the same batch can be given again. */
const struct err *memspan_add(struct memspan *m, const struct batch *b,
    struct journal_names *names);

/* Reads block i.  Its entries, which come in any order, memspan_entry() reads
 * from a copy of out->entries, *node being 0 before the first: a node of the
 * table, or a histogram's bucket. */
void memspan_block(const struct memspan *m, size_t i, struct block *out);
bool memspan_entry(struct cur *entries, uint32_t *node, int64_t *value);

#endif
