/*
 * Journals: a header of 16 bytes ("MLJ1", first slot of the span as be64,
 * CRC-32C of both), then records of batches, one after the other.  The last
 * one may be unfinished; a damaged one is skipped and counted.  A journal
 * that is shorter than its header holds nothing yet.
 */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "batch.h"

struct err;

#define JOURNAL_HEADER 16

/* Writes the header to an empty journal. */
const struct err *journal_begin(int fd, uint64_t first);
/* Reads it; *empty: there is none yet. */
const struct err *journal_first(int fd, uint64_t *first, bool *empty);

/* `offset` starts at JOURNAL_HEADER in a journal, at 0 in a recording. */
struct journal_reader {
	int fd;           /* borrowed */
	uint64_t offset;  /* all before it has been read */
	uint64_t last;    /* where the last batch began: set offset to it to
	                   * read that batch again */
	uint64_t damaged; /* records and stretches skipped */
	struct buf record;
};

/*
 * The next whole batch: *out is NULL at the present end.  The caller frees
 * it.  Errors are the file system's; damage is counted, not returned.
 */
const struct err *journal_next(struct journal_reader *r, struct batch **out);
void journal_reader_fini(struct journal_reader *r);

#endif
