/*
 * The maps of the stack walker as unwind_kernel.h has them.
 */
#ifndef COLLECTOR_SAMPLER_UNWIND_H
#define COLLECTOR_SAMPLER_UNWIND_H

#include "collector/unwind/unwind_kernel.h"

#define SAMPLER_PART_BYTES 65536u
#define SAMPLER_CHUNK_PARTS                                                    \
	((sizeof(uint64_t) << UNWIND_CHUNK_SHIFT) / SAMPLER_PART_BYTES)
#define SAMPLER_ARRAY_PARTS                                                    \
	(UNWIND_MAPPINGS * sizeof(struct unwind_mapping) / SAMPLER_PART_BYTES)
#define SAMPLER_RELEASES 200 /* a part that was not used in so many goes */

/* A part of an array that is mapped where it is used. */
struct sampler_part {
	char *at; /* NULL: it is not */
	bool used;
};

struct sampler_unwind {
	struct unwind_kernel kernel;
	int arrays[UNWIND_ARRAYS]; /* descriptors of maps, borrowed */
	int processes, outer; /* the latter of the chunks' map */
	int chunks[UNWIND_CHUNKS]; /* of them the first n */
	struct sampler_part cells[UNWIND_CHUNKS * SAMPLER_CHUNK_PARTS];
	struct sampler_part parts[UNWIND_ARRAYS][SAMPLER_ARRAY_PARTS];
	uint32_t n, n_parts; /* that are mapped */
	uint32_t releases;
	volatile uint32_t *generation, *tick; /* the programs' variables */
};

/* What the programs' object has. */
struct sampler_unwind_maps {
	int arrays[UNWIND_ARRAYS]; /* but for cells */
	int processes, chunks;
	volatile uint32_t *generation, *tick;
};

/* Of one that is all zero: makes u->kernel, which points back to *u, so do not
 * move it. */
void sampler_unwind_init(struct sampler_unwind *u,
    const struct sampler_unwind_maps *maps, uint32_t chunks);
void sampler_unwind_fini(struct sampler_unwind *u);

#endif
