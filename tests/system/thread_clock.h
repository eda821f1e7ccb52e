/*
 * The clocks by which an oracle's threads measure how long they are blocked.
 */
#ifndef TESTS_THREAD_CLOCK_H
#define TESTS_THREAD_CLOCK_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static inline int64_t
clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static inline void
nap(int64_t us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&t, NULL);
}

/* A thread is not over as somebody has joined it, but when it has left its CPU
 * for the last time: it need not wait for that, where it may say so. */
static inline void
be_first(void)
{
	struct sched_param one = {.sched_priority = 1};

	sched_setscheduler(0, SCHED_FIFO, &one);
}

/* How long it has waited for a CPU; `schedstat` is the thread's own file in
 * /proc. */
static inline int64_t
thread_delay_ns(int schedstat)
{
	unsigned long long ran, delay = 0;
	char text[128] = "";

	if (pread(schedstat, text, sizeof(text) - 1, 0) > 0)
		sscanf(text, "%llu %llu", &ran, &delay);
	return (int64_t)delay;
}

/* Time that is neither run nor waited for a CPU.  The clocks are those of one
 * moment: it was not preempted between them. */
static inline int64_t
thread_blocked_ns(int schedstat)
{
	int64_t delay, ns;

	do {
		delay = thread_delay_ns(schedstat);
		ns = clock_ns(CLOCK_MONOTONIC) -
		    clock_ns(CLOCK_THREAD_CPUTIME_ID) - delay;
	} while (thread_delay_ns(schedstat) != delay);
	return ns;
}

#endif
