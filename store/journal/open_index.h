/*
 * The index of an open journal (openspan.h) in a file beside it, written by who
 * writes the journal: who opens the store anew takes up what stands there, as
 * it was in memory, and scans what has come since.
 *
 *	journal.index   head: layout, size, CRC-32C; which journal, how much
 *	                of it; then arrays, each behind the number of its bytes
 *
 * It is memory of this machine and this build, no format: another layout, a
 * wrong checksum, a journal of another name, one that is shorter or has not the
 * record at whose end the index ends, and there is no index.  None is made of a
 * journal with damage, so that who reads one has nothing to tell of it.  It is
 * overwritten in place, for it outlives nobody: without a living writer it is
 * not looked at, and each begins without one.  It is never synced.
 */
#ifndef STORE_OPEN_INDEX_H
#define STORE_OPEN_INDEX_H

#include <stdbool.h>

#include "store/file/gaps.h"
#include "store/journal/openspan.h"

#define OPEN_INDEX_NAME "journal.index"

/* A journal as far as it was read; all of it borrowed. */
struct open_index {
	const char *journal; /* its name in the directory */
	struct journal_reader *reader;
	struct gaps *gaps; /* begun */
	struct openspan *span;
};

/* Takes up all whole records up to the journal's present end.  Errors as
 * openspan_take()'s. */
const struct err *open_index_follow(const struct open_index *x);

/* Is there one that ends so many bytes behind what was read of the journal? */
bool open_index_is_ahead(int dir, const struct open_index *x, uint64_t bytes);

/* Of the directory, into a span that is empty and gaps that are begun.  False:
 * there is none for it, and nothing has changed. */
bool open_index_load(int dir, const struct open_index *x);

/* False: it could not be written, or there is damage; what is there may be
 * torn. */
bool open_index_save(int dir, const struct open_index *x);
void open_index_drop(int dir);

#endif
