/*
 * How much of the CPU time that the kernel has counted a profile of it has, and
 * how much of a service's memory our library sees.
 * A clock that ticks misses some: programs that timers wake run just after
 * ticks, which most of all virtual machines deliver together with them.
 *
 * And for how long of a range threads were watched, by the daemon's own count:
 * not while it did not run, nor in what is not stored yet.
 */
#ifndef FCGI_COVERAGE_H
#define FCGI_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

struct err;
struct selector;
struct writer;

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

/* What the daemon counts of each slot, of threads; */
#define COVERAGE_WATCHED                                                       \
	"memlens_profile_watched_seconds_total{source=\"offcpu\"}"

/* and of the clock that samples CPU time. */
#define COVERAGE_CLOCKED                                                       \
	"memlens_profile_watched_seconds_total{source=\"cpu\"}"

/* The sum of one of these in a range, ns; of a slot that it cuts the share by
 * time.  *known: somebody has counted that. */
const struct err *coverage_watched(struct store *s, const char *metric,
    const int64_t range[2], bool *known, int128 *ns);

/* Does it fall short of what was sampled, by more than three standard errors of
 * the samples?  Then nobody knows what the clock missed. */
bool coverage_falls_short(const struct coverage *c, const struct profile *p);

/* Scales a profile so that it adds up to cpu_ns: each node's amount, to less
 * than a unit, all by one factor.  Counts of samples stay what they are, in
 * p->samples. */
const struct err *coverage_calibrate(struct profile *p, int128 cpu_ns);

/* Why there is nothing of memory: programs tell it themselves, or our library
 * in them, of which a copy elsewhere is another one, as soon as it has picked
 * something. */
#define COVERAGE_UNSEEN "no process of these had a sample, one in 512 KiB, " \
	"of the library that the daemon watches, which memlens run loads, " \
	"nor gave a heap profile of its own"

/* And why what the library has seen is a zero, which need not be all. */
#define COVERAGE_NONE_SAMPLED "no allocation that was sampled is of this; " \
	"the library does not see those of an allocator that is part of " \
	"the program"

/* Of a service, or an instance of one: who has our library (memlens run).  What
 * the others ask their allocator for nobody sees. */
struct coverage_library {
	bool ours;  /* somebody has it: what it has lost may be theirs; */
	bool known; /* and how many do not was counted: */
	int128 processes[2], resident[2]; /* sums over slots; [1]: who do */
};

/* Of the services that a selector of profiles demands. */
const struct err *coverage_ask_library(struct store *s,
    const struct selector *selector, int64_t from_ns, int64_t until_ns,
    struct coverage_library *out);

/* The member "observed" of an open object: what part of the processes, and of
 * what is resident in them, has the library: from 0 to 1; null: nobody has it,
 * or nobody knows. */
void coverage_put_library(struct writer *w, const struct coverage_library *c);

#endif
