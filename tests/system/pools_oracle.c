/*
 * Threads in pools, each of which says what its threads did.
 *
 *	pools_oracle MS
 *
 *	worker-1 to worker-8  use a CPU, sleep shortly, and want one lock
 *	io-1, io-2            hand bytes through pipes, in waits that are short
 *	renamed-1, later-1    one thread that changes its name
 *	brief-N               threads that live for a few milliseconds
 *	runs_unnamed          threads that nobody named, by what they began with
 *
 * All but the brief ones are called "warm" for two seconds before that, until
 * their code is known to whoever looks at them.  Prints for each, in ns:
 *
 *	pool NAME LIVED CPU QUEUED STATE NS [STATE NS]
 *
 * with names as MemLens folds them.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "tests/system/thread_clock.h"

enum { TIMER, LOCK, PIPE, WAITS };
static const char *const wait_names[WAITS] = {"timer", "lock", "pipe"};

struct pool {
	const char *name;
	int64_t lived_ns, cpu_ns, queued_ns, wait_ns[WAITS];
};

enum { WORKER, IO, RENAMED, LATER, BRIEF, UNNAMED, POOLS };
static struct pool pools[POOLS] = {
    {.name = "worker-*"}, {.name = "io-*"}, {.name = "renamed-*"},
    {.name = "later-*"}, {.name = "brief-*"}, {.name = "runs_unnamed"}};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t begin_ns, end_ns;
static int pipes[2][2];
static volatile unsigned sink;

/* What a thread did since it was in its pool. */
struct span {
	int schedstat;
	int64_t at_ns, cpu_ns, queued_ns, wait_ns[WAITS];
};

static int
goes_on(void)
{
	return clock_ns(CLOCK_MONOTONIC) < end_ns;
}

