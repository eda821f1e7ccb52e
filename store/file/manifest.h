/*
 * The manifest: the one file that says what the store is.  Text, a line a
 * thing, the last one a CRC-32C of all before it; replaced by rename.
 *
 *	memlens 6
 *	generation 12
 *	slot_ns 10000000000
 *	fine_from 0
 *	span 3 1280 64 1290 1344 40960 span-3-1280-11.mdb
 *	journal 0 0 0 0 0 0 journal-12
 *	ids 0 0 0 0 0 512 ids-11
 *	gap 1100 1164 span-3-1100-7.mdb was damaged
 *	crc 1c2b8a90
 *
 * A file's line: kind, level (span, late, summary), first slot, slots of its
 * span, oldest slot with data, end of the newest, bytes, name.  For the
 * summary first + slots is the end of the last span that is in it.  Of a
 * journal the bytes alone are told, which it had at least when the next one
 * was made: what is shorter is cut off, 0 is one that was never begun.  Behind
 * the name of a late file may stand what it has alone (apart.h).
 *
 * A gap is what answers lack although no file tells of it any more: slots
 * [from, until) of data that was damaged, and what was.  It stays until
 * retention has taken what is left of those slots.
 *
 * The version is that of the store: in version 1 journals are "MLJ1"
 * (journal.h), gaps came with 3, numbers in journals ("MLJ3") with 4, sealed
 * files of version 2 with 5, of version 3 with 6.  Older versions are read; a
 * writer makes the newest.
 */
#ifndef STORE_MANIFEST_H
#define STORE_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include "store/file/apart.h"

struct err;

enum manifest_kind {
	MANIFEST_SPAN,
	MANIFEST_LATE,
	MANIFEST_SUMMARY,
	MANIFEST_JOURNAL,
	MANIFEST_IDS
};

#define MANIFEST_NAME 64

struct manifest_file {
	enum manifest_kind kind;
	unsigned level;
	uint64_t first, slots, since, until, bytes;
	char name[MANIFEST_NAME]; /* no slash */
	uint64_t names; /* the writer's own: sealed_meta.names; 0: not known */
	char of[APART_OF]; /* "": it may have whatever it may have */
};

#define MANIFEST_WHY 112
#define MANIFEST_GAPS 64 /* of more, the nearest become one */

struct manifest_gap {
	uint64_t from, until; /* slots, half-open */
	char why[MANIFEST_WHY]; /* one line */
};

struct manifest {
	uint64_t generation;
	int64_t slot_ns;
	uint64_t fine_from; /* older slots are in the summary alone */
	struct manifest_file *files;
	uint32_t n, cap;
	struct manifest_gap gaps[MANIFEST_GAPS]; /* in order of `from` */
	uint32_t n_gaps;
};

void manifest_fini(struct manifest *m);
/* Reads DIR/manifest.  ERR_ERRNO ENOENT: there is none yet; ERR_LIMIT: a
 * newer program made it; ERR_FORMAT: damaged. */
const struct err *manifest_load(struct manifest *m, int dir);
/* Of a damaged one: the gaps that can still be read, and fine_from; adds
 * them to m. */
void manifest_salvage(struct manifest *m, int dir);
/* Reads its generation alone: cheap, to see whether it has changed. */
const struct err *manifest_generation(int dir, uint64_t *generation);
/* Raises the generation and replaces the file, durably.  An error with
 * *published: readers see the new file, but a crash of the host may bring
 * the old one back. */
const struct err *manifest_save(struct manifest *m, int dir,
    bool *published);
const struct err *manifest_add(struct manifest *m,
    const struct manifest_file *f);
void manifest_remove(struct manifest *m, const char *name);
const struct manifest_file *manifest_find(const struct manifest *m,
    const char *name);
/* Notes that slots [from, until) lack what `why` names; nothing when they are
 * none.  What touches a gap with the same reason becomes part of it. */
void manifest_add_gap(struct manifest *m, uint64_t from, uint64_t until,
    const char *why);
/* Slots [from, until) are gone by intent: nothing is lacking there.  A gap
 * that goes on behind them begins at their end. */
void manifest_forget_gaps(struct manifest *m, uint64_t from, uint64_t until);
/* Is this a name that the writer gives to a file of the store?  `number` is
 * the last part of it, which rises from file to file. */
bool manifest_name_is(const char *name, enum manifest_kind *kind,
    uint64_t *number);
/*
 * Is it that of a late file that is not merged (work_apart.c)?  A file that
 * was set apart as a whole keeps its number; what was taken out of one has that
 * one's number, which is *of then, before its own.
 */
#define MANIFEST_APART "apart-"
bool manifest_is_apart(const char *name);
bool manifest_is_part(const char *name, uint64_t *of);
const struct err *manifest_copy(struct manifest *to, const struct manifest *m);

#endif
