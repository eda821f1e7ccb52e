/*
 * The border between slots.  A sample belongs to the slot of its own time.
 * One that comes for a slot later than the open one is held back as it is;
 * one that comes too late is for the open slot.
 */
#ifndef COLLECTOR_BORDER_H
#define COLLECTOR_BORDER_H

#include <stdbool.h>

#include "collector/probe/sampler.h"
#include "store/base/buf.h"

struct border {
	int64_t slot_ns;
	uint64_t open_slot;
	int64_t wall_offset_ns; /* wall - monotonic */
	struct buf held;        /* events of later slots, size before each */
};

enum border_side { BORDER_LATE, BORDER_OPEN, BORDER_EARLY };

/* The slot of a monotonic time. */
uint64_t border_slot(const struct border *b, uint64_t mono_ns);
enum border_side border_side(const struct border *b, uint64_t mono_ns);

/* Keeps an event of `size` bytes; false: there is no room for it.  Waits, which
 * may be many, leave half of the room to the samples of clocks. */
bool border_hold(struct border *b, const struct sample_event *e, size_t size);

/* How often the least length of waits that are held is to be doubled, so that
 * of too many the shortest go: 0 while half of their room is free. */
unsigned border_pressure(const struct border *b);

/* Hands over all that was held, which may be held again; as a slot begins. */
void border_release(struct border *b, sampler_fn *fn, void *arg);

void border_fini(struct border *b);

#endif
