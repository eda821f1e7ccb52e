/*
 * A program of plain C for the table of kinds, busy until it is killed, below
 * main() in the way that it is told:
 *
 *	work chain      calls, one of them back from the C library
 *	work altstack   a signal handler on a stack of its own
 *	work recursion  400 calls deep
 *	work vdso       the clock, over and over
 *	work syscall    the kernel, over and over
 */
#include "tests/kinds/work.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;
static char signal_stack[65536];

NOINLINE void
burn(unsigned n)
{
	uint64_t x = sink;

	while (n-- > 0)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink = x;
}

NOINLINE int
compare(const void *a, const void *b)
{
	burn(50);
	return *(const int *)a - *(const int *)b;
}

NOINLINE void
sort_some(void)
{
	int numbers[256];
	int i;

	for (i = 0; i < 256; i++)
		numbers[i] = (i * 193 + (int)(sink % 7)) % 256;
	qsort(numbers, 256, sizeof(numbers[0]), compare);
	sink += (uint64_t)numbers[7];
}

NOINLINE void
heavy(void)
{
	burn(300000);
	sink++;
}

NOINLINE void
light(void)
{
	burn(100000);
	sink++;
}

NOINLINE void
chain(void)
{
	heavy();
	between(light);
	sort_some();
	sink++;
}

NOINLINE void
recurse(unsigned n)
{
	if (n > 0)
		recurse(n - 1);
	else
		chain();
	sink++;
}

NOINLINE void
clocks(void)
{
	struct timespec t;
	int i;

	for (i = 0; i < 10000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		sink += (uint64_t)t.tv_nsec;
	}
}

NOINLINE void
calls(void)
{
	int i;

	for (i = 0; i < 10000; i++)
		sink += (uint64_t)getppid();
}

static void
on_signal(int sig)
{
	heavy();
	sink += (uint64_t)sig;
}

static void
handle_signals(void)
{
	stack_t s = {.ss_sp = signal_stack, .ss_size = sizeof(signal_stack)};
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	struct itimerval often = {{0, 4000}, {0, 4000}};

	sigaltstack(&s, NULL);
	sigaction(SIGPROF, &a, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
}

int
main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "chain";

	if (strcmp(way, "altstack") == 0)
		handle_signals();
	for (;;)
		if (strcmp(way, "recursion") == 0)
			recurse(400);
		else if (strcmp(way, "vdso") == 0)
			clocks();
		else if (strcmp(way, "syscall") == 0)
			calls();
		else
			chain();
}
