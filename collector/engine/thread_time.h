/*
 * Where the threads of each service spend their time, as metrics:
 *
 *	thread_seconds_total{service, state}
 *
 * The states of a service add up to the time that its threads lived.  A state
 * that a service has never been in is not there; a service in whose slot no
 * thread lived has none.
 */
#ifndef COLLECTOR_THREAD_TIME_H
#define COLLECTOR_THREAD_TIME_H

#include <stdint.h>

#include "collector/bpf/wait.h"

struct batch;
struct thread_time;

/* NULL when out of memory. */
struct thread_time *thread_time_new(void);
void thread_time_free(struct thread_time *t);

/* ns in each state. */
void thread_time_add(struct thread_time *t, const char *service,
    const int64_t ns[WAIT_STATES]);

/* Adds the slot's counters, read at time_ns. */
void thread_time_put(struct thread_time *t, struct batch *b, uint64_t slot,
    int64_t time_ns);

#endif
