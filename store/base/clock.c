/*
 * clock_gettime(2), which can only fail on a kernel without the clock.
 */
#include "store/base/clock.h"

#include <time.h>

static int64_t
clock_read_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t
clock_wall_ns(void)
{
	return clock_read_ns(CLOCK_REALTIME);
}

int64_t
clock_boot_ns(void)
{
	return clock_read_ns(CLOCK_BOOTTIME);
}

int64_t
clock_mono_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

int64_t
clock_cpu_ns(void)
{
	return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t
clock_thread_cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}
