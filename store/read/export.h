/*
 * A range of a store as a stream of batches: what memlens export writes and
 * memlens import reads, and what one host hands to another.  Slots stay
 * whole; a block that several files share comes out as one.
 */
#ifndef STORE_EXPORT_H
#define STORE_EXPORT_H

#include "store/store.h"

struct export_query {
	const struct selector *selector; /* NULL: everything */
	int64_t from_ns, until_ns;       /* go to whole slots, outwards */
};

struct export_report {
	uint64_t slots, batches, blocks, facts;
	uint64_t coarse_slots; /* of the range that retention has thinned: not
	                        * exported */
};

/* Receives each batch, oldest slots first; an error ends the walk. */
typedef const struct err *export_fn(void *arg, struct batch *b);

const struct err *store_export(struct store *s, const struct export_query *q,
    export_fn *fn, void *arg, struct export_report *report);

#endif
