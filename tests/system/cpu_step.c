/*
 * Three threads that walk in step with a clock of 99 Hz, a third of its period
 * apart, and work for a tenth of it: step SECONDS prints the CPU time of each,
 * in seconds, by the function in which it is.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 10101010
#define WORK_NS 1000000
#define NS 1000000000

static int64_t
clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * NS + t.tv_nsec;
}

static int64_t end_ns, used_ns[3];

#define STEP(name)                                                             \
	static __attribute__((noinline)) void name(int64_t until_ns)          \
	{                                                                      \
		while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)          \
			for (volatile int i = 0; i < 5000; i++)               \
				continue;                                      \
	}
STEP(step_first)
STEP(step_second)
STEP(step_third)

static void (*const steps[3])(int64_t) = {step_first, step_second, step_third};

static void *
walk(void *arg)
{
	size_t which = (size_t)arg;
	struct itimerspec every = {{0, PERIOD_NS}, {0, PERIOD_NS + (long)which *
	    PERIOD_NS / 3}};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t n;

	timerfd_settime(fd, 0, &every, NULL);
	while (clock_ns(CLOCK_MONOTONIC) < end_ns &&
	    read(fd, &n, sizeof(n)) == sizeof(n))
		steps[which](clock_ns(CLOCK_THREAD_CPUTIME_ID) + WORK_NS);
	used_ns[which] = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

int
main(int argc, char **argv)
{
	static const char *const names[] = {"step_first", "step_second",
	    "step_third"};
	pthread_t threads[3];

	if (argc != 2)
		return 2;
	end_ns = clock_ns(CLOCK_MONOTONIC) + (int64_t)(atof(argv[1]) * NS);
	for (size_t i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, walk, (void *)i);
	for (size_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < 3; i++)
		printf("%s %.6f\n", names[i], (double)used_ns[i] / NS);
	return 0;
}
