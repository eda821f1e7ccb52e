/*
 * Where BPF programs are, and were a moment ago: /proc/kallsyms says it for
 * the moment in which it is read, the kernel's records (process_events.h) for
 * all that come and go after it.
 */
#ifndef COLLECTOR_PROGRAMS_H
#define COLLECTOR_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct program; /* its code, and when it was there */

struct programs {
	struct program *all; /* by address */
	size_t n, cap;
	uint64_t largest; /* none has more bytes */
};

/* That the program in [start, end) has come, or that it has gone. */
struct program_told {
	uint64_t start, end;
	const char *name; /* as in kallsyms; borrowed for the call */
	int64_t time_ns;  /* CLOCK_MONOTONIC */
	bool gone;
};

void programs_fini(struct programs *p);

/* Of two CPUs the later record may be told first.  False when there is no room
 * for it. */
bool programs_tell(struct programs *p, const struct program_told *told);

/* The name of the program that an address was in; NULL: nothing was told of
 * one there.  Valid until the next call of another. */
const char *programs_find(const struct programs *p, uint64_t addr,
    int64_t time_ns);

/* Forgets those that were gone by then. */
void programs_forget(struct programs *p, int64_t time_ns);

#endif
