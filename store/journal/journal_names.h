/*
 * The reader's side of a journal's dictionary: from the journal's numbers to
 * those of a symbol table, grown record by record.  Symbols that were lost
 * with damaged records are INTERN_NONE.
 */
#ifndef STORE_JOURNAL_NAMES_H
#define STORE_JOURNAL_NAMES_H

#include "store/batch/batch.h"
#include "store/batch/symtab.h"

struct names_table {
	uint32_t *to; /* journal's number -> the table's, or INTERN_NONE */
	uint32_t n, cap;
};

struct journal_names {
	uint32_t dictionary; /* which; 0: none yet */
	struct names_table strings, frames, labels, nodes, series;
	uint64_t lost;       /* blocks whose series is not known */
	bool sole;           /* the table holds nothing but this dictionary, in
	                      * which nothing stands twice: no need to look */
};

void journal_names_fini(struct journal_names *names);
size_t journal_names_bytes(const struct journal_names *names);

/* Takes up what a journal's record adds.  After an error the same record can
 * be given again. */
const struct err *journal_names_add(struct journal_names *names,
    struct symtab *t, const struct batch *record);

/* A stack whose name was lost: "(lost)" below the root.  Its frame, and that
 * one's name.  INTERN_NONE: out of memory. */
uint32_t journal_names_lost(struct symtab *t);
uint32_t journal_names_lost_frame(struct symtab *t);
uint32_t journal_names_lost_string(struct symtab *t);

#endif
