/*
 * Processes, threads and libraries that come and go, for the profiler's
 * tests: each way does it until the time is over, then says how often.
 *
 *	storm fork RATE SECONDS       children, every other executes a file
 *	storm threads NUMBER SECONDS  threads that take turns in running
 *	storm library FILE SECONDS    dlopen, call, dlclose; FILE is linked
 *	                              anew under another name each time
 *	storm reuse PID SECONDS A B   programs A and B in turn under one pid,
 *	                              PID or one below that is free
 */
#include <dlfcn.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL

int64_t now_ns(void);
uint64_t burn_ns(int64_t ns);

static volatile uint64_t sink;
static int64_t end_ns;

int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

uint64_t
burn_ns(int64_t ns)
{
	int64_t until = now_ns() + ns;
	unsigned i;

	while (now_ns() < until)
		for (i = 0; i < 1000; i++)
			sink = sink * 25214903917u + 11;
	return sink;
}

static void
nap_ns(int64_t ns)
{
	struct timespec t = {ns / NS_PER_S, ns % NS_PER_S};

	nanosleep(&t, NULL);
}

static void
child(const char *self, unsigned long n)
{
	burn_ns(100000);
	if (n % 2 == 0)
		execl(self, self, "burn", "0", "0", (char *)NULL);
	_exit(0);
}

static unsigned long
way_fork(const char *self, long rate)
{
	int64_t next = now_ns(), began = next;
	unsigned long n = 0;

	while (next < end_ns) {
		if (now_ns() < next)
			nap_ns(next - now_ns());
		if (fork() == 0)
			child(self, n);
		n++;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		/* A machine that is too slow makes what it can. */
		next = began + (int64_t)n * NS_PER_S / rate;
		if (next < now_ns() - NS_PER_S / 10)
			began += now_ns() - next;
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	return n;
}

static void *
turns(void *arg)
{
	while (now_ns() < end_ns) {
		burn_ns(20000);
		nap_ns(50000000);
	}
	return arg;
}

static unsigned long
way_threads(long number)
{
	pthread_t *threads = calloc((size_t)number, sizeof(*threads));
	unsigned long n = 0;
	long i;

	for (i = 0; threads != NULL && i < number; i++)
		if (pthread_create(&threads[n], NULL, turns, NULL) == 0)
			n++;
	for (i = 0; i < (long)n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return n;
}

static unsigned long
way_library(const char *file)
{
	char name[4096];
	uint64_t (*fn)(int64_t);
	unsigned long n = 0;
	void *library;

	while (now_ns() < end_ns) {
		snprintf(name, sizeof(name), "%s.%lu", file, n % 7);
		unlink(name);
		if (link(file, name) != 0 ||
		    (library = dlopen(name, RTLD_NOW)) == NULL) {
			fprintf(stderr, "%s: %s\n", name, dlerror());
			exit(1);
		}
		*(void **)&fn = dlsym(library, "in_library");
		if (fn == NULL)
			exit(1);
		sink += fn(5000000);
		dlclose(library);
		n++;
	}
	return n;
}

/* A child under a number of our choice; 0 in the child, -1 when another
 * process has the number. */
static pid_t
fork_as(pid_t pid)
{
	struct clone_args a = {.exit_signal = SIGCHLD,
	    .set_tid = (uintptr_t)&pid, .set_tid_size = 1};

	return (pid_t)syscall(SYS_clone3, &a, sizeof(a));
}

static unsigned long
way_reuse(pid_t pid, char *const programs[2])
{
	unsigned long n = 0, failed = 0;
	pid_t got;

	while (now_ns() < end_ns && pid > 1) {
		char *program = programs[n % 2];

		got = fork_as(pid);
		if (got == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			execl(program, program, "100", (char *)NULL);
			_exit(127);
		}
		if (got < 0) { /* somebody else has it, perhaps for long */
			pid -= ++failed % 20 == 0;
			nap_ns(10000000);
			continue;
		}
		nap_ns(600000000);
		kill(got, SIGKILL);
		waitpid(got, NULL, 0);
		n++;
	}
	return n;
}

int
main(int argc, char **argv)
{
	unsigned long n;

	if (argc < 4)
		return 2;
	end_ns = now_ns() + atol(argv[3]) * NS_PER_S;
	if (strcmp(argv[1], "burn") == 0)
		return burn_ns(100000) == 1;
	if (strcmp(argv[1], "fork") == 0)
		n = way_fork(argv[0], atol(argv[2]));
	else if (strcmp(argv[1], "threads") == 0)
		n = way_threads(atol(argv[2]));
	else if (strcmp(argv[1], "library") == 0)
		n = way_library(argv[2]);
	else if (strcmp(argv[1], "reuse") == 0 && argc == 6)
		n = way_reuse((pid_t)atol(argv[2]), argv + 4);
	else
		return 2;
	printf("%s %lu\n", argv[1], n);
	return 0;
}
