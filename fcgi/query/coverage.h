/*
 * How much of the CPU time that the kernel has counted a profile of it has.
 * A clock that ticks misses some: programs that timers wake run just after
 * ticks, which most of all virtual machines deliver together with them.
 */
#ifndef FCGI_COVERAGE_H
#define FCGI_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

struct err;
struct selector;

struct coverage {
	bool counted; /* somebody counts what the selector asks for: */
	bool known; /* else there is no time */
	int128 cpu_ns;
};

/*
 * The CPU time of whom a selector of profiles demands, in a range: of
 * services and their instances what /proc counted of their processes, of the
 * whole host what its run queues did.  Of a slot that the range cuts the share
 * by time, as of profiles.  Not known: of other profiles than cpu, of parts of
 * a process (pool, cgroup), and where nobody has counted.
 */
const struct err *coverage_ask(struct store *s, const struct selector *selector,
    int64_t from_ns, int64_t until_ns, struct coverage *out);

/* Does it fall short of what was sampled, by more than three standard errors of
 * the samples?  Then nobody knows what the clock missed. */
bool coverage_falls_short(const struct coverage *c, const struct profile *p);

/* Scales a profile so that it adds up to cpu_ns: each node's amount, to less
 * than a unit, all by one factor.  Counts of samples stay what they are, in
 * p->samples. */
const struct err *coverage_calibrate(struct profile *p, int128 cpu_ns);

#endif