static void
span_begin(struct span *s)
{
	memset(s, 0, sizeof(*s));
	s->schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
	s->queued_ns = thread_delay_ns(s->schedstat);
	s->at_ns = clock_ns(CLOCK_MONOTONIC);
	s->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void
span_end(struct span *s, int pool)
{
	struct pool *p = &pools[pool];

	__atomic_fetch_add(&p->lived_ns, clock_ns(CLOCK_MONOTONIC) - s->at_ns,
	    __ATOMIC_RELAXED);
	__atomic_fetch_add(&p->cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID) -
	    s->cpu_ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(&p->queued_ns, thread_delay_ns(s->schedstat) -
	    s->queued_ns, __ATOMIC_RELAXED);
	for (int i = 0; i < WAITS; i++)
		__atomic_fetch_add(&p->wait_ns[i], s->wait_ns[i],
		    __ATOMIC_RELAXED);
	close(s->schedstat);
}

static void
burn(int64_t us)
{
	int64_t until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		for (int i = 0; i < 100; i++)
			sink += (unsigned)i;
}

/* Has the name after that. */
static void
warms_up(const char *name)
{
	prctl(PR_SET_NAME, "warm");
	while (clock_ns(CLOCK_MONOTONIC) < begin_ns) {
		burn(500);
		nap(4000);
	}
	prctl(PR_SET_NAME, name);
}

static void
sleeps(struct span *s, int64_t us)
{
	int64_t before_ns = thread_blocked_ns(s->schedstat);

	nap(us);
	s->wait_ns[TIMER] += thread_blocked_ns(s->schedstat) - before_ns;
}

static void
locks(struct span *s)
{
	int64_t before_ns = thread_blocked_ns(s->schedstat);

	pthread_mutex_lock(&lock);
	s->wait_ns[LOCK] += thread_blocked_ns(s->schedstat) - before_ns;
	sleeps(s, 200);
	pthread_mutex_unlock(&lock);
}

static void *
works(void *arg)
{
	struct span s;

	warms_up(arg);
	span_begin(&s);
	while (goes_on()) {
		burn(400);
		locks(&s);
		sleeps(&s, 5000);
	}
	span_end(&s, WORKER);
	return NULL;
}

/* Two hand a byte round; each sleeps for a moment before it does. */
static void *
hands_on(void *arg)
{
	int i = ((char *)arg)[3] - '1';
	int64_t before_ns;
	struct span s;
	char c = 0;

	warms_up(arg);
	span_begin(&s);
	while (goes_on()) {
		before_ns = thread_blocked_ns(s.schedstat);
		if (read(pipes[i][0], &c, 1) != 1)
			abort();
		s.wait_ns[PIPE] += thread_blocked_ns(s.schedstat) - before_ns;
		burn(50);
		sleeps(&s, 300);
		if (write(pipes[!i][1], &c, 1) != 1)
			abort();
	}
	span_end(&s, IO);
	return NULL;
}

static void *
renames(void *arg)
{
	static const char *const names[] = {"renamed-1", "later-1"};
	struct span s;
	int i = 0;

	warms_up(names[0]);
	while (goes_on()) {
		int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + 370000000;

		prctl(PR_SET_NAME, names[i]);
		span_begin(&s);
		while (clock_ns(CLOCK_MONOTONIC) < until_ns && goes_on()) {
			burn(100);
			sleeps(&s, i == 0 ? 400 : 700);
		}
		span_end(&s, RENAMED + i);
		i = !i;
	}
	return arg;
}

static void *
is_brief(void *arg)
{
	struct span s;

	prctl(PR_SET_NAME, arg);
	span_begin(&s);
	for (int i = 0; i < 10; i++) {
		burn(100);
		sleeps(&s, 500);
	}
	span_end(&s, BRIEF);
	return NULL;
}

__attribute__((noinline)) static void *
runs_unnamed(void *arg)
{
	struct span s;

	warms_up(program_invocation_short_name);
	span_begin(&s);
	while (goes_on()) {
		burn(500);
		sleeps(&s, 600);
		sleeps(&s, 4000);
	}
	span_end(&s, UNNAMED);
	return arg;
}

int
main(int argc, char **argv)
{
	static char names[16][16];
	pthread_t id[16], one;
	int n = 0, i;

	if (argc < 2 || pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0)
		return 2;
	begin_ns = clock_ns(CLOCK_MONOTONIC) + 2000000000;
	end_ns = begin_ns + atoll(argv[1]) * 1000000;
	for (i = 1; i <= 8; i++, n++) {
		snprintf(names[n], sizeof(names[n]), "worker-%d", i);
		pthread_create(&id[n], NULL, works, names[n]);
	}
	for (i = 1; i <= 2; i++, n++) {
		snprintf(names[n], sizeof(names[n]), "io-%d", i);
		pthread_create(&id[n], NULL, hands_on, names[n]);
	}
	if (write(pipes[0][1], "", 1) != 1)
		return 2;
	pthread_create(&id[n++], NULL, renames, NULL);
	for (i = 0; i < 3; i++)
		pthread_create(&id[n++], NULL, runs_unnamed, NULL);
	snprintf(names[n], sizeof(names[n]), "brief-1");
	nap((begin_ns - clock_ns(CLOCK_MONOTONIC)) / 1000);
	while (goes_on()) {
		pthread_create(&one, NULL, is_brief, names[n]);
		pthread_join(one, NULL);
	}
	if (write(pipes[0][1], "", 1) != 1 || write(pipes[1][1], "", 1) != 1)
		return 2;
	for (i = 0; i < n; i++)
		pthread_join(id[i], NULL);
	for (i = 0; i < POOLS; i++) {
		struct pool *p = &pools[i];

		printf("pool %s %lld %lld %lld", p->name,
		    (long long)p->lived_ns, (long long)p->cpu_ns,
		    (long long)p->queued_ns);
		for (int k = 0; k < WAITS; k++)
			printf(" %s %lld", wait_names[k],
			    (long long)p->wait_ns[k]);
		printf("\n");
	}
	return 0;
}
