/*
 * What lives for a few milliseconds only, for the profiler's tests: goes on
 * until it is killed.
 *
 *	cpu_churn fork US             children that work for US microseconds
 *	cpu_churn exec US FILE        the same, having executed FILE: a copy
 *	                              of this program
 *	cpu_churn library US FILE...  dlopen, call for US, dlclose, in turn;
 *	                              a file exports in_library(ns)
 *	cpu_churn burn US             works for that long
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void in_child(int64_t ns);
void in_program(int64_t ns);
void in_caller(const char *file, int64_t ns);

static volatile uint64_t sink;

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void
burn(int64_t ns)
{
	int64_t until = now_ns() + ns;
	unsigned i;

	while (now_ns() < until)
		for (i = 0; i < 1000; i++)
			sink = sink * 25214903917u + 11;
}

__attribute__((noinline)) void
in_child(int64_t ns)
{
	burn(ns);
	sink++;
}

__attribute__((noinline)) void
in_program(int64_t ns)
{
	burn(ns);
	sink++;
}

static void
way_child(const char *us, const char *file)
{
	pid_t pid = fork();

	if (pid == 0 && file != NULL) {
		execl(file, file, "burn", us, (char *)NULL);
		_exit(127);
	}
	if (pid == 0) {
		in_child(atol(us) * 1000);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

__attribute__((noinline)) void
in_caller(const char *file, int64_t ns)
{
	void *library = dlopen(file, RTLD_NOW);
	void (*fn)(int64_t);

	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&fn = dlsym(library, "in_library");
	if (fn == NULL)
		exit(1);
	fn(ns);
	dlclose(library);
	sink++;
}

int
main(int argc, char **argv)
{
	const char *way = argc > 2 ? argv[1] : "";
	int i = 3;

	if (strcmp(way, "burn") == 0) {
		in_program(atol(argv[2]) * 1000);
		return 0;
	}
	while (strcmp(way, "fork") == 0 || strcmp(way, "exec") == 0)
		way_child(argv[2], argc > 3 ? argv[3] : NULL);
	while (strcmp(way, "library") == 0 && argc > 3) {
		in_caller(argv[i], atol(argv[2]) * 1000);
		i = i + 1 < argc ? i + 1 : 3;
	}
	return 2;
}
