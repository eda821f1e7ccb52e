/*
 * When the services of a file lived, and each of their profiles, in blocks of
 * one level: of a summary its lowest, so that who lists services over months
 * reads this and none of their blocks; else of a sixteenth of the span, or the
 * next lower one that the file has, for whoever wants to know which of
 * thousands of services an hour concerns.  The bytes are format.h's `lives`;
 * files that are small or old have none.
 */
#ifndef STORE_LIVES_H
#define STORE_LIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/buf.h"
#include "store/file/segtree.h"

struct err;
struct sealed;
struct series_index;

/* n blocks from the first on, counted since 1970. */
struct lives_run {
	uint32_t first, n;
};

/* Runs of some things in a row, rising; thing i has those from firsts[i] to
 * firsts[i + 1].  All zero when empty. */
struct lives {
	struct lives_run *runs;
	uint32_t *firsts;
	uint32_t n, n_runs, cap, cap_runs;
	uint8_t level;
};

/* The level that a file with these `levels` (1 << level each) tells of, whose
 * span ends with slot `end`: all of its blocks are complete. */
static inline unsigned
lives_level(unsigned base, unsigned top, uint32_t levels, uint64_t end)
{
	unsigned level = base > 0 || top < 2 ? base : top - 2;

	while (level > base && (seg_align(end, level) != end ||
	        (levels >> level & 1) == 0))
		level--;
	return level;
}

void lives_fini(struct lives *l);
size_t lives_bytes(const struct lives *l);

/* The next thing has this block, none of those before it; ends it.  False: out
 * of memory. */
bool lives_put(struct lives *l, uint32_t block);
bool lives_end(struct lives *l);

/* The newest block of a thing in [from, until); UINT32_MAX: it has none. */
uint32_t lives_newest(const struct lives *l, uint32_t thing, uint32_t from,
    uint32_t until);

/* Those of all series of a file, whose kinds are known, by its blocks. */
const struct err *lives_of_blocks(struct sealed *f, struct lives *out);

/*
 * Appends the stream of a file with this index, of which all lists are at
 * `lists`, and with these lives of its series.  ERR_FORMAT: the index is
 * malformed.
 */
const struct err *lives_make(const struct series_index *x,
    const uint8_t *lists, const struct lives *series, struct buf *out);

/*
 * Takes up a stream: of each service of the index, and behind it of each of its
 * series of profiles; ERR_FORMAT: it is malformed, and l is empty.
 */
const struct err *lives_open(struct lives *l, const void *p, size_t n);

#endif
