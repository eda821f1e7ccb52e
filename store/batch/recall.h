/*
 * From a batch's numbers to those of a table of symbols, for batches that
 * mostly name what those before them did.  Only whole stacks and series are
 * looked up, by fingerprints (base/fingerprint.h) which one pass over the
 * batch gives: the table, megabytes that the processor's caches have lost
 * from one slot to the next, is touched for what is new.
 */
#ifndef STORE_RECALL_H
#define STORE_RECALL_H

#include "store/base/fingerprint.h"
#include "store/batch/batch.h"
#include "store/batch/symtab.h"

struct err;

/* Of one batch, or of a stream's batches (batch.h), whose tables only grow:
 * fingerprints, and numbers of syms or INTERN_NONE. */
struct recall_room {
	uint64_t stream; /* 0: of one batch */
	uint64_t used;   /* when, for the choice of which one goes */
	struct fingerprint *f_strings, *f_frames, *f_labels, *f_nodes;
	struct symtab_map to;
	struct recall_table { /* how many are filled, and room */
		uint32_t n, cap;
	} strings, frames, labels, nodes, series;
};

#define RECALL_ROOMS 10 /* one is for batches without a stream */

struct recall {
	struct symtab syms;
	struct fingerprint_key key;
	struct fingerprint_map stacks, series; /* -> numbers of syms */
	const struct batch *b;
	struct recall_room *r; /* of the present batch */
	struct recall_room rooms[RECALL_ROOMS];
	uint64_t clock;
};

void recall_fini(struct recall *r);
size_t recall_bytes(const struct recall *r);

/* Forgets all symbols. */
const struct err *recall_clear(struct recall *r);

/* Takes up a batch, which stays unchanged as long as it is asked about. */
const struct err *recall_batch(struct recall *r, const struct batch *b);

/* The table's number of one of its nodes, series or strings; INTERN_NONE
 * when out of memory. */
uint32_t recall_node(struct recall *r, uint32_t node);
uint32_t recall_series(struct recall *r, uint32_t series);
/* Fetches ahead what recall_node() will need. */
static inline void
recall_prefetch(const struct recall *r, uint32_t node)
{
	if (r->r->to.nodes[node] == INTERN_NONE)
		fingerprint_map_prefetch(&r->stacks, r->r->f_nodes[node]);
}
uint32_t recall_string(struct recall *r, uint32_t string);

#endif
