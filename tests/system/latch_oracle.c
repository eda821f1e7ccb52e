/*
 * Waits as a backend of PostgreSQL does for a row that nobody gives it: by
 * polls that end by their time limit, no signal.  And polls likewise for work,
 * which is no lock.  Then for two rows that another process gives it, while it
 * looks for deadlocks once in each.  Ends with the ns that each of them took:
 *
 *	ProcSleep;NS
 *	serves;NS
 *	ProcLockWakeup;NS
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/system/thread_clock.h"

#define POLLS 4
#define POLL_MS 400

/* Until the latch is set, by whatever signals; or until a time. */
__attribute__((noinline)) static int
ProcSleep(struct pollfd *latch)
{
	int n;

	do {
		n = poll(latch, latch != NULL, latch != NULL ? -1 : POLL_MS);
	} while (n < 0);
	__asm__ volatile("");
	return n;
}

static int
sleeps(void)
{
	return ProcSleep(NULL);
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

__attribute__((noinline)) static int
ProcLockWakeup(void)
{
	int n = kill(getppid(), SIGURG);

	__asm__ volatile("");
	return n;
}

static void
look_for_deadlocks(int number)
{
	(void)number;
}

/* One look for deadlocks, as if others had waited. */
static void
wait_once(struct pollfd *latch)
{
	const struct itimerval once = {.it_value = {.tv_usec = POLL_MS *
	    1000}};
	struct signalfd_siginfo set;

	setitimer(ITIMER_REAL, &once, NULL);
	if (ProcSleep(latch) != 1 ||
	    read(latch->fd, &set, sizeof(set)) != sizeof(set))
		printf("no latch\n");
}

/* Two waits, one right after the other: of two POLL_MS and a half, and of one
 * and a half. */
static void
measure_given(void)
{
	struct pollfd latch = {.events = POLLIN};
	int64_t before;
	sigset_t set;
	pid_t child;

	signal(SIGALRM, look_for_deadlocks);
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	sigprocmask(SIG_BLOCK, &set, NULL);
	latch.fd = signalfd(-1, &set, 0);
	child = fork();
	if (child == 0) {
		poll(NULL, 0, POLL_MS * 5 / 2);
		ProcLockWakeup();
		poll(NULL, 0, POLL_MS * 3 / 2);
		_exit(ProcLockWakeup() != 0);
	}
	before = clock_ns(CLOCK_MONOTONIC);
	wait_once(&latch);
	wait_once(&latch);
	printf("ProcLockWakeup;%lld\n",
	    (long long)(clock_ns(CLOCK_MONOTONIC) - before));
	while (waitpid(child, NULL, 0) < 0)
		;
}

int
main(void)
{
	measure("ProcSleep", sleeps);
	measure("serves", serves);
	fflush(stdout);
	measure_given();
	return 0;
}
