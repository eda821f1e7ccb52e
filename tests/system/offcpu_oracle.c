/*
 * Threads that wait, each for something else, and measure it themselves.
 *
 *	offcpu_oracle MS DIR
 *
 * Works for so long, with a file in DIR, and says then, in ns:
 *
 *	waited POOL REASON NS CALLS
 *	                        blocked in its calls: what the clock says, less
 *	                        CPU time and time on run queues, as /proc has it
 *	lived LEAST MOST        all threads but the first, of both sides of
 *	                        each one's creation and end
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/system/thread_clock.h"

struct thread {
	const char *pool, *reason;
	void (*work)(struct thread *t);
	int64_t waited_ns, calls, created_ns[2], ended_ns[2];
	int schedstat;
	pthread_t id;
};

static int64_t end_ns;
static const char *dir;
static int pipes[2], sockets[2];
static pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t beside = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int turns;
volatile unsigned sum;

static int
goes_on(void)
{
	return clock_ns(CLOCK_MONOTONIC) < end_ns;
}

#define MEASURE(t, call) do { \
		int64_t before = thread_blocked_ns((t)->schedstat); \
		call; \
		(t)->waited_ns += thread_blocked_ns((t)->schedstat) - before; \
		(t)->calls++; \
	} while (0)

__attribute__((noinline)) static void
burns(struct thread *t)
{
	(void)t;
	while (goes_on())
		for (int i = 0; i < 100000; i++)
			sum = sum * 1664525 + 1;
}

/* Two of them have one CPU. */
static void
competes(struct thread *t)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	burns(t);
}

static void
sleeps(struct thread *t)
{
	while (goes_on())
		MEASURE(t, nap(30000));
}

static void
sleeps_shortly(struct thread *t)
{
	while (goes_on())
		MEASURE(t, nap(200));
}

static void
sleeps_long(struct thread *t)
{
	MEASURE(t, nap((end_ns - clock_ns(CLOCK_MONOTONIC)) / 1000));
}

__attribute__((noinline)) static void
holds_the_lock(int64_t us)
{
	pthread_mutex_lock(&contended);
	nap(us);
	pthread_mutex_unlock(&contended);
}

static void
holds(struct thread *t)
{
	static const int64_t us[] = {2000, 20000, 200000};

	(void)t;
	for (int i = 0; goes_on(); i++) {
		holds_the_lock(us[i % 3]);
		nap(300);
	}
}

__attribute__((noinline)) static void
wants_the_lock(struct thread *t)
{
	MEASURE(t, pthread_mutex_lock(&contended));
	pthread_mutex_unlock(&contended);
}

static void
locks(struct thread *t)
{
	while (goes_on()) {
		wants_the_lock(t);
		nap(500);
	}
}

static void
waits_for_turns(struct thread *t)
{
	int seen = 0;

	pthread_mutex_lock(&beside);
	while (goes_on()) {
		while (turns == seen)
			MEASURE(t, pthread_cond_wait(&condition, &beside));
		seen = turns;
	}
	pthread_mutex_unlock(&beside);
}

/* Wakes the others, until they have all ended. */
static void
turns_over(struct thread *t)
{
	int64_t last_ns = end_ns + 100000000;

	(void)t;
	while (clock_ns(CLOCK_MONOTONIC) < last_ns) {
		nap(15000);
		pthread_mutex_lock(&beside);
		turns++;
		pthread_cond_broadcast(&condition);
		pthread_mutex_unlock(&beside);
		if (write(pipes[1], "", 1) != 1 ||
		    write(sockets[1], "", 1) != 1)
			abort();
	}
}

static void
reads_pipe(struct thread *t)
{
	char c;

	while (goes_on())
		MEASURE(t, if (read(pipes[0], &c, 1) != 1) abort());
}

static void
reads_socket(struct thread *t)
{
	char c;

	while (goes_on())
		MEASURE(t, if (recv(sockets[0], &c, 1, 0) != 1) abort());
}

static void
polls(struct thread *t)
{
	while (goes_on())
		MEASURE(t, poll(NULL, 0, 25));
}

static void
writes(struct thread *t)
{
	static char block[65536];
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/offcpu_oracle.data", dir);
	MEASURE(t, fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600));
	while (fd >= 0 && goes_on()) {
		MEASURE(t, if (pwrite(fd, block, sizeof(block), 0) < 0)
		    abort());
		MEASURE(t, fsync(fd));
		nap(3000);
	}
	close(fd);
}

static struct thread threads[] = {
    {.pool = "burner", .reason = "-", .work = burns},
    {.pool = "rival-1", .reason = "-", .work = competes},
    {.pool = "rival-2", .reason = "-", .work = competes},
    {.pool = "sleeper", .reason = "timer", .work = sleeps},
    {.pool = "shortly", .reason = "timer", .work = sleeps_shortly},
    {.pool = "long", .reason = "timer", .work = sleeps_long},
    {.pool = "holder", .reason = "-", .work = holds},
    {.pool = "locker", .reason = "lock", .work = locks},
    {.pool = "waiter", .reason = "condition", .work = waits_for_turns},
    {.pool = "turner", .reason = "-", .work = turns_over},
    {.pool = "piper", .reason = "pipe", .work = reads_pipe},
    {.pool = "socketeer", .reason = "network", .work = reads_socket},
    {.pool = "poller", .reason = "poll", .work = polls},
    {.pool = "writer", .reason = "disk", .work = writes},
};
#define THREADS (sizeof(threads) / sizeof(threads[0]))

static void *
begin(void *p)
{
	struct thread *t = p;

	nap(3000); /* as what it was before its name */
	prctl(PR_SET_NAME, t->pool);
	t->schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
	t->work(t);
	close(t->schedstat);
	be_first();
	t->ended_ns[0] = clock_ns(CLOCK_MONOTONIC);
	return NULL;
}

int
main(int argc, char **argv)
{
	int64_t least = 0, most = 0;

	if (argc != 3 || pipe(pipes) != 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
		return 2;
	dir = argv[2];
	end_ns = clock_ns(CLOCK_MONOTONIC) + atol(argv[1]) * 1000000;
	for (size_t i = 0; i < THREADS; i++) {
		threads[i].created_ns[0] = clock_ns(CLOCK_MONOTONIC);
		if (pthread_create(&threads[i].id, NULL, begin,
		    &threads[i]) != 0)
			return 1;
		threads[i].created_ns[1] = clock_ns(CLOCK_MONOTONIC);
	}
	for (size_t i = 0; i < THREADS; i++) {
		struct thread *t = &threads[i];

		pthread_join(t->id, NULL);
		t->ended_ns[1] = clock_ns(CLOCK_MONOTONIC);
		least += t->ended_ns[0] - t->created_ns[1];
		most += t->ended_ns[1] - t->created_ns[0];
		printf("waited %s %s %lld %lld\n", t->pool, t->reason,
		    (long long)t->waited_ns, (long long)t->calls);
	}
	printf("lived %lld %lld\n", (long long)least, (long long)most);
	return 0;
}
