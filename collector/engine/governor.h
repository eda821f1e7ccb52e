/*
 * Keeps the profiler within its share of the CPU, by its rates.
 *
 *	used > budget, GOVERNOR_OVER slots in a row      down: hz, hz/2, hz/5
 *	used < 3/4 budget, `patience` slots in a row     up one step
 *	over again within GOVERNOR_RELAPSE slots         patience doubles
 *
 * No clock and no system calls of its own: the caller says what was used.
 */
#ifndef COLLECTOR_GOVERNOR_H
#define COLLECTOR_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

#define GOVERNOR_LEVELS 3
#define GOVERNOR_OVER 3
#define GOVERNOR_PATIENCE 6
#define GOVERNOR_PATIENCE_MAX 360
#define GOVERNOR_RELAPSE 30

struct governor {
	int64_t budget;   /* millionths of one CPU; 0: no limit */
	unsigned level;   /* 0: the configured rate */
	unsigned over, calm, patience;
	unsigned since_up; /* slots since the rate was raised */
};

void governor_init(struct governor *g, int64_t budget);

/* A configured rate as it should be now, at least 1; a number of events
 * between two samples likewise. */
int64_t governor_hz(const struct governor *g, int64_t hz);
int64_t governor_period(const struct governor *g, int64_t period);

/* Takes up what was used, in ns of CPU within span_ns; true when the rate
 * changes by it. */
bool governor_step(struct governor *g, int64_t used_ns, int64_t span_ns);

#endif
