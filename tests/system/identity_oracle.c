/*
 * One thread, or a few, that live in a given way, and say how long.
 *
 *	identity_oracle MODE MS
 *
 * As threads end they are of a real-time class where that is allowed.
 *
 *	burn      uses a CPU
 *	work      for 2 ms each time, and sleeps then for 20 ms
 *	sleep     sleeps for 30 ms each time
 *	switch    three threads hand a token round, as fast as they can
 *	exec      executes itself every 300 ms
 *	exec2     the same, by a second thread, which ends the first one
 *	die       begins a thread that lives for 20 ms, one after the other
 *	fork      a child, likewise
 *
 * Prints at its end, in ns:
 *
 *	lived LEAST MOST CPU QUEUED BEFORE
 *
 * of all its threads: between which two its life is by the clocks of both sides
 * of each beginning and end (the process's own from when it was born, to 10 ms,
 * as /proc has it, or only since this program began), what it has run, and
 * waited for a CPU (-1: that is not known, of children), and how long it did so
 * before this program began.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/system/thread_clock.h"

#define BEGAN "IDENTITY_ORACLE_BEGAN" /* when, and what it had waited then */
#define LENT "IDENTITY_ORACLE_LENT"   /* lives of threads before, exec2 */

static int64_t end_ns, least_ns, most_ns, queued_ns;

static int
goes_on(void)
{
	return clock_ns(CLOCK_MONOTONIC) < end_ns;
}

static int64_t
own_queued_ns(void)
{
	int fd = open("/proc/thread-self/schedstat", O_RDONLY);
	int64_t ns = thread_delay_ns(fd);

	close(fd);
	return ns;
}

