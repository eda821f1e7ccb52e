/*
 * What sampling costs, and how often we sample for that.  With the rate grow
 * the BPF programs, as they time themselves, and the handling of what they
 * send; beside it stand unwind rows and names, the symbols children's and ours.
 * What reads /proc, the store and sockets is not sampling.
 *
 * A clock ticks at a rate that we know; page faults and the like come as often
 * as programs make them.  So those have a governor and a part of the budget of
 * their own, and slow no clock.
 */
#ifndef COLLECTOR_PACE_H
#define COLLECTOR_PACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/base/governor.h"

struct batch;
struct engine;
struct engine_profile;

/* The CPU of a child, and of those that it has replaced. */
struct pace_child {
	pid_t pid; /* that was seen last */
	int64_t ns, before_ns;
};

/* What the governor has been told, all in ns. */
struct pace {
	struct governor_window window;
	struct governor events; /* of types without a clock, */
	int64_t run_ns, events_run_ns; /* all BPF, and theirs, until then; */
	double events_ratio; /* of one CPU: they, in the window before */
	struct pace_child names, rows; /* of the symbols children */
};

/* The rates as configured; 0: no limit. */
void pace_init(struct engine *s, int64_t budget);

/* Begins to measure; then, at the end of each slot: measures,
 * stores it, and changes the rate of the next slots when need be. */
void pace_begin(struct engine *s);
void pace_judge(struct engine *s, uint64_t slot, struct batch *b);

/* Judges the window that ends now: whether the rate of clocks changes by it,
 * and the period of events. */
void pace_step(struct engine *s, bool changes[2]);

struct pace_gauge {
	const char *name, *unit;
	uint8_t scale;
};

/* Adds what a gauge of a source is in the slot. */
void pace_put(const struct engine *s, struct batch *b, const char *source,
    const struct pace_gauge *g, uint64_t slot, int64_t value);

/* Is it on, and a part of the waits that another type takes? */
bool pace_is_part(const struct engine_profile *p);

/* What a sample of the next ticks counts for, in the type's unit. */
int64_t pace_period(const struct engine *s, const struct engine_profile *p);

#endif
