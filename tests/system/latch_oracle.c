/*
 * Waits as a backend of PostgreSQL does for a row that nobody gives it: by
 * polls that end by their time limit, no signal.  And polls likewise for work,
 * which is no lock.  Ends with the ns that each of them took:
 *
 *	ProcSleep;NS
 *	serves;NS
 */
#include <poll.h>
#include <stdio.h>

#include "tests/system/thread_clock.h"

#define POLLS 4
#define POLL_MS 400

__attribute__((noinline)) static int
ProcSleep(void)
{
	int n = poll(NULL, 0, POLL_MS);

	__asm__ volatile("");
	return n;
}

__attribute__((noinline)) static int
serves(void)
{
	int n = poll(NULL, 0, POLL_MS);

	__asm__ volatile("");
	return n;
}

static void
measure(const char *name, int (*wait)(void))
{
	int64_t before = clock_ns(CLOCK_MONOTONIC);
	int i;

	for (i = 0; i < POLLS; i++)
		wait();
	printf("%s;%lld\n", name,
	    (long long)(clock_ns(CLOCK_MONOTONIC) - before));
}

int
main(void)
{
	measure("ProcSleep", ProcSleep);
	measure("serves", serves);
	return 0;
}
