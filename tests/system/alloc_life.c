/*
 * Programs that live and end with sampled memory, and know by the library's own
 * table what of it is sampled.
 *
 *	alloc_life churn [orphan]	4 threads take, move and give back; with
 *		"orphan" the first thread of the process ends before them.
 *		At SIGUSR1 they rest, and it says "true BYTES OBJECTS": what
 *		the sampled objects in use stand for, in 1/1024 objects; at
 *		SIGUSR2 they go on.
 *	alloc_life short N [PROGRAM]	N processes one after the other, two at
 *		a time, that take two objects, give back one and end; with
 *		PROGRAM they execute it with "one" first.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/alloc/alloc.h"

#define THREADS 4
#define SLOTS 64
#define NOINLINE __attribute__((noinline, noclone))

static atomic_bool rest;
static atomic_uint resting;

/* ---- threads ---- */

static size_t
draw(unsigned *seed)
{
	return (size_t)1024 << rand_r(seed) % 11; /* to 1 MiB */
}

static NOINLINE void *
takes(unsigned *seed)
{
	char *p = malloc(draw(seed));

	*(volatile char *)p = 1;
	return p;
}

static NOINLINE void *
moves(void *was, unsigned *seed)
{
	char *p = realloc(was, draw(seed));

	*(volatile char *)p = 1;
	return p;
}

static void *
churns(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg, k;
	void *mine[SLOTS] = {NULL};

	for (;;) {
		k = (unsigned)rand_r(&seed) % SLOTS;
		if (mine[k] == NULL) {
			mine[k] = takes(&seed);
		} else if (rand_r(&seed) % 2 == 0) {
			mine[k] = moves(mine[k], &seed);
		} else {
			free(mine[k]);
			mine[k] = NULL;
		}
		usleep(1000);
		resting++;
		while (rest)
			usleep(1000);
		resting--;
	}
	return NULL;
}

static void
say_truth(const struct alloc_table *t)
{
	long long bytes = 0, objects = 0;

	for (size_t i = 0; i < ALLOC_CELLS; i++) {
		uint64_t size = t->cell[i].size;
		double n = (double)alloc_bytes(size), scale;

		if (t->cell[i].address <= ALLOC_CELL_BUSY)
			continue;
		scale = -1 / expm1(-n / (double)(ALLOC_MEAN <<
		    alloc_doublings(size)));
		bytes += llround(n * scale);
		objects += llround(1024 * scale);
	}
	/* printf() would take a buffer that is not counted. */
	dprintf(STDOUT_FILENO, "true %lld %lld\n", bytes, objects);
}

static void *
controls(void *arg)
{
	const struct alloc_table *t = dlsym(RTLD_DEFAULT,
	    "memlens_alloc1_table");
	const sigset_t *set = arg;
	int sig;

	if (t == NULL)
		exit(1);
	while (sigwait(set, &sig) == 0) {
		rest = sig == SIGUSR1;
		while (rest && resting < THREADS)
			usleep(1000);
		if (rest)
			say_truth(t);
	}
	return NULL;
}

static void
churn(bool orphan)
{
	static sigset_t set;
	pthread_t thread;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (uintptr_t i = 1; i <= THREADS; i++)
		pthread_create(&thread, NULL, churns, (void *)i);
	pthread_create(&thread, NULL, controls, &set);
	if (orphan)
		pthread_exit(NULL);
	pthread_join(thread, NULL);
}

/* ---- processes ---- */

static NOINLINE void
takes_one_of_two(void)
{
	char *p = malloc(512 << 10), *q = malloc(512 << 10);

	*(volatile char *)p = *(volatile char *)q = 1;
	free(p);
}

static pid_t
begin_short(const char *program)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (program != NULL)
		execl(program, program, "one", (char *)NULL);
	takes_one_of_two();
	_exit(0);
}

static void
run_short(int n, const char *program)
{
	int running = 0, status;

	for (int i = 0; i < n || running > 0; i++) {
		if (i < n && begin_short(program) > 0)
			running++;
		if (running == 2 || i >= n) {
			if (wait(&status) > 0 && status != 0)
				exit(1);
			running--;
		}
	}
}

int
main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "churn") == 0)
		churn(argc > 2);
	else if (argc > 2 && strcmp(argv[1], "short") == 0)
		run_short(atoi(argv[2]), argc > 3 ? argv[3] : NULL);
	else
		takes_one_of_two();
	return 0;
}