/* Since the process began, in whole ticks of the clock of /proc. */
static int64_t
own_age_ns(void)
{
	unsigned long long ticks = 0;
	char text[1024] = "", *p;
	int fd = open("/proc/self/stat", O_RDONLY), field;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		abort();
	close(fd);
	p = strrchr(text, ')');
	for (field = 2; p != NULL && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (p != NULL)
		sscanf(p, "%llu", &ticks);
	return clock_ns(CLOCK_BOOTTIME) - (int64_t)ticks * 10000000;
}

static int64_t
rusage_ns(int who)
{
	struct rusage r;

	getrusage(who, &r);
	return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * INT64_C(1000000000) +
	    (r.ru_utime.tv_usec + r.ru_stime.tv_usec) * INT64_C(1000);
}

static void
burn(char **argv)
{
	(void)argv;
	while (goes_on())
		for (volatile int i = 0; i < 100000; i++)
			;
}

static void
works(char **argv)
{
	int64_t until_ns;

	(void)argv;
	while (goes_on()) {
		until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + 2000000;
		while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
			;
		nap(20000);
	}
}

static void
sleeps(char **argv)
{
	(void)argv;
	while (goes_on())
		nap(30000);
}

/* ---- threads ---- */

static sem_t turns[3];

static void *
hand_on(void *arg)
{
	int64_t born_ns = clock_ns(CLOCK_MONOTONIC), i = (intptr_t)arg;

	while (goes_on()) {
		sem_wait(&turns[i]);
		sem_post(&turns[(i + 1) % 3]);
	}
	sem_post(&turns[(i + 1) % 3]);
	be_first();
	__atomic_fetch_add(&queued_ns, own_queued_ns(), __ATOMIC_RELAXED);
	__atomic_fetch_add(&least_ns, clock_ns(CLOCK_MONOTONIC) - born_ns,
	    __ATOMIC_RELAXED);
	return NULL;
}

static void *
live_shortly(void *arg)
{
	int64_t born_ns = clock_ns(CLOCK_MONOTONIC);

	nap(20000);
	queued_ns += own_queued_ns();
	least_ns += clock_ns(CLOCK_MONOTONIC) - born_ns;
	return arg;
}

/* n of them, until all have ended. */
static void
with_threads(int n, void *(*work)(void *))
{
	int64_t before_ns[3];
	pthread_t id[3];
	int i;

	for (i = 0; i < n; i++) {
		before_ns[i] = clock_ns(CLOCK_MONOTONIC);
		if (pthread_create(&id[i], NULL, work, (void *)(intptr_t)i) !=
		    0)
			abort();
	}
	for (i = 0; i < n; i++) {
		pthread_join(id[i], NULL);
		most_ns += clock_ns(CLOCK_MONOTONIC) - before_ns[i];
	}
}

static void
switches(char **argv)
{
	(void)argv;
	for (int i = 0; i < 3; i++)
		sem_init(&turns[i], 0, i == 0);
	with_threads(3, hand_on);
}

static void
dies(char **argv)
{
	(void)argv;
	be_first();
	while (goes_on())
		with_threads(1, live_shortly);
}

/* ---- processes ---- */

static void
forks(char **argv)
{
	int64_t before_ns;
	pid_t pid;

	(void)argv;
	be_first();
	while (goes_on()) {
		before_ns = clock_ns(CLOCK_MONOTONIC);
		pid = fork();
		if (pid == 0) {
			nap(20000);
			_exit(0);
		}
		least_ns += 20000000;
		waitpid(pid, NULL, 0);
		most_ns += clock_ns(CLOCK_MONOTONIC) - before_ns;
	}
	queued_ns = -1;
}

static void
nap_before_exec(void)
{
	int64_t left_ns = end_ns - clock_ns(CLOCK_MONOTONIC);

	nap((left_ns < 300000000 ? left_ns : 300000000) / 1000);
}

static void
execute_itself(char **argv)
{
	char ms[32];
	int64_t left_ns = end_ns - clock_ns(CLOCK_MONOTONIC);

	snprintf(ms, sizeof(ms), "%lld", (long long)left_ns / 1000000 + 1);
	execl(argv[0], argv[0], argv[1], ms, NULL);
	abort();
}

static void
executes(char **argv)
{
	nap_before_exec();
	if (goes_on())
		execute_itself(argv);
}

static int64_t second_ns; /* when the second thread was begun */

static void *
second_executes(void *arg)
{
	int64_t born_ns = clock_ns(CLOCK_MONOTONIC);
	char text[96];

	nap_before_exec();
	be_first();
	least_ns += clock_ns(CLOCK_MONOTONIC) - born_ns;
	if (!goes_on())
		return NULL;
	snprintf(text, sizeof(text), "%lld %lld %lld", (long long)least_ns,
	    (long long)most_ns, (long long)second_ns);
	setenv(LENT, text, 1);
	execute_itself(arg);
	return NULL;
}

/* From its beginning to the first one's end there are two. */
static void
executes_by_second(char **argv)
{
	const char *text = getenv(LENT);
	long long least, most, began;
	pthread_t second;

	if (text != NULL &&
	    sscanf(text, "%lld %lld %lld", &least, &most, &began) == 3) {
		least_ns = least;
		most_ns = most + clock_ns(CLOCK_MONOTONIC) - began;
	}
	second_ns = clock_ns(CLOCK_MONOTONIC);
	if (pthread_create(&second, NULL, second_executes, argv) != 0)
		abort();
	pthread_join(second, NULL);
	most_ns += clock_ns(CLOCK_MONOTONIC) - second_ns;
	queued_ns = -1;
}

static const struct {
	const char *name;
	void (*live)(char **argv);
} modes[] = {{"burn", burn}, {"work", works}, {"sleep", sleeps},
    {"switch", switches}, {"exec", executes}, {"exec2", executes_by_second},
    {"die", dies}, {"fork", forks}};

/* Of the first of these programs that the process has executed. */
static void
note_beginning(int64_t *began_ns, int64_t *before_ns)
{
	long long began = clock_ns(CLOCK_MONOTONIC), before = own_queued_ns();
	const char *text = getenv(BEGAN);
	char now[64];

	snprintf(now, sizeof(now), "%lld %lld", began, before);
	if (text == NULL)
		setenv(BEGAN, now, 1);
	else
		sscanf(text, "%lld %lld", &began, &before);
	*began_ns = began;
	*before_ns = before;
}

int
main(int argc, char **argv)
{
	size_t i = 0, n = sizeof(modes) / sizeof(modes[0]);
	int64_t cpu_ns, own_ns, since_ns, began_ns, before_ns;

	if (argc < 3)
		return 2;
	note_beginning(&began_ns, &before_ns);
	end_ns = clock_ns(CLOCK_MONOTONIC) + atoll(argv[2]) * 1000000;
	while (i < n && strcmp(modes[i].name, argv[1]) != 0)
		i++;
	if (i == n)
		return 2;
	modes[i].live(argv);
	be_first();
	cpu_ns = rusage_ns(RUSAGE_SELF) + rusage_ns(RUSAGE_CHILDREN);
	own_ns = own_age_ns();
	since_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
	printf("lived %lld %lld %lld %lld %lld\n",
	    (long long)(least_ns + since_ns), (long long)(most_ns + own_ns),
	    (long long)cpu_ns, (long long)(queued_ns < 0 ? -1 :
	    queued_ns + own_queued_ns()), (long long)before_ns);
	return 0;
}
