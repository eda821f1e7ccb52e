/*
 * The maps of the stack walker as unwind_kernel.h has them.
 */
#ifndef COLLECTOR_SAMPLER_UNWIND_H
#define COLLECTOR_SAMPLER_UNWIND_H

#include "collector/unwind/unwind_kernel.h"

struct sampler_unwind {
	struct unwind_kernel kernel;
	int arrays[UNWIND_ARRAYS]; /* descriptors of maps, borrowed */
	int processes;
	volatile uint32_t *generation; /* the programs' variable */
	struct unwind_table *tables;   /* the kernel's, to read */
};

/* Makes u->kernel, which points back to *u: do not move it. */
void sampler_unwind_init(struct sampler_unwind *u,
    const int arrays[UNWIND_ARRAYS], int processes,
    volatile uint32_t *generation, uint32_t cells);
void sampler_unwind_fini(struct sampler_unwind *u);

#endif
