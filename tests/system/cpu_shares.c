/*
 * A program that burns known shares of CPU in known functions, for the
 * accuracy of the profiler.
 *
 *	cpu_shares SECONDS
 *
 * Each round calls the four functions in an order drawn anew, each for its
 * part of a round of 4 ms of CPU on average, whose length is drawn anew too:
 * nothing keeps step with the profiler's clock.  A function's time is taken
 * from the thread's CPU clock, so whatever else runs on the machine has no
 * part in it.  At its end it prints each function and the CPU nanoseconds
 * that it has burnt.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
#define ROUND_NS 4000000

int64_t burn_fifty(int64_t until);
int64_t burn_thirty(int64_t until);
int64_t burn_fifteen(int64_t until);
int64_t burn_five(int64_t until);

static volatile sig_atomic_t stop;
static volatile uint64_t sink;

static void
on_signal(int sig)
{
	stop = sig;
}

static inline int64_t
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Inlined into each of the functions: the time is theirs.  The step differs,
 * lest the compiler makes one function of the four. */
static inline __attribute__((always_inline)) int64_t
burn(int64_t until, unsigned step)
{
	int64_t now;
	unsigned i;

	do {
		for (i = 0; i < 20000; i++)
			sink = sink * 25214903917u + step;
		now = cpu_ns();
	} while (now < until);
	return now;
}

NOINLINE int64_t
burn_fifty(int64_t until)
{
	return burn(until, 1);
}

NOINLINE int64_t
burn_thirty(int64_t until)
{
	return burn(until, 3);
}

NOINLINE int64_t
burn_fifteen(int64_t until)
{
	return burn(until, 5);
}

NOINLINE int64_t
burn_five(int64_t until)
{
	return burn(until, 7);
}

static struct {
	const char *name;
	int64_t (*fn)(int64_t);
	int percent;
	int64_t ns;
} parts[] = {{"burn_fifty", burn_fifty, 50, 0},
    {"burn_thirty", burn_thirty, 30, 0},
    {"burn_fifteen", burn_fifteen, 15, 0},
    {"burn_five", burn_five, 5, 0}};

#define PARTS (sizeof(parts) / sizeof(parts[0]))

static void
run_round(int64_t length_ns)
{
	size_t order[PARTS], i, j, k;
	int64_t begin = cpu_ns(), now;

	for (i = 0; i < PARTS; i++)
		order[i] = i;
	for (i = PARTS; i-- > 1;) {
		j = (size_t)random() % (i + 1);
		k = order[i];
		order[i] = order[j];
		order[j] = k;
	}
	for (i = 0; i < PARTS; i++) {
		k = order[i];
		now = parts[k].fn(begin + length_ns * parts[k].percent / 100);
		parts[k].ns += now - begin;
		begin = now;
	}
}

int
main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	size_t i;

	signal(SIGTERM, on_signal);
	while (!stop && time(NULL) < end)
		run_round(ROUND_NS / 2 + random() % ROUND_NS);
	for (i = 0; i < PARTS; i++)
		printf("%s %lld\n", parts[i].name, (long long)parts[i].ns);
	return 0;
}
