/*
 * Waits as a backend of PostgreSQL does for a row that nobody gives it: by
 * polls that end by their time limit, no signal.  And polls likewise for work,
 * which is no lock.  Then for a row that another process gives it while it
 * polls for the third time.  Ends with the ns that each of them took:
 *
 *	ProcSleep;NS
 *	serves;NS
 *	ProcLockWakeup;NS
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

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

static volatile sig_atomic_t given;

static void
give(int number)
{
	given = number;
}

__attribute__((noinline)) static int
ProcLockWakeup(void)
{
	int n = kill(getppid(), SIGUSR1);

	__asm__ volatile("");
	return n;
}

/* While the child sleeps for POLL_MS twice, and half of it. */
static void
measure_given(void)
{
	int64_t before;
	pid_t child;

	signal(SIGUSR1, give);
	child = fork();
	if (child == 0) {
		poll(NULL, 0, POLL_MS * 5 / 2);
		_exit(ProcLockWakeup() != 0);
	}
	before = clock_ns(CLOCK_MONOTONIC);
	while (!given)
		ProcSleep();
	printf("ProcLockWakeup;%lld\n",
	    (long long)(clock_ns(CLOCK_MONOTONIC) - before));
	while (waitpid(child, NULL, 0) < 0)
		;
}

int
main(void)
{
	measure("ProcSleep", ProcSleep);
	measure("serves", serves);
	fflush(stdout);
	measure_given();
	return 0;
}
