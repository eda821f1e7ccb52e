/*
 * The writer's side of a journal's dictionary: what stands in the present
 * journal already, so that a record carries only what is new.  The records
 * are described in journal.h.  The table of symbols outlives journals, since
 * the next one needs mostly the same.
 */
#ifndef STORE_JOURNAL_DICT_H
#define STORE_JOURNAL_DICT_H

#include "store/batch/batch_private.h"
#include "store/batch/name_cache.h"
#include "store/journal/journal.h"

/* Numbers of one kind of symbol in the present journal, and the bytes of
 * those that the next record says: made once, while they are at hand. */
struct dict_numbers {
	uint32_t *of;    /* its number -> the journal's or INTERN_NONE */
	uint32_t n, cap_of;
	struct buf said;
	/* where in them that begins which was new with the last records, oldest
	 * first, and what will be with the next */
	size_t at[JOURNAL_RESTATE + 1];
};

struct journal_dict {
	struct name_cache cache; /* symbols of this journal and those before */
	struct dict_numbers strings, frames, labels, nodes, series;
	uint32_t *order; /* the journal's number of a string -> its own */
	uint32_t cap_order;
	size_t most;      /* bytes of the cache, after which it begins anew */
	uint32_t records; /* since it did */
	uint32_t number;    /* of this dictionary; never used twice */
	bool begun;         /* else the next record begins a new one */
	/* counts of symbols before the last records, oldest first, and now */
	struct batch_first from[JOURNAL_RESTATE + 1];
	struct buf section;
};

void journal_dict_fini(struct journal_dict *d);

/* The next record is the first of a journal. */
void journal_dict_begin(struct journal_dict *d);

/*
 * Sets out to the record of a batch.  What it added to the dictionary is
 * said again by the records that follow, until journal_dict_sent().  Errors:
 * those of batch_finish(), ERR_LIMIT 413 for a batch that is too large or
 * too deep, out of memory.
 */
const struct err *journal_dict_encode(struct journal_dict *d,
    struct batch *b, struct buf *out);

/* The last record is in the journal. */
void journal_dict_sent(struct journal_dict *d);
/* How many nodes that one has brought. */
uint32_t journal_dict_brought(const struct journal_dict *d);

#endif
