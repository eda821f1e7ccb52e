/*
 * memory_touch SECONDS RATE: touches RATE pages anew each second, a
 * thousandth of them each millisecond, and gives them back; prints its page
 * faults and the CPU time that they took.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#define PAGE 4096
#define MS INT64_C(1000000)

static int64_t
clock_ns(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (int64_t)t.tv_sec * 1000 * MS + t.tv_nsec;
}

int
main(int argc, char **argv)
{
	long seconds = argc > 1 ? atol(argv[1]) : 10;
	long each = (argc > 2 ? atol(argv[2]) : 100000) / 1000;
	int64_t next_ns = clock_ns(CLOCK_MONOTONIC);
	int64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct rusage used;
	char *p = mmap(NULL, (size_t)each * PAGE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || madvise(p, (size_t)each * PAGE,
	    MADV_NOHUGEPAGE) != 0)
		return 1;
	for (long ms = 0; ms < seconds * 1000; ms++) {
		struct timespec until;

		for (long i = 0; i < each; i++)
			((volatile char *)p)[i * PAGE] = 1;
		madvise(p, (size_t)each * PAGE, MADV_DONTNEED);
		next_ns += MS;
		until = (struct timespec){next_ns / (1000 * MS),
		    next_ns % (1000 * MS)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
	getrusage(RUSAGE_SELF, &used);
	printf("%ld %.6f\n", used.ru_minflt, (double)
	    (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns) / 1e9);
	return 0;
}
