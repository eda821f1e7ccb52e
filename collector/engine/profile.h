/*
 * What a type of profile brings to the engine: a clock, or that it takes the
 * waits of threads, or some of those, or what an allocator tells.  A sample
 * counts as one period of its clock: nanoseconds of a clock's ticks, events of
 * one that counts; a wait counts as its nanoseconds.
 */
#ifndef COLLECTOR_PROFILE_H
#define COLLECTOR_PROFILE_H

#include <stdbool.h>

#include "collector/engine/allocs.h"
#include "collector/engine/locks.h"
#include "collector/probe/sampler.h"
#include "collector/probe/sampler_allocs.h"
#include "collector/probe/sampler_waits.h"

#define PROFILES_MAX SAMPLER_TYPES_MAX

struct config;

struct profile {
	const char *name; /* of the source, and of its row in types.h */

	/* One of the three; false: it is switched off.  How often it is to be
	 * sampled, or which waits' stacks are taken. */
	bool (*clock)(const struct config *c, struct sampler_clock *out);
	bool (*waits)(const struct config *c, struct waits_options *out);

	bool (*allocs)(const struct config *c, struct allocs_options *out);

	/* Or none: a part of what another row takes: of memory, or else of
	 * waits. */
	bool (*part)(const struct config *c);
	enum allocs_series memory;
	enum lock_series lock;
};

#endif
