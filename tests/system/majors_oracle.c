/*
 * Touches each page of a file that is not in memory.
 *
 *	majors_oracle FILE
 *
 * Begins with the first line on its input; says then how many major faults that
 * were, and how long they took at least and at most, in ns:
 *
 *	majors N LEAST MOST
 *
 * At most: as the clock says; at least: without what it ran or waited for a
 * CPU.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/system/thread_clock.h"

static long
majors(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_majflt;
}

int
main(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "", O_RDONLY), schedstat;
	int64_t least, most, before_ns, blocked_ns;
	volatile char sink;
	char *p;
	struct stat st;
	long n = 0, was;
	char line[2];

	if (fd < 0 || fstat(fd, &st) != 0)
		return 2;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
	if (p == MAP_FAILED || read(0, line, 1) != 1)
		return 2;
	madvise(p, (size_t)st.st_size, MADV_RANDOM);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	least = most = 0;
	for (off_t at = 0; at < st.st_size; at += 4096) {
		was = majors();
		blocked_ns = thread_blocked_ns(schedstat);
		before_ns = clock_ns(CLOCK_MONOTONIC);
		sink = *(volatile char *)&p[at];
		if (majors() == was)
			continue;
		n++;
		most += clock_ns(CLOCK_MONOTONIC) - before_ns;
		least += thread_blocked_ns(schedstat) - blocked_ns;
	}
	(void)sink;
	printf("majors %ld %lld %lld\n", n, (long long)least, (long long)most);
	fflush(stdout);
	raise(SIGSTOP);
	return 0;
}
