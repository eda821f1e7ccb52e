/*
 * What it costs to take waits, and from which on their stacks are taken for
 * that: the threshold doubles where it is too much, up to 1024 times what is
 * configured, and comes back.  The sums of threads stay exact whatever it is.
 *
 * Most waits of a host are of threads that wait for work, for a time or for a
 * CPU (wait_is_idle()), and hardly anybody looks at those: they have their own
 * threshold, not below the others'.  Each is governed by its own part of the
 * cost, beside the other's, which may take half of the budget from it.
 */
#ifndef COLLECTOR_WAITS_PACE_H
#define COLLECTOR_WAITS_PACE_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/governor.h"

struct batch;
struct engine;

struct waits_pace {
	struct governor governor, idle;
	size_t type;
	struct governor_window window;
	uint64_t switches, stacks; /* until the last slot's end, */
	uint64_t ns, idle_ns;      /* and the window's: BPF, for stacks */
};

void waits_pace_begin(struct engine *s, size_t type);

/* Stores what is in force: of the type, and of those that are parts of it. */
void waits_pace_put(const struct engine *s, uint64_t slot, struct batch *b);

/* At the end of each slot: measures, stores it, and changes the threshold of
 * the next ones when need be. */
void waits_pace_judge(struct engine *s, uint64_t slot, struct batch *b);

#endif
