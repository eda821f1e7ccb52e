/*
 * Threads whose waits for a condition a timer ends, as nobody signals it, while
 * a process beside wakes futexes at which nobody waits; and a lock between the
 * two, which the other one does hold.
 *
 *	locks_passers MS
 *
 * Says how often the other has called in vain.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/system/thread_clock.h"

#define WAITERS 4
#define SIGNALS 40 /* of glibc's condition: where its waiters wait */

struct shared {
	pthread_mutex_t between;
	pthread_cond_t nobody;
};

static struct shared *ours, *theirs; /* one page at two addresses */
static pthread_cond_t nobody = PTHREAD_COND_INITIALIZER;
static int own_word;
static int64_t end_ns, passed;

static int
goes_on(void)
{
	return clock_ns(CLOCK_MONOTONIC) < end_ns;
}

/* ---- those who wait ---- */

static void
await(pthread_cond_t *c)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct timespec until;

	pthread_mutex_lock(&mutex);
	while (goes_on()) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 3000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(c, &mutex, &until);
	}
	pthread_mutex_unlock(&mutex);
}

static void *
await_private(void *p)
{
	prctl(PR_SET_NAME, "wprivate");
	await(&nobody);
	return p;
}

static void *
await_shared(void *p)
{
	prctl(PR_SET_NAME, "wshared");
	await(&ours->nobody);
	return p;
}

static void *
want_between(void *p)
{
	prctl(PR_SET_NAME, "wbetween");
	while (goes_on()) {
		pthread_mutex_lock(&ours->between);
		pthread_mutex_unlock(&ours->between);
		nap(500);
	}
	return p;
}

/* ---- the process beside ---- */

static void
wake(const void *word, int operation)
{
	syscall(SYS_futex, word, operation, 1, NULL, NULL, 0);
}

static void *
pass(void *p)
{
	const char *word = (const char *)&nobody + SIGNALS;

	prctl(PR_SET_NAME, "passer");
	for (; goes_on(); passed += 3) {
		wake(&own_word, FUTEX_WAKE);
		wake(word, FUTEX_WAKE_PRIVATE);
		wake(word + sizeof(int), FUTEX_WAKE_PRIVATE);
	}
	return p;
}

static void *
hold_between(void *p)
{
	prctl(PR_SET_NAME, "holder");
	while (goes_on()) {
		pthread_mutex_lock(&theirs->between);
		nap(20000);
		pthread_mutex_unlock(&theirs->between);
		nap(300);
	}
	return p;
}

/* ---- both ---- */

static int
make_shared(void)
{
	int fd = memfd_create("shared", 0);
	pthread_mutexattr_t mutex;
	pthread_condattr_t cond;

	if (fd < 0 || ftruncate(fd, 4096) != 0)
		return 0;
	ours = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	theirs = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ours == MAP_FAILED || theirs == MAP_FAILED)
		return 0;
	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&ours->between, &mutex);
	pthread_condattr_init(&cond);
	pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&ours->nobody, &cond);
	return 1;
}

/* Runs threads with these functions to their end. */
static void
run(void *(*const *functions)(void *), size_t n)
{
	pthread_t threads[2 * WAITERS + 1];

	for (size_t i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, functions[i], NULL) != 0)
			exit(1);
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

int
main(int argc, char **argv)
{
	void *(*const beside[])(void *) = {pass, pass, hold_between};
	void *(*here[2 * WAITERS + 1])(void *) = {want_between};
	int i, status;
	pid_t child;

	if (argc != 2 || !make_shared())
		return 2;
	for (i = 1; i <= 2 * WAITERS; i++)
		here[i] = i % 2 == 0 ? await_private : await_shared;
	end_ns = clock_ns(CLOCK_MONOTONIC) + atol(argv[1]) * 1000000;
	child = fork();
	if (child == 0) {
		run(beside, sizeof(beside) / sizeof(beside[0]));
		printf("passed %lld\n", (long long)passed);
		return 0;
	}
	run(here, 2 * WAITERS + 1);
	return child > 0 && waitpid(child, &status, 0) == child &&
	    status == 0 ? 0 : 1;
}
