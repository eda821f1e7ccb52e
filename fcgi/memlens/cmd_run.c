/*
 * memlens run: executes a program with the library before its allocator that
 * lets the daemon sample its memory.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/alloc/beside.h"
#include "fcgi/memlens/cmd.h"

#define PRELOAD "LD_PRELOAD"

static int
usage(void)
{
	fprintf(stderr, "usage: memlens run [--] COMMAND [ARGUMENT...]\n");
	return 2;
}

/* Is it one of a list as LD_PRELOAD has? */
static bool
run_is_listed(const char *list, const char *library)
{
	size_t n = strlen(library), k;

	for (; *list != '\0'; list += k + (list[k] != '\0')) {
		k = strcspn(list, ": ");
		if (k == n && memcmp(list, library, n) == 0)
			return true;
	}
	return false;
}

/* The library goes first: allocators that are preloaded stand behind it. */
static bool
run_preload(const char *library)
{
	const char *was = getenv(PRELOAD);
	bool set;
	char *list;

	if (was == NULL || was[0] == '\0')
		return setenv(PRELOAD, library, 1) == 0;
	if (run_is_listed(was, library))
		return true;
	if (asprintf(&list, "%s:%s", library, was) < 0)
		return false;
	set = setenv(PRELOAD, list, 1) == 0;
	free(list);
	return set;
}

/* The environment with BESIDE_RUN before all else. */
static char **
run_environment(void)
{
	static char mark[sizeof(BESIDE_RUN) + 12];
	size_t n, k, to = 1;
	char **all;

	for (n = 0; environ[n] != NULL; n++)
		continue;
	all = calloc(n + 2, sizeof(*all));
	if (all == NULL)
		return NULL;
	snprintf(mark, sizeof(mark), BESIDE_RUN "%d", getpid());
	all[0] = mark;
	for (k = 0; k < n; k++)
		if (strncmp(environ[k], BESIDE_RUN,
		    sizeof(BESIDE_RUN) - 1) != 0)
			all[to++] = environ[k];
	return all;
}

int
cmd_run(int argc, char **argv)
{
	char library[PATH_MAX], **environment;
	int error, at = argc > 1 && strcmp(argv[1], "--") == 0 ? 2 : 1;

	if (at >= argc || (at == 1 && argv[at][0] == '-'))
		return usage();
	if (!beside_find(BESIDE_ALLOC, library, sizeof(library))) {
		fprintf(stderr, "memlens run: " BESIDE_ALLOC " is neither "
		    "beside memlens nor in ../lib/memlens of its folder\n");
		return 2;
	}
	if (strpbrk(library, ": ") != NULL) {
		fprintf(stderr, "memlens run: %s: a path with a blank or a "
		    "colon cannot be preloaded\n", library);
		return 2;
	}
	if (!run_preload(library) ||
	    (environment = run_environment()) == NULL) {
		fprintf(stderr, "memlens run: %s: %s\n", PRELOAD,
		    strerror(errno));
		return 2;
	}
	execvpe(argv[at], argv + at, environment);
	error = errno;
	fprintf(stderr, "memlens run: %s: %s\n", argv[at], strerror(error));
	return error == ENOENT ? 127 : 126;
}
