/*
 * What the daemon's main thread spends its CPU time on.  Whoever begins
 * something says so, and says what it was before when it is done:
 *
 *	enum spent_on before = spent_begin(SPENT_SAMPLES);
 *	...
 *	spent_begin(before);
 *
 * For the main thread alone; what other threads use is the store's, but for
 * what it is told of them.
 */
#ifndef COLLECTOR_SPENT_H
#define COLLECTOR_SPENT_H

#include <stdint.h>

enum spent_on {
	SPENT_OTHER,
	SPENT_SAMPLES, /* taking samples from the ring: grows with the rate */
	SPENT_WAITS,   /* the same of waits */
	SPENT_NAMES,   /* what they need beside: unwind rows, names, stacks */
	SPENT_PROC,    /* reading /proc and /sys */
	SPENT_STORE,   /* journal and sealing */
	SPENT_PARTS
};

/* Returns what it was that ends. */
enum spent_on spent_begin(enum spent_on part);
/* Another thread has used so many ns of CPU for a part. */
void spent_elsewhere(enum spent_on part, int64_t ns);
/* ns of CPU since the start of the process. */
int64_t spent_ns(enum spent_on part);

#endif
