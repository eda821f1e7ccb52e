/*
 * Code that is hard to walk through, for the unwinder's system tests: busy
 * for some seconds in a way of its own, all without frame pointers.
 *
 *	unwind_mix WAY SECONDS
 *
 *	threads  callbacks of the C library, the vdso, signal handlers
 *	fork     children of 150 ms each, one after the other
 *	leader   a thread that lives on when the first one has ended
 *	probed   return probes on two of its functions, by perf_event_open
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

int64_t now_ms(void);
uint64_t burn(unsigned n);
int in_callback(const void *a, const void *b);
uint64_t in_sort(unsigned n);
uint64_t in_vdso(unsigned n);
uint64_t in_aligned(unsigned n);
void *in_thread(void *arg);

static volatile uint64_t sink;
static int64_t end_ms;

NOINLINE int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

NOINLINE uint64_t
burn(unsigned n)
{
	uint64_t x = n + 1;

	for (n *= 100; n > 0; n--)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink += x;
	return x;
}

NOINLINE int
in_callback(const void *a, const void *b)
{
	burn(2);
	return *(const int *)a - *(const int *)b;
}

NOINLINE uint64_t
in_sort(unsigned n)
{
	int numbers[64];
	unsigned i;

	for (i = 0; i < 64; i++)
		numbers[i] = (int)((i * 37 + n) % 64);
	qsort(numbers, 64, sizeof(numbers[0]), in_callback);
	return (uint64_t)numbers[n % 64];
}

NOINLINE uint64_t
in_vdso(unsigned n)
{
	uint64_t sum = 0;

	for (n = 0; n < 1000; n++)
		sum += (uint64_t)now_ms();
	return sum;
}

/* An aligned array beside one of variable size. */
NOINLINE uint64_t
in_aligned(unsigned n)
{
	volatile char a[64] __attribute__((aligned(64)));
	volatile char *b = __builtin_alloca(16 + n % 100);

	a[n % 64] = 1;
	b[n % 16] = 2;
	return burn(100) + (uint64_t)a[n % 64] + (uint64_t)b[n % 16];
}

static void
on_signal(int sig)
{
	(void)sig;
	sink += burn(5000) + 1; /* no jump: a frame of its own */
}

NOINLINE void *
in_thread(void *arg)
{
	unsigned n;

	for (n = 0; now_ms() < end_ms; n++)
		sink += in_sort(n) + in_vdso(n) + in_aligned(n);
	return arg;
}

static void
way_threads(void)
{
	struct itimerval often = {{0, 8000}, {0, 8000}};
	pthread_t other;

	signal(SIGPROF, on_signal);
	setitimer(ITIMER_PROF, &often, NULL);
	pthread_create(&other, NULL, in_thread, NULL);
	in_thread(NULL);
	pthread_join(other, NULL);
}

static void
way_fork(void)
{
	int64_t last = end_ms;
	pid_t child;

	while (now_ms() < last) {
		end_ms = now_ms() + 150;
		child = fork();
		if (child == 0) {
			in_thread(NULL);
			_exit(0);
		}
		/* The parent runs as well, or it would have no tables. */
		in_aligned(1);
		waitpid(child, NULL, 0);
	}
}

static void
way_leader(void)
{
	pthread_t other;

	pthread_create(&other, NULL, in_thread, NULL);
	pthread_exit(NULL);
}

/* Where a function of ours is in our file. */
static uint64_t
file_offset(uintptr_t function)
{
	unsigned long start, end, offset;
	char line[512];
	uint64_t found = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end,
		    &offset) == 3 && function >= start && function < end)
			found = function - start + offset;
	if (f != NULL)
		fclose(f);
	return found;
}

static int
probe_return(const char *path, uintptr_t function)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
	    .config = 1, /* at the return */
	    .uprobe_path = (uint64_t)(uintptr_t)path,
	    .probe_offset = file_offset(function)};
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");

	if (f == NULL || fscanf(f, "%u", &attr.type) != 1)
		return -1;
	fclose(f);
	return (int)syscall(SYS_perf_event_open, &attr, getpid(), -1, -1, 0);
}

static void
way_probed(const char *path)
{
	if (probe_return(path, (uintptr_t)in_sort) < 0 ||
	    probe_return(path, (uintptr_t)in_aligned) < 0)
		perror("probe");
	in_thread(NULL);
}

int
main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	end_ms = now_ms() + 1000 * atoi(argv[2]);
	if (strcmp(argv[1], "threads") == 0)
		way_threads();
	else if (strcmp(argv[1], "fork") == 0)
		way_fork();
	else if (strcmp(argv[1], "leader") == 0)
		way_leader();
	else if (strcmp(argv[1], "probed") == 0)
		way_probed(argv[0]);
	else
		return 2;
	return 0;
}
