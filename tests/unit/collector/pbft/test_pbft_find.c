/*
 * Where the functions of PBFT are in a program: this one has them.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/pbft/pbft_find.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

void stats_record(void *stats, void *state)
    __asm__("_ZN5resdb5Stats15RecordStateTimeENSt7__cxx1112basic_stringIcSt"
    "11char_traitsIcESaIcEEE");
void stats_summary(void *stats) __asm__("_ZN5resdb5Stats11SendSummaryEv");
static volatile int calls;

__attribute__((noinline)) void
stats_record(void *stats, void *state)
{
	calls += stats != state;
}

__attribute__((noinline)) void
stats_summary(void *stats)
{
	calls += stats != NULL;
}

static struct pbft_found
find(const char *path)
{
	struct pbft_found found;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	pbft_find_in(fd, (uint64_t)st.st_size, &found);
	close(fd);
	return found;
}

/* The same bytes as in memory: the offset is that of the function. */
static void
check_is(uint64_t offset, const void *function)
{
	unsigned char bytes[16];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	CHECK(pread(fd, bytes, sizeof(bytes), (off_t)offset) ==
	    (ssize_t)sizeof(bytes));
	CHECK(memcmp(bytes, function, sizeof(bytes)) == 0);
	close(fd);
}

TEST(both_are_found)
{
	struct pbft_found found = find("/proc/self/exe");

	CHECK_STR(found.why, "");
	check_is(found.offsets[PBFT_RECORD],
	    (const void *)(uintptr_t)stats_record);
	check_is(found.offsets[PBFT_SUMMARY],
	    (const void *)(uintptr_t)stats_summary);
	CHECK(found.offsets[PBFT_RECORD] != found.offsets[PBFT_SUMMARY]);
}

TEST(others_are_refused_with_the_reason)
{
	CHECK_STR(find("/bin/true").why, "is stripped: without symbols its "
	    "functions cannot be found");
	CHECK_STR(find("/etc/passwd").why, "cannot be read as an ELF file");
}

TEST(a_child_without_rights_says_the_same)
{
	struct pbft_found found = {{0}, ""}, own = find("/proc/self/exe");
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct pbft_find f = {0};
	const struct err *e = pbft_find_begin(&f, fd);

	CHECK_OK(e);
	while (!pbft_find_end(&f, &found))
		poll(NULL, 0, 10);
	CHECK_STR(found.why, "");
	CHECK(memcmp(found.offsets, own.offsets, sizeof(own.offsets)) == 0);
	CHECK(f.pid == 0);
	close(fd);
}

int
main(void)
{
	RUN(both_are_found);
	RUN(others_are_refused_with_the_reason);
	RUN(a_child_without_rights_says_the_same);
	return test_done();
}
