/*
 * The maps of the stack walker as unwind_kernel.h has them.
 */
#ifndef COLLECTOR_SAMPLER_UNWIND_H
#define COLLECTOR_SAMPLER_UNWIND_H

#include "collector/unwind/unwind_kernel.h"

struct sampler_unwind {
	struct unwind_kernel kernel;
	int arrays[UNWIND_ARRAYS]; /* descriptors of maps, borrowed */
	int processes, outer; /* the latter of the chunks' map */
	int chunks[UNWIND_CHUNKS]; /* of them the first n */
	const void *mapped[UNWIND_CHUNKS]; /* NULL: not */
	uint32_t n;
	volatile uint32_t *generation, *tick; /* the programs' variables */
	struct unwind_region *regions; /* the kernel's */
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
