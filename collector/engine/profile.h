/*
 * What a type of profile brings to the engine.  A sample counts as one period
 * of its clock: nanoseconds of a clock's ticks, events of one that counts.
 */
#ifndef COLLECTOR_PROFILE_H
#define COLLECTOR_PROFILE_H

#include <stdbool.h>

#include "collector/probe/sampler.h"

#define PROFILES_MAX SAMPLER_TYPES_MAX

struct config;

struct profile {
	const char *name; /* of the source, and of its row in types.h */

	/* How often it is to be sampled; false: it is switched off. */
	bool (*clock)(const struct config *c, struct sampler_clock *out);
};

#endif
