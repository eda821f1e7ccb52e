/*
 * Journals: a header of 24 bytes, then records of batches, one after the
 * other.  The last one may be unfinished; a damaged one is skipped and
 * counted.  A journal that is shorter than its header holds nothing yet.
 *
 * HEADER      "MLJ3", first slot of the span and number of the file's name
 *             as be64, CRC-32C of the three.  "MLJ2" has no number, so that
 *             its records begin at byte 16; under "MLJ1" these are
 *             self-contained, too ("MLB1", batch.h).  A damaged header costs
 *             nothing: records tell their slots.
 *
 * RECORD      as in batch.h, with "MLB2" and version 2, whose payload has
 *             after the slot length
 *		varint     dictionary: a number of its own for each that the
 *		           journal has had; the first record of one begins it
 *		5 varints  numbers of the first string, frame, label set,
 *		           node and series of the sections
 *             Sections 1 to 5 hold what is new, counted on from those
 *             numbers; string 0, set 0 and node 0 are never sent, so that a
 *             dictionary begins at 1, 0, 1, 1, 0.  All numbers are those of
 *             the dictionary.  A block has its kind (u8) after its series,
 *             and keys of entries are zigzag differences, in any order.
 *
 * PUSHES      Records of one push (bit 31 of all lengths but the last's) count
 *             together: readers take none before the last one is there, and a
 *             journal may end with some that nobody will ever take.
 *
 * DAMAGE      A record says again what the JOURNAL_RESTATE records before it
 *             added.  So one or two damaged records in a row cost nothing
 *             but themselves.  After three and more the numbers of later
 *             records still hold: what was new in the lost ones and is not
 *             said again shows as "(lost)" with its exact values, and blocks
 *             of series that were new in them are skipped and counted, up to
 *             the journal's end (64 slots) and no further.
 */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/batch/batch.h"
#include "store/journal/journal_names.h"

struct err;

#define JOURNAL_HEADER 24
#define JOURNAL_RESTATE 2

/* Writes the header of a journal of this number to an empty file, and appends
 * it to `copy`. */
const struct err *journal_begin(int fd, uint64_t first, uint64_t number,
    struct buf *copy);
/* Opens one for reading; -1 with errno, also of what is no regular file: to
 * open a FIFO would wait for who writes to it. */
int journal_open(int dir, const char *name);
/* Reads that of the journal of this name; *empty: there is none yet.
 * ERR_FORMAT: it is damaged, or, code JOURNAL_COPY, that of another file, and
 * so is what follows it. */
const struct err *journal_first(int fd, const char *name, uint64_t *first,
    bool *empty);
#define JOURNAL_COPY 1
#define JOURNAL_ODD ENXIO /* errno of what is no regular file */
/* Where its records begin. */
off_t journal_body(int fd);

struct journal_reader {
	int fd;           /* borrowed */
	bool journal;     /* not a recording: there is a header, and records
	                   * may need others */
	uint64_t offset;  /* all before it has been read */
	uint64_t last;    /* where the last batch began: set offset to it to
	                   * read that batch again */
	uint64_t damaged; /* records and stretches skipped */
	uint64_t together; /* all records of pushes before it are there */
	struct journal_names names; /* for memspan_add() */
	struct buf record;
};

/*
 * The next whole batch: *out is NULL at the present end.  The caller frees
 * it.  Of a journal's batch only id, blocks without their names, and facts
 * can be read by themselves: memspan_add() knows the rest.  Errors are the
 * file system's; damage is counted, not returned.
 */
const struct err *journal_next(struct journal_reader *r, struct batch **out);
/*
 * The same for who reads records by himself: fn is given the next whole one,
 * whose length alone is known to be right, and where it begins.  ERR_FORMAT
 * from it is damage; any other error passes up, and nothing was read.
 */
typedef const struct err *journal_take_fn(void *arg, const void *record,
    size_t size, uint64_t offset);
const struct err *journal_take(struct journal_reader *r, journal_take_fn *fn,
    void *arg, bool *taken);
void journal_reader_fini(struct journal_reader *r);

#endif
