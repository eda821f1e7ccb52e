/*
 * What lives for a few milliseconds only, for the profiler's tests: goes on
 * until it is killed.
 *
 *	cpu_churn fork US             children that work for US microseconds
 *	                              of CPU time, as all here
 *	cpu_churn exec US FILE        the same, and as long again having
 *	                              executed FILE: a copy of this program
 *	cpu_churn library US A B      dlopen, call for half of US to one and a
 *	                              half times it, dlclose, in turn; a file
 *	                              exports in_library(ns), which is called
 *	                              by calls_a() or calls_b() of the program.
 *	                              Prints now and then "used IN ALL": the CPU
 *	                              time in libraries and of all, nanoseconds
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
void calls_a(void (*fn)(int64_t), int64_t ns);
void calls_b(void (*fn)(int64_t), int64_t ns);

static volatile uint64_t sink;

static int64_t
clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void
burn(int64_t ns)
{
	int64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	unsigned i;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		for (i = 0; i < 100000; i++)
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

	if (pid == 0) {
		in_child(atol(us) * 1000);
		if (file == NULL)
			_exit(0);
		execl(file, file, "burn", us, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

__attribute__((noinline)) void
calls_a(void (*fn)(int64_t), int64_t ns)
{
	fn(ns);
	sink++;
}

__attribute__((noinline)) void
calls_b(void (*fn)(int64_t), int64_t ns)
{
	fn(ns);
	sink += 2;
}

/* The CPU time in the library. */
static int64_t
visit(const char *file, void (*call)(void (*)(int64_t), int64_t), int64_t ns)
{
	void *library = dlopen(file, RTLD_NOW);
	void (*fn)(int64_t);
	int64_t began;

	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&fn = dlsym(library, "in_library");
	if (fn == NULL)
		exit(1);
	began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	call(fn, ns);
	began = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
	dlclose(library);
	return began;
}

/* Visits of changing length, lest they keep step with the samples. */
static void
way_library(int64_t ns, char **file)
{
	long long used = 0;
	unsigned i;

	for (i = 0;; i++) {
		used += visit(file[i % 2], i % 2 ? calls_b : calls_a,
		    ns / 2 + rand() % ns);
		if (i % 16 == 0) {
			printf("used %lld %lld\n", used, (long long)
			    clock_ns(CLOCK_PROCESS_CPUTIME_ID));
			fflush(stdout);
		}
	}
}

int
main(int argc, char **argv)
{
	const char *way = argc > 2 ? argv[1] : "";

	if (strcmp(way, "burn") == 0) {
		in_program(atol(argv[2]) * 1000);
		return 0;
	}
	while (strcmp(way, "fork") == 0 || strcmp(way, "exec") == 0)
		way_child(argv[2], argc > 3 ? argv[3] : NULL);
	if (strcmp(way, "library") == 0 && argc == 5)
		way_library(atol(argv[2]) * 1000, argv + 3);
	return 2;
}
