/*
 * Ping-pong of a byte between two processes over two pipes on one CPU: two
 * switches for each round, and nothing else.
 *
 *	offcpu_ping ROUNDS
 *
 * Prints the ns of CPU time that both have taken for a switch.
 */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static void
play(int from, int to, bool begins, long rounds)
{
	char c = 0;

	for (; rounds > 0; rounds--) {
		if (begins && write(to, &c, 1) != 1)
			die("write");
		if (read(from, &c, 1) != 1)
			die("read");
		if (!begins && write(to, &c, 1) != 1)
			die("write");
	}
}

static void
on_last_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		die("sched_setaffinity");
}

int
main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 0;
	struct rusage r;
	int a[2], b[2], status = 0, i;
	double ns;

	if (rounds < 1 || pipe(a) != 0 || pipe(b) != 0)
		return 2;
	on_last_cpu();
	for (i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid > 0)
			continue;
		play(i == 0 ? a[0] : b[0], i == 0 ? b[1] : a[1], i == 1,
		    rounds);
		_exit(0);
	}
	for (i = 0; i < 2; i++)
		if (wait(&status) < 0 || status != 0)
			die("a player");
	getrusage(RUSAGE_CHILDREN, &r);
	ns = (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e9 +
	    (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e3;
	printf("%.1f\n", ns / (double)rounds / 2);
	return 0;
}
