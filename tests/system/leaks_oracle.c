/*
 * leaks_oracle DUMP: a leak beside a cache that fills and stays, and a burst.
 * At each line of its input a step: two objects of 1 MiB are kept, for the
 * first twelve steps the cache gets four, the twentieth has 40 for itself; then
 * jemalloc's dump is written and moved to DUMP, unless that is "-", and the
 * step's number told.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
#define MIB (1 << 20)
#define CACHE_STEPS 12
#define BURST_STEP 20
#define BURST 40

static void *volatile kept;

NOINLINE static void
take(void)
{
	void **p = malloc(MIB);

	memset(p, 1, MIB);
	*p = kept;
	kept = p;
}

NOINLINE static void
leaks(void)
{
	for (int i = 0; i < 2; i++)
		take();
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void
fills(void)
{
	for (int i = 0; i < 4; i++)
		take();
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void
bursts(void **held)
{
	for (int i = 0; i < BURST; i++) {
		held[i] = malloc(MIB);
		memset(held[i], 1, MIB);
	}
	__asm__ volatile("" ::: "memory");
}

static int
dump(const char *path)
{
	int (*mallctl)(const char *, void *, size_t *, void *, size_t);
	char next[4096];
	const char *name = next;

	*(void **)&mallctl = dlsym(RTLD_DEFAULT, "mallctl");
	if (strcmp(path, "-") == 0)
		return 0;
	if (mallctl == NULL)
		return -1;
	snprintf(next, sizeof(next), "%s.next", path);
	if (mallctl("prof.dump", NULL, NULL, &name, sizeof(name)) != 0)
		return -1;
	return rename(next, path);
}

int
main(int argc, char **argv)
{
	void *held[BURST];
	char line[16];

	if (argc != 2)
		return 2;
	for (int step = 1; fgets(line, sizeof(line), stdin) != NULL; step++) {
		leaks();
		if (step <= CACHE_STEPS)
			fills();
		if (step == BURST_STEP)
			bursts(held);
		if (dump(argv[1]) != 0)
			return 1;
		for (int i = 0; step == BURST_STEP && i < BURST; i++)
			free(held[i]);
		printf("%d\n", step);
		fflush(stdout);
	}
	return 0;
}
