/*
 * Allocates in a few ways from several threads, and dumps its own heap
 * profile twice where jemalloc is preloaded: what `memlens heap` is compared
 * with jeprof on.
 *
 *	heap_program FIRST SECOND      the files of the dumps
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define EACH 2000

static void *kept[THREADS + 1][3 * EACH];

static inline __attribute__((always_inline)) void *
filled(size_t n)
{
	void *p = malloc(n);

	memset(p, 1, n);
	return p;
}

/* Not tail calls: the callers must be on the stack. */
__attribute__((noinline)) void *
take_small(size_t i)
{
	void *p = filled(16 + i % 300);

	__asm__ volatile("");
	return p;
}

__attribute__((noinline)) void *
take_big(size_t i)
{
	void *p = filled(70000 + i * 97);

	__asm__ volatile("");
	return p;
}

__attribute__((noinline)) void *
take_deep(unsigned depth, size_t i)
{
	void *p = depth > 0 ? take_deep(depth - 1, i) : calloc(7, 33 + i);

	__asm__ volatile("");
	return p;
}

static void *
work(void *arg)
{
	void **mine = arg;

	for (size_t i = 0; i < EACH; i++) {
		mine[i] = take_small(i);
		if (i % 40 == 0)
			mine[EACH + i] = take_big(i);
		mine[2 * EACH + i] = take_deep(i % 9, i);
		if (i % 3 == 0) {
			free(mine[i]);
			free(mine[2 * EACH + i]);
		}
	}
	return NULL;
}

static void
run_threads(void)
{
	pthread_t threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, kept[i]);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static int
dump(const char *path)
{
	int (*control)(const char *, void *, size_t *, void *, size_t);

	*(void **)&control = dlsym(RTLD_DEFAULT, "mallctl");
	return control == NULL ||
	    control("prof.dump", NULL, NULL, &path, sizeof(path)) != 0;
}

int
main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	run_threads();
	if (dump(argv[1]))
		return 1;
	/* some of it goes, more comes: differences of both signs */
	for (size_t i = 1; i < EACH; i += 3) {
		free(kept[0][i]);
		kept[0][i] = NULL;
	}
	work(kept[THREADS]);
	return dump(argv[2]);
}
