/*
 * How the time of a thread is summed: by the BPF program as it is switched,
 * and by the daemon on a copy, when a slot is over.
 */
#ifndef COLLECTOR_BPF_WAIT_TIME_H
#define COLLECTOR_BPF_WAIT_TIME_H

#include "collector/bpf/wait.h"

/* Slots are slot_ns long; one begins at begin_ns, all in CLOCK_MONOTONIC. */
struct wait_slots {
	__u64 begin_ns, slot_ns;
};

/* Goes over the last border before end_ns: the sums as they were there. */
static inline __attribute__((always_inline)) __u64
wait_cross(struct wait_thread *t, __u32 state, __u64 begin_ns, __u64 end_ns,
    const struct wait_slots *slots)
{
	__u64 border = end_ns;
	int i;

	if (end_ns >= slots->begin_ns)
		border -= (end_ns - slots->begin_ns) % slots->slot_ns;
	if (border > begin_ns) {
		t->sums.sum[state & (WAIT_ROOM - 1)] += border - begin_ns;
		begin_ns = border;
	}
	for (i = 0; i < WAIT_ROOM; i++)
		t->sums.at[i] = t->sums.sum[i];
	t->sums.at_ns = border;
	t->border_ns = border + slots->slot_ns;
	return begin_ns;
}

/* Adds the time from begin_ns to end_ns, which never go back. */
static inline __attribute__((always_inline)) void
wait_add(struct wait_thread *t, __u32 state, __u64 begin_ns, __u64 end_ns,
    const struct wait_slots *slots)
{
	if (end_ns >= t->border_ns)
		begin_ns = wait_cross(t, state, begin_ns, end_ns, slots);
	if (end_ns > begin_ns)
		t->sums.sum[state & (WAIT_ROOM - 1)] += end_ns - begin_ns;
}

/* How much of a wait was on the run queue: what the scheduler has added to its
 * sum since the thread left. */
static inline __attribute__((always_inline)) __u64
wait_queued(__u32 reason, __u64 wait_ns, __u64 run_delay, __u64 before)
{
	__u64 ns = run_delay - before;

	return reason == WAIT_RUN_QUEUE || ns > wait_ns ? wait_ns : ns;
}

/* Puts the wait before into the sums, of a thread that has come back. */
static inline __attribute__((always_inline)) void
wait_settle(struct wait_thread *t, __u64 run_delay,
    const struct wait_slots *slots)
{
	__u64 queued_ns, woken_ns;

	if (t->left_ns == 0)
		return;
	queued_ns = wait_queued(t->reason, t->since_ns - t->left_ns,
	    run_delay, t->run_delay);
	woken_ns = t->since_ns - queued_ns;
	wait_add(t, t->reason, t->left_ns, woken_ns, slots);
	wait_add(t, WAIT_RUN_QUEUE, woken_ns, t->since_ns, slots);
	t->left_ns = 0;
}

#endif
