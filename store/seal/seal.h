/*
 * Making a sealed file out of journals and other sealed files: sealing,
 * merging, folding of late data and the summary are all this one operation.
 * Leaves of the lowest level are added slot by slot; all higher levels are
 * derived from them.
 */
#ifndef STORE_SEAL_H
#define STORE_SEAL_H

#include "store/file/apart.h"
#include "store/file/sealed.h"
#include "store/seal/loud.h"
#include "store/seal/memspan.h"
#include "store/seal/salvage.h"

/* What a purge takes out: blocks of matching series that touch slots
 * [from, until), or of them the stacks whose label set matches. */
struct seal_drop {
	const struct selector *selector; /* NULL: all series */
	const struct unwatched *unwatched; /* instead: those, but no facts */
	const struct loud *loud; /* instead: those, but no facts; */
	bool others;             /* or all series but those */
	uint64_t from, until;
	int64_t slot_ns; /* facts of a dropped service go by their time */
};

/*
 * One input: a sealed file or a span in memory, of which only blocks that
 * begin in [from, until) are taken.  A span in memory is the only input.  No
 * file stands in two inputs (open it twice).
 */
struct seal_source {
	struct sealed *file;          /* or NULL */
	const struct memspan *memory; /* or NULL */
	uint64_t from, until;
	uint64_t skip_from, skip_until; /* but not these */
	bool facts;                     /* take its facts too */
	bool last; /* of a span in memory: nobody will need its symbols */
	const struct seal_drop *drop;   /* of a file; NULL: nothing */
	struct salvage *salvage;        /* read on behind damage; or NULL */
};

struct seal_result {
	uint64_t blocks; /* leaves written; 0: the file is not worth keeping */
	uint64_t facts;
	uint64_t since;  /* the oldest slot with data */
	uint64_t until;  /* end of the newest */
	uint64_t series, stacks;
	uint64_t names;  /* as in the file's meta */
	char of[APART_OF]; /* what it has alone */
};

/*
 * Writes `path` (which must not exist) and syncs it.  meta says span and
 * levels; a block of a level is written when it ends within the span.
 * On failure the path may exist: the caller unlinks it.  The files are good
 * for closing only: their names have been freed on the way.
 */
const struct err *seal_build(const char *path, const struct sealed_meta *meta,
    const struct seal_source *sources, size_t n, struct seal_result *result);

#endif
