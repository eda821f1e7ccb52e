/*
 * Inlined functions, from this very program's debug information, and what is
 * no such file.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/symbols/inlines.h"
#include "tests/unit/test.h"

int outer_function(int n);

static volatile int sink;

enum { LINE_OF_INNERMOST = __LINE__ + 2 };
__attribute__((always_inline)) static inline void
innermost(int n)
{
	sink += n;
	__asm__ volatile(".globl place_of_innermost\n"
	    "place_of_innermost: nop");
	sink ^= n;
}

__attribute__((always_inline)) static inline void
between(int n)
{
	innermost(n * 3);
}

enum { LINE_OF_OUTER = __LINE__ + 2 };
__attribute__((noinline)) int
outer_function(int n)
{
	between(n + 1);
	return sink;
}

extern const char place_of_innermost[];
extern const char __ehdr_start[]; /* the program's first byte, by the linker */

static bool
file_read(void *arg, uint64_t at, void *p, size_t n)
{
	return pread(*(int *)arg, p, n, (off_t)at) == (ssize_t)n;
}

/* "file:line" in this file; the line, 0 for another text. */
static int
line_of(const char *place)
{
	const char *file = strstr(place, "test_inlines.c:");

	return file == NULL ? 0 : atoi(file + strlen("test_inlines.c:"));
}

TEST(own_program)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct inlines_name names[WIRE_INLINED_MAX];
	char place[WIRE_PLACE_MAX + 1];
	struct elf_input in = {file_read, &fd, 0};
	uint64_t vaddr = (uint64_t)(place_of_innermost - __ehdr_start);
	struct inlines *l;
	struct stat st;
	size_t n;

	CHECK(outer_function(1) != 12345678);
	CHECK(fstat(fd, &st) == 0);
	in.size = (uint64_t)st.st_size;
	l = inlines_open(&in, NULL);
	CHECK(l != NULL);
	if (l == NULL)
		return;
	n = inlines_find(l, vaddr, place, names, WIRE_INLINED_MAX);
	CHECK_INT(n, 2);
	if (n == 2) {
		CHECK_STR(names[0].text, "between");
		CHECK_STR(names[1].text, "innermost");
		CHECK_INT(line_of(names[1].place), LINE_OF_INNERMOST);
	}
	CHECK_INT(line_of(place), LINE_OF_OUTER);
	/* Of too many the innermost. */
	CHECK_INT(inlines_find(l, vaddr, place, names, 1), 1);
	CHECK_STR(names[0].text, "innermost");
	CHECK_INT(inlines_find(l, UINT64_MAX, place, names,
	    WIRE_INLINED_MAX), 0);
	CHECK_STR(place, "");
	inlines_close(l);
	close(fd);
}

static bool
bytes_read(void *arg, uint64_t at, void *p, size_t n)
{
	memcpy(p, (char *)arg + at, n);
	return true;
}

TEST(other_files)
{
	char junk[300] = "\x7f" "ELF\x02\x01\x01";
	struct elf_input in = {bytes_read, junk, 0};

	for (; in.size < sizeof(junk); in.size += 7)
		CHECK(inlines_open(&in, NULL) == NULL);
	in.size = (uint64_t)INLINES_BYTES_MAX + 1;
	CHECK(inlines_open(&in, NULL) == NULL);
}

int
main(void)
{
	RUN(own_program);
	RUN(other_files);
	return test_done();
}
