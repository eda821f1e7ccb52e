/*
 * What it costs to take waits, and from which on their stacks are taken for
 * that: the threshold doubles where it is too much, up to 1024 times what is
 * configured, and comes back.  The sums of threads stay exact whatever it is.
 */
#ifndef COLLECTOR_WAITS_PACE_H
#define COLLECTOR_WAITS_PACE_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/governor.h"

struct batch;
struct engine;

struct waits_pace {
	struct governor governor;
	size_t type;
	struct governor_window window;
};

void waits_pace_begin(struct engine *s, size_t type);

/* At the end of each slot: measures, stores it, and changes the threshold of
 * the next ones when need be. */
void waits_pace_judge(struct engine *s, uint64_t slot, struct batch *b);

#endif
