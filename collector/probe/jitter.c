/*
 * With a part of 0.5 to 1.5 % a clock of 99 Hz goes once through the phase of
 * what it might walk in step with, each second.
 */
#include "collector/probe/jitter.h"

#include "store/base/clock.h"

#define PART_MIN 5000 /* millionths */
#define PART_MORE 10000
#define MILLION 1000000

static uint64_t
jitter_random(struct jitter *j)
{
	j->seed ^= j->seed << 13;
	j->seed ^= j->seed >> 7;
	j->seed ^= j->seed << 17;
	return j->seed;
}

int64_t
jitter_next(struct jitter *j, int64_t hz, int64_t every_ns)
{
	double every = (double)every_ns;
	/* Half a tick more than were asked for in that time. */
	int64_t ns = (int64_t)(every / ((double)hz * every / NS_PER_S + 0.5));

	if (!j->back)
		j->part = PART_MIN + (int64_t)(jitter_random(j) % PART_MORE);
	j->back = !j->back;
	return ns + (j->back ? ns : -ns) * j->part / MILLION;
}
