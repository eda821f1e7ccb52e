/*
 * A clock that nobody walks in step with.
 *
 * What a program does at the pace of the clock, as one that is woken 99 times a
 * second, would be seen each time or never.  So the period of each CPU's clock
 * is another one every second: by some part longer, then as much shorter, so
 * that as many samples are taken as were asked for.
 */
#ifndef COLLECTOR_PROBE_JITTER_H
#define COLLECTOR_PROBE_JITTER_H

#include <stdbool.h>
#include <stdint.h>

#define JITTER_EVERY_NS 1000000000 /* at least: a period's time */
#define JITTER_LEAST_HZ 10 /* slower ones stay as they are */

/* Of one clock; all 0, but for the seed. */
struct jitter {
	uint64_t seed; /* not 0 */
	int64_t part;  /* of the period, in millionths; */
	bool back;     /* which are added next, or taken away */
};

/* Nanoseconds of the next period, which is set each every_ns and begins anew
 * then: what had passed of the one before is lost, half of one on average, and
 * made good. */
int64_t jitter_next(struct jitter *j, int64_t hz, int64_t every_ns);

#endif
