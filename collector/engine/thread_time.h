/*
 * Where the threads of each service spend their time, as metrics:
 *
 *	thread_seconds_total{service, state}
 *	thread_births_total{service}, thread_deaths_total{service}
 *
 * The states of a service add up to the time that its threads lived.  A state
 * that a service has never been in is not there; a service in whose slot no
 * thread lived has none.  Births and deaths are there, perhaps as 0, wherever
 * its time is.
 *
 * A wait that has a stack is of the service under which its stack is shown, all
 * else of the one that its thread had as the slot ended.  So the profile of a
 * service is its waits, also where a process changes its service in a slot.
 */
#ifndef COLLECTOR_THREAD_TIME_H
#define COLLECTOR_THREAD_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/bpf/wait.h"

struct batch;
struct thread_time;

/* NULL when out of memory. */
struct thread_time *thread_time_new(void);
void thread_time_free(struct thread_time *t);

/* ns in each state.  What is less than nothing comes off what is added
 * later, at the latest in the next slot. */
void thread_time_add(struct thread_time *t, const char *service,
    const int64_t ns[WAIT_STATES]);
void thread_time_add_to(struct thread_time *t, const char *service,
    enum wait_state state, int64_t ns);

/* Of what was added of this slot, so much was in another state; no more than
 * there is. */
void thread_time_move(struct thread_time *t, const char *service,
    enum wait_state from, enum wait_state to, int64_t ns);

/* Threads that began, and ended. */
void thread_time_count(struct thread_time *t, const char *service,
    int64_t births, int64_t deaths);

/* Adds the slot's counters, read at time_ns. */
void thread_time_put(struct thread_time *t, struct batch *b, uint64_t slot,
    int64_t time_ns);

/* A thread's part of a slot, by state: how its sums have grown, and what of
 * that has stacks. */
struct thread_slot {
	int64_t sum[WAIT_STATES];     /* ns, at the end of the slot, */
	int64_t told[WAIT_STATES];    /* at its beginning */
	int64_t stacked[WAIT_STATES]; /* with a stack, and not taken off */
	int64_t shown[WAIT_STATES];   /* of that, what this slot's stacks have,
	                               * whoever's they are */
	bool ahead; /* `sum` is of a later border: this one's is not known */
};

/* In CLOCK_MONOTONIC; one that is late may be longer than slot_ns. */
struct thread_slot_range {
	int64_t begin_ns, end_ns, slot_ns;
};

/* Are these sums the last ones, until the slot is over? */
bool thread_slot_is_last(const struct thread_slot_range *slot,
    const struct wait_sums *sums);

/* Takes the sums as they were at the slot's end. */
void thread_slot_choose(struct thread_slot *x,
    const struct thread_slot_range *slot, const struct wait_sums *sums);

/* The same as thread_slot_close() of what was until these sums, in the midst of
 * a slot: what it has chosen of its end stays. */
void thread_slot_part(struct thread_slot *x, const struct wait_sums *sums,
    int64_t rest[WAIT_STATES], int64_t below[WAIT_STATES]);

/* Of a wait, ns of it in a state have a stack. */
void thread_slot_show(struct thread_slot *x, enum wait_state state,
    uint64_t ns);

/* What is told of the slot, in ns: how each state has grown beside what its
 * stacks have, and how much of that has no stack. */
void thread_slot_close(struct thread_slot *x, int64_t rest[WAIT_STATES],
    int64_t below[WAIT_STATES]);

#endif
