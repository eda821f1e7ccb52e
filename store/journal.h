/*
 * Reading journals: records of batches, one after the other.  The last one
 * may be unfinished; a damaged one is skipped and counted.
 */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "batch.h"

struct err;

struct journal_reader {
	int fd;           /* borrowed */
	uint64_t offset;  /* all before it has been read */
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
