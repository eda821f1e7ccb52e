/*
 * A program of known shape for the CPU profiler's tests: `heavy` does three
 * times the work of `light`, in two threads of a pool.
 * Frame pointers are demanded here, whatever the compiler is told.
 */
#pragma GCC optimize("no-omit-frame-pointer", "no-optimize-sibling-calls")

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define KEEP static __attribute__((noinline, noclone))

static volatile uint64_t sink;

KEEP void
spin(unsigned n)
{
	/* Asking for the frame makes sure that there is one. */
	uint64_t x = sink + (__builtin_frame_address(0) == NULL);

	while (n-- > 0)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink = x;
}

/* The empty asm keeps the calls from becoming jumps. */
KEEP void
heavy(void)
{
	spin(300000);
	__asm__ volatile("");
}

KEEP void
light(void)
{
	spin(100000);
	__asm__ volatile("");
}

KEEP void
round_of_work(void)
{
	heavy();
	light();
	__asm__ volatile("");
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

KEEP void *
work(void *arg)
{
	double end = now() + *(double *)arg;

	while (now() < end)
		round_of_work();
	return NULL;
}

static void *
pool_thread(void *arg)
{
	static int number = 10;
	char name[16];

	snprintf(name, sizeof(name), "worker-%d",
	    __atomic_add_fetch(&number, 1, __ATOMIC_SEQ_CST));
	prctl(PR_SET_NAME, name, 0, 0, 0);
	return work(arg);
}

int
main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5;
	pthread_t threads[2];
	int i;

	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, pool_thread, &seconds);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
