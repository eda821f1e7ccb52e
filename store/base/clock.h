/*
 * The one place that tells the time, so that replay and tests can set it.
 * Wall time is nanoseconds since 1970-01-01 UTC.
 */
#ifndef STORE_BASE_CLOCK_H
#define STORE_BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

int64_t clock_wall_ns(void);
/* CLOCK_BOOTTIME: does not jump with the wall clock, goes on in suspend. */
int64_t clock_boot_ns(void);
/* CLOCK_MONOTONIC: what BPF's bpf_ktime_get_ns counts. */
int64_t clock_mono_ns(void);
/* CPU time of this process, user and system; of this thread. */
int64_t clock_cpu_ns(void);
int64_t clock_thread_cpu_ns(void);

#endif
