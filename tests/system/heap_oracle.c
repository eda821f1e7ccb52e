/*
 * A program whose heap is known: it does what its input says, a line each,
 * and answers with a line.
 *
 *	leak N        N objects of 1,000 bytes, kept
 *	churn N       N objects of 512 bytes, each freed again
 *	dump PATH     jemalloc's dump
 *
 * On SIGUSR2 it dumps where prof_prefix says.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

static void *volatile kept;

NOINLINE static void
keep_leaking(long n)
{
	for (long i = 0; i < n; i++) {
		void **p = malloc(1000);

		*p = kept;
		kept = p;
	}
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void
keep_churning(long n)
{
	for (long i = 0; i < n; i++) {
		void *volatile p = malloc(512);

		free(p);
	}
	__asm__ volatile("" ::: "memory");
}

static int
dump(const char *path)
{
	int (*mallctl)(const char *, void *, size_t *, void *, size_t);

	*(void **)&mallctl = dlsym(RTLD_DEFAULT, "mallctl");
	return mallctl == NULL ? -1 : mallctl("prof.dump", NULL, NULL,
	    path == NULL ? NULL : &path, path == NULL ? 0 : sizeof(path));
}

/* It waits for a line, and allocates nothing meanwhile. */
static void
dump_named(int sig)
{
	(void)sig;
	dump(NULL);
}

int
main(void)
{
	struct sigaction act = {.sa_handler = dump_named,
	    .sa_flags = SA_RESTART};
	char line[4096], path[4000];
	long n;

	sigaction(SIGUSR2, &act, NULL);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		int bad = 0;

		if (sscanf(line, "leak %ld", &n) == 1)
			keep_leaking(n);
		else if (sscanf(line, "churn %ld", &n) == 1)
			keep_churning(n);
		else if (sscanf(line, "dump %3999s", path) == 1)
			bad = dump(path);
		printf("%d\n", bad);
		fflush(stdout);
	}
	return 0;
}
