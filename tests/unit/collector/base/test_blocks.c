/*
 * Files read by blocks against the same bytes in memory.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/blocks.h"
#include "tests/unit/test.h"

#define SIZE 300001

static unsigned char bytes[2][SIZE];

/* A file of the first n bytes of what is given. */
static int
file_of(const unsigned char *p, size_t n)
{
	char name[] = "/tmp/test_blocks.XXXXXX";
	int fd = mkstemp(name);

	CHECK(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	unlink(name);
	return fd;
}

static bool
reads(int fd, uint64_t file, size_t at, size_t n, const unsigned char *want)
{
	static unsigned char got[SIZE];

	return blocks_read(fd, file, at, got, n) &&
	    memcmp(got, want + at, n) == 0;
}

TEST(bytes_are_those_of_the_file)
{
	uint64_t files[2] = {blocks_file(), blocks_file()};
	int fds[2] = {file_of(bytes[0], SIZE), file_of(bytes[1], SIZE)};
	int i;

	for (i = 0; i < 200000; i++) {
		size_t which = rand() & 1, at = (size_t)rand() % SIZE;
		size_t most = i % 100 == 0 ? 20000 : 70;
		size_t n = 1 + (size_t)rand() % most;

		n = n < SIZE - at ? n : SIZE - at;
		CHECK(reads(fds[which], files[which], at, n, bytes[which]));
	}
	close(fds[0]);
	close(fds[1]);
}

TEST(nothing_is_behind_a_files_end)
{
	uint64_t file = blocks_file();
	int fd = file_of(bytes[0], 5000);
	char p[8192];

	CHECK(blocks_read(fd, file, 4990, p, 10));
	CHECK(!blocks_read(fd, file, 4990, p, 11));
	CHECK(!blocks_read(fd, file, 5000, p, 1));
	CHECK(!blocks_read(fd, file, 100, p, 8192));
	/* Unless it grows. */
	CHECK(pwrite(fd, bytes[0] + 5000, 5000, 5000) == 5000);
	CHECK(reads(fd, file, 4990, 2000, bytes[0]));
	close(fd);
}

/* A number of a file may come again, and its bytes may change. */
TEST(another_file_has_bytes_of_its_own)
{
	int fd = file_of(bytes[0], 9000);
	uint64_t file = blocks_file();

	CHECK(reads(fd, file, 4000, 500, bytes[0]));
	CHECK(pwrite(fd, bytes[1], 9000, 0) == 9000);
	CHECK(reads(fd, BLOCKS_NONE, 4000, 500, bytes[1]));
	CHECK(reads(fd, blocks_file(), 4000, 500, bytes[1]));
	close(fd);
}

int
main(void)
{
	size_t i;

	for (i = 0; i < SIZE; i++) {
		bytes[0][i] = (unsigned char)rand();
		bytes[1][i] = (unsigned char)rand();
	}
	RUN(bytes_are_those_of_the_file);
	RUN(nothing_is_behind_a_files_end);
	RUN(another_file_has_bytes_of_its_own);
	return test_done();
}
