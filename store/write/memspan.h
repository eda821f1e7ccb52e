/*
 * The blocks and facts of some batches, in memory: what a journal holds.
 * Names live in a symbol table that several spans can share.
 */
#ifndef STORE_MEMSPAN_H
#define STORE_MEMSPAN_H

#include "store/batch/symtab.h"
#include "store/file/block.h"
#include "store/journal/journal_names.h"

struct mem_entry {
	uint32_t node; /* of the table; a bucket for histograms */
	int64_t value;
};

struct mem_block {
	struct block numbers; /* start, count, min ...; entries unused */
	uint32_t series;      /* of the table */
	size_t first, n;      /* entries */
};

struct mem_fact {
	int64_t time_ns;
	uint32_t kind, subject; /* string of the table */
	size_t first, n;        /* in fact_bytes */
};

struct memspan {
	struct symtab *syms; /* borrowed */
	struct mem_block *blocks;
	struct mem_entry *entries;
	struct mem_fact *facts;
	struct buf fact_bytes;
	size_t n_blocks, cap_blocks, n_entries, cap_entries, n_facts,
	    cap_facts;
};

void memspan_fini(struct memspan *m);
/* Adds a batch, self-contained or of the journal whose names are given; they
 * take up what it adds.  After an error the same batch can be given again. */
const struct err *memspan_add(struct memspan *m, const struct batch *b,
    struct journal_names *names);
size_t memspan_bytes(const struct memspan *m);

#endif
