/*
 * The scheduler's clock of a CPU: read by itself just before each switch, so
 * that a look at it costs nothing, while reading a clock takes a third of all
 * that a switch may cost.  sched_info.last_arrival is of this clock, too.
 *
 * It is not CLOCK_MONOTONIC: what is told to the daemon is, by an offset that
 * is measured at some of the switches (the least of a slot: a switch that was
 * held up in between shows more) and put in force as the next slot begins.
 */
#ifndef COLLECTOR_BPF_WAIT_CLOCK_BPF_H
#define COLLECTOR_BPF_WAIT_CLOCK_BPF_H

#include <bpf/bpf_helpers.h>

#include "collector/bpf/wait.h"

/* CLOCK_MONOTONIC less this clock: in force, and the least that was seen. */
volatile __s64 wait_offset_ns SEC(".data.wait") = WAIT_NO_OFFSET;
volatile __s64 wait_offset_seen_ns SEC(".data.wait") = WAIT_NO_OFFSET;

/* Of the CPU that a thread runs on. */
static __always_inline __u64
wait_clock(const struct task_struct *running)
{
	return running->se.cfs_rq->rq->clock;
}

static __always_inline bool
wait_clock_is_unknown(void)
{
	return wait_offset_ns == WAIT_NO_OFFSET;
}

/* Right after `clock` was read.  Returns CLOCK_MONOTONIC. */
static __always_inline __u64
wait_compare_clocks(__u64 clock)
{
	__u64 now_ns = bpf_ktime_get_ns();
	__s64 offset_ns = now_ns - clock;

	if (offset_ns < wait_offset_seen_ns)
		wait_offset_seen_ns = offset_ns;
	if (wait_clock_is_unknown())
		wait_offset_ns = offset_ns;
	return now_ns;
}

#endif
