/*
 * The way to the maps of unwind.h that BPF programs read.  Behind it are the
 * real maps (sampler_unwind.c), or plain memory in tests.
 */
#ifndef COLLECTOR_UNWIND_KERNEL_H
#define COLLECTOR_UNWIND_KERNEL_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/bpf/unwind.h"

enum unwind_array {
	UNWIND_ARRAY_CELLS,    /* uint64_t */
	UNWIND_ARRAY_MAPPINGS, /* struct unwind_mapping */
	UNWIND_ARRAY_TABLES,   /* struct unwind_table */
	UNWIND_ARRAY_REGIONS,  /* struct unwind_region */
	UNWIND_ARRAYS
};

struct unwind_kernel {
	void *arg;
	uint32_t chunks; /* of cells, at most; there is none at first */
	/* Makes the next chunk; false when there is no memory for it. */
	bool (*add_chunk)(void *arg);
	/* Sets the clock that regions' `used` is of. */
	void (*set_tick)(void *arg, uint32_t tick);
	/* Write and read n elements, write cells within one chunk; false when
	 * it could not be done. */
	bool (*write)(void *arg, enum unwind_array which, uint32_t first,
	    const void *p, size_t n);
	bool (*read)(void *arg, enum unwind_array which, uint32_t first,
	    void *p, size_t n);
	/* A cell to read, NULL without one; valid until release(). */
	const uint64_t *(*cell)(void *arg, uint32_t i);
	void (*release)(void *arg);
	/* NULL: forget the process. */
	bool (*set_process)(void *arg, int32_t pid,
	    const struct unwind_process *p);
	bool (*get_process)(void *arg, int32_t pid,
	    struct unwind_process *p);
};

#endif
