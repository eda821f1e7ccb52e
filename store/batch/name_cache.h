/*
 * From a batch's numbers to those of a table of symbols, for batches that
 * mostly name what those before them did.  Only whole stacks and series are
 * looked up, by fingerprints (base/fingerprint.h) which one pass over the
 * batch gives: the table, megabytes that the processor's caches have lost
 * from one slot to the next, is touched for what is new.
 */
#ifndef STORE_NAME_CACHE_H
#define STORE_NAME_CACHE_H

#include "store/base/fingerprint.h"
#include "store/batch/batch.h"
#include "store/batch/symtab.h"

struct err;

/* Of one batch, or of a stream's batches (batch.h), whose tables only grow:
 * fingerprints, and numbers of syms or INTERN_NONE. */
struct name_cache_room {
	uint64_t stream; /* 0: of one batch */
	uint64_t used;   /* when, for the choice of which one goes */
	struct fingerprint *f_strings, *f_frames, *f_labels, *f_nodes;
	struct symtab_map to;
	struct name_cache_table { /* how many are filled, and room */
		uint32_t n, cap;
	} strings, frames, labels, nodes, series;
};

#define NAME_CACHE_ROOMS 10 /* one is for batches without a stream */

struct name_cache {
	struct symtab syms;
	struct fingerprint_key key;
	struct fingerprint_map stacks, series; /* -> numbers of syms */
	const struct batch *b;
	struct name_cache_room *r; /* of the present batch */
	struct name_cache_room rooms[NAME_CACHE_ROOMS];
	uint64_t clock;
};

void name_cache_fini(struct name_cache *r);
size_t name_cache_bytes(const struct name_cache *r);

/* Forgets all symbols. */
const struct err *name_cache_clear(struct name_cache *r);

/* Takes up a batch, which stays unchanged as long as it is asked about. */
const struct err *name_cache_batch(struct name_cache *r, const struct batch *b);

/* The table's number of one of its nodes, series or strings; INTERN_NONE
 * when out of memory. */
uint32_t name_cache_node(struct name_cache *r, uint32_t node);
uint32_t name_cache_series(struct name_cache *r, uint32_t series);
/* Fetches ahead what name_cache_node() will need. */
static inline void
name_cache_prefetch(const struct name_cache *r, uint32_t node)
{
	if (r->r->to.nodes[node] == INTERN_NONE)
		fingerprint_map_prefetch(&r->stacks, r->r->f_nodes[node]);
}
uint32_t name_cache_string(struct name_cache *r, uint32_t string);

#endif
