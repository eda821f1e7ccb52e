/*
 * The maps of the stack walker as unwind_kernel.h has them.
 */
#ifndef COLLECTOR_SAMPLER_UNWIND_H
#define COLLECTOR_SAMPLER_UNWIND_H

#include "collector/unwind/unwind_kernel.h"

#define SAMPLER_UNWIND_PARTS 4 /* a chunk has 1 << that many: 64 KiB each */

struct sampler_unwind {
	struct unwind_kernel kernel;
	int arrays[UNWIND_ARRAYS]; /* descriptors of maps, borrowed */
	int processes, outer; /* the latter of the chunks' map */
	int chunks[UNWIND_CHUNKS]; /* of them the first n */
	/* Parts of chunks that are mapped; NULL: not. */
	uint64_t *parts[UNWIND_CHUNKS << SAMPLER_UNWIND_PARTS];
	uint32_t n, n_parts;
	volatile uint32_t *generation, *tick; /* the programs' variables */
	char *whole[UNWIND_ARRAYS]; /* of those that stay mapped */
};

/* What the programs' object has. */
struct sampler_unwind_maps {
	int arrays[UNWIND_ARRAYS]; /* but for cells */
	int processes, chunks;
	volatile uint32_t *generation, *tick;
};

/* Makes u->kernel, which points back to *u: do not move it. */
void sampler_unwind_init(struct sampler_unwind *u,
    const struct sampler_unwind_maps *maps, uint32_t chunks);
void sampler_unwind_fini(struct sampler_unwind *u);

#endif
