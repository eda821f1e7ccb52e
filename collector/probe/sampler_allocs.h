/*
 * The probes in the allocator's library (collector/alloc/alloc.h): loads and
 * attaches alloc.bpf.c.
 */
#ifndef COLLECTOR_SAMPLER_ALLOCS_H
#define COLLECTOR_SAMPLER_ALLOCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/bpf/stride.h"

struct bpf_object;
struct err;
struct sampler_allocs;

#define ALLOCS_PATH_MAX 512

struct allocs_options {
	char library[ALLOCS_PATH_MAX];
	uint64_t took, gave; /* offsets in it */
	bool eh_frame; /* else by frame pointers alone */
	uint32_t more[WEIGH_STEPS + 1]; /* stride.h's, of the library's mean */
};

/* Attaches to every process that maps the library, now or later; `maps` has
 * the maps that all share.  Events are OBJECT_TOOK of one type and OBJECT_GAVE
 * of the other.
 * Errors: ERR_BPF with the cause; *out is NULL then. */
const struct err *sampler_allocs_open(struct sampler_allocs **out,
    size_t took, size_t gave, const struct allocs_options *o,
    const struct bpf_object *maps);
void sampler_allocs_close(struct sampler_allocs *a);

/* Ends the sampling. */
void sampler_allocs_stop(struct sampler_allocs *a);

#endif
