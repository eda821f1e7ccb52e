/*
 * memory_touch SECONDS RATE [PHASE_MS PID...]: touches RATE pages anew each
 * second, a thousandth of them each millisecond, and gives them back; prints
 * its page faults and the time that they took.  Between them it is busy: a CPU
 * that sleeps takes longer for the first ones, by more than what is looked for.
 *
 * With processes, the first of which samples: its perf events are switched on
 * and off, PHASE_MS each, and each pair of phases is a line of its own: what
 * touching takes without and with, and what the processes take without and
 * with, in % of a CPU.  What is alike in both is not in the difference, and of
 * the milliseconds of a phase the middle half counts, which others' work on the
 * machine does not reach, nor do the few that have a sample in them.
 */
#include <dirent.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define MS INT64_C(1000000)
#define BURSTS_MAX 4096
#define SETTLE_PART 5 /* of a phase: the profiler takes what is in its ring */
#define EVENTS_MAX 4096

struct touching {
	char *p;
	long each; /* pages a millisecond */
	long phase_ms;
	int64_t next_ns, took_ns;
	double burst_ns[BURSTS_MAX]; /* each millisecond's, the last ones */
	long n_bursts;
	int events[EVENTS_MAX], n_events;
	const char *const *processes;
	int n_processes;
};

struct used {
	double program, profiler; /* % of a CPU */
};

static int64_t
clock_ns(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (int64_t)t.tv_sec * 1000 * MS + t.tv_nsec;
}

static void
touch(struct touching *t, long ms)
{
	while (ms-- > 0) {
		int64_t began = clock_ns(CLOCK_MONOTONIC);

		for (long i = 0; i < t->each; i++)
			((volatile char *)t->p)[i * PAGE] = 1;
		began = clock_ns(CLOCK_MONOTONIC) - began;
		t->took_ns += began;
		t->burst_ns[t->n_bursts++ % BURSTS_MAX] = (double)began;
		madvise(t->p, (size_t)t->each * PAGE, MADV_DONTNEED);
		t->next_ns += MS;
		while (clock_ns(CLOCK_MONOTONIC) < t->next_ns)
			continue;
	}
}

/* ---- in turn, with and without a profiler's events ---- */

/* The perf events that a process has open. */
static bool
find_events(struct touching *t, const char *pid)
{
	char path[300], target[64];
	int process = (int)syscall(SYS_pidfd_open, atoi(pid), 0);
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	while (dir != NULL && (d = readdir(dir)) != NULL &&
	    t->n_events < EVENTS_MAX) {
		ssize_t n = readlinkat(dirfd(dir), d->d_name, target,
		    sizeof(target) - 1);

		target[n < 0 ? 0 : n] = '\0';
		if (strcmp(target, "anon_inode:[perf_event]") == 0)
			t->events[t->n_events++] = (int)syscall(
			    SYS_pidfd_getfd, process, atoi(d->d_name), 0);
	}
	if (dir != NULL)
		closedir(dir);
	return t->n_events > 0;
}

/* CPU time of all threads of the processes. */
static int64_t
processes_ns(const struct touching *t)
{
	unsigned long long ns;
	char path[300];
	struct dirent *d;
	int64_t sum = 0;

	for (int i = 0; i < t->n_processes; i++) {
		DIR *dir;

		snprintf(path, sizeof(path), "/proc/%s/task",
		    t->processes[i]);
		dir = opendir(path);
		while (dir != NULL && (d = readdir(dir)) != NULL) {
			FILE *f;

			snprintf(path, sizeof(path), "/proc/%s/task/%.20s/"
			    "schedstat", t->processes[i], d->d_name);
			f = fopen(path, "r");
			if (f != NULL && fscanf(f, "%llu", &ns) == 1)
				sum += (int64_t)ns;
			if (f != NULL)
				fclose(f);
		}
		if (dir != NULL)
			closedir(dir);
	}
	return sum;
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The mean of the middle half of bursts, each of which was a millisecond. */
static double
middle_percent(struct touching *t)
{
	long n = t->n_bursts < BURSTS_MAX ? t->n_bursts : BURSTS_MAX;
	double sum = 0;

	qsort(t->burst_ns, (size_t)n, sizeof(*t->burst_ns), by_size);
	for (long i = n / 4; i < n - n / 4; i++)
		sum += t->burst_ns[i];
	return 100. * sum / (double)(n - n / 4 - n / 4) / (double)MS;
}

static struct used
phase(struct touching *t, bool with)
{
	int64_t wall_ns, processes;

	for (int i = 0; i < t->n_events; i++)
		ioctl(t->events[i], with ? PERF_EVENT_IOC_ENABLE
		    : PERF_EVENT_IOC_DISABLE, 0);
	touch(t, t->phase_ms / SETTLE_PART);
	wall_ns = clock_ns(CLOCK_MONOTONIC);
	t->n_bursts = 0;
	processes = processes_ns(t);
	touch(t, t->phase_ms - t->phase_ms / SETTLE_PART);
	processes = processes_ns(t) - processes;
	wall_ns = clock_ns(CLOCK_MONOTONIC) - wall_ns;
	return (struct used){middle_percent(t),
	    100. * (double)processes / (double)wall_ns};
}

static void
in_turn(struct touching *t, long seconds)
{
	for (long i = 0; i < seconds * 1000 / (2 * t->phase_ms); i++) {
		struct used u[2];

		u[i % 2] = phase(t, i % 2);
		u[!(i % 2)] = phase(t, !(i % 2));
		printf("%.4f %.4f %.4f %.4f\n", u[0].program, u[1].program,
		    u[0].profiler, u[1].profiler);
	}
}

int
main(int argc, char **argv)
{
	long seconds = argc > 1 ? atol(argv[1]) : 10;
	struct touching t = {
	    .each = (argc > 2 ? atol(argv[2]) : 100000) / 1000,
	    .next_ns = clock_ns(CLOCK_MONOTONIC),
	    .phase_ms = argc > 3 ? atol(argv[3]) : 0,
	    .processes = (const char *const *)argv + 4,
	    .n_processes = argc > 4 ? argc - 4 : 0};
	struct rusage used;

	t.p = mmap(NULL, (size_t)t.each * PAGE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t.p == MAP_FAILED || madvise(t.p, (size_t)t.each * PAGE,
	    MADV_NOHUGEPAGE) != 0)
		return 1;
	if (t.n_processes > 0) {
		if (t.phase_ms <= 0 || !find_events(&t, argv[4]))
			return 1;
		in_turn(&t, seconds);
		return 0;
	}
	touch(&t, seconds * 1000);
	getrusage(RUSAGE_SELF, &used);
	printf("%ld %.6f\n", used.ru_minflt, (double)t.took_ns / 1e9);
	return 0;
}
