/*
 * Touches memory of each kind, and says how many faults that were.
 *
 *	faults_oracle FILE ROUNDS
 *
 * FILE is one of FILE_BYTES.  Output: "faulted FUNCTION KIND FAULTS"; the last
 * function faults ROUNDS times as much as the first without a break.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define ANONYMOUS_BYTES ((size_t)128 << 20)
#define SHARED_BYTES ((size_t)64 << 20)
#define FILE_BYTES ((size_t)64 << 20)
#define FILE_TIMES 16 /* the kernel maps 16 pages of a file for a fault */

static volatile char sink;

static long
faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_minflt + u.ru_majflt;
}

/* A page at a time. */
static char *
map(size_t bytes, int flags, int fd)
{
	char *p = mmap(NULL, bytes, fd >= 0 ? PROT_READ :
	    PROT_READ | PROT_WRITE, flags, fd, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	madvise(p, bytes, MADV_NOHUGEPAGE);
	return p;
}

__attribute__((noinline)) static void
touches_anonymous(void)
{
	char *p = map(ANONYMOUS_BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	for (size_t i = 0; i < ANONYMOUS_BYTES; i += PAGE)
		p[i] = 1;
	munmap(p, ANONYMOUS_BYTES);
}

__attribute__((noinline)) static void
touches_shared(void)
{
	char *p = map(SHARED_BYTES, MAP_SHARED | MAP_ANONYMOUS, -1);

	for (size_t i = 0; i < SHARED_BYTES; i += PAGE)
		p[i] = 1;
	munmap(p, SHARED_BYTES);
}

static const char *path;

__attribute__((noinline)) static void
touches_file(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	for (int n = 0; n < FILE_TIMES; n++) {
		char *p = map(FILE_BYTES, MAP_PRIVATE, fd);

		for (size_t i = 0; i < FILE_BYTES; i += PAGE)
			sink = p[i];
		munmap(p, FILE_BYTES);
	}
	close(fd);
}

static int rounds;

__attribute__((noinline)) static void
floods(void)
{
	for (int n = 0; n < rounds; n++) {
		char *p = map(ANONYMOUS_BYTES, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1);

		for (size_t i = 0; i < ANONYMOUS_BYTES; i += PAGE)
			p[i] = 1;
		munmap(p, ANONYMOUS_BYTES);
	}
}

/* With time for what is owed before it, and after it. */
static void
say(const char *name, const char *kind, void (*fn)(void))
{
	struct timespec second = {1, 0};
	long before = faults();

	fn();
	printf("faulted %s %s %ld\n", name, kind, faults() - before);
	fflush(stdout);
	nanosleep(&second, NULL);
}

int
main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	path = argv[1];
	rounds = atoi(argv[2]);
	say("touches_anonymous", "anonymous", touches_anonymous);
	say("touches_shared", "shared", touches_shared);
	say("touches_file", "file", touches_file);
	say("floods", "anonymous", floods);
	return 0;
}
