/*
 * The step of the stack walker on the test's own stack, by the rows of its
 * files, against libgcc's unwinder.
 */
#include <execinfo.h>
#include <fcntl.h>
#include <linux/types.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#undef MAPPING_FILE /* words of sys/mman.h, and of maps.h */
#undef MAPPING_ANONYMOUS
#include "collector/maps/maps.h"
#include "collector/symbols/unwind_read.h"
#include "collector/unwind/unwind_rows.h"
#include "tests/unit/collector/unwind/walker_maps.h"
#include "tests/unit/test.h"

static bool
file_read(void *arg, uint64_t at, void *p, size_t n)
{
	return pread(*(int *)arg, p, n, (off_t)at) == (ssize_t)n;
}

/* What holds at the offset, 0 when nothing is known of it. */
static const struct unwind_row *
naive_row(const struct ehframe_rows *r, uint32_t offset)
{
	size_t low = 0, high = r->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (r->rows[mid].pc <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low > 0 && r->rows[low - 1].kind != UNWIND_NONE ?
	    &r->rows[low - 1] : NULL;
}

/* A region's rows are those of the whole file there. */
static void
compare_region(const struct unwind_file *part, uint32_t at,
    const struct ehframe_rows *all)
{
	const struct unwind_code *c = &part->code;
	uint32_t size = 1u << c->shift, low = c->base + at * size, pc;
	const struct unwind_row *a, *b;

	for (pc = low; pc - low < size && test_bad < 3; pc++) {
		a = naive_row(&part->rows, pc);
		b = naive_row(all, pc);
		CHECK((a == NULL) == (b == NULL));
		if (a != NULL && b != NULL)
			CHECK(a->kind == b->kind && a->cfa == b->cfa &&
			    a->bp == b->bp);
	}
}

/* The rows of an open file into table t, by regions. */
static uint32_t
load_file(uint32_t t, int fd, uint32_t first)
{
	struct stat st;
	struct elf_input in = {.read = file_read, .arg = &fd};
	struct unwind_file all, f;
	uint32_t at;

	fstat(fd, &st);
	in.size = (uint64_t)st.st_size;
	CHECK_INT(unwind_read(&in, UNWIND_READ_ALL, CELLS, &all), ELF_OK);
	set_code(t, all.code);
	for (at = 0; at < all.code.n; at++) {
		CHECK_INT(unwind_read(&in, all.code.base + (at <<
		    all.code.shift) + 1, UNWIND_ROWS_MAX, &f), ELF_OK);
		CHECK(memcmp(&f.code, &all.code, sizeof(f.code)) == 0);
		if (all.code.n > 1)
			compare_region(&f, at, &all.rows);
		first = load_region(t, at, f.rows.rows, f.rows.n, first);
		free(f.rows.rows);
	}
	free(all.rows.rows);
	return first;
}

/* Our own mappings as the walker's. */
static uint32_t
load_self(void)
{
	static char text[1 << 18];
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct maps_list l;
	size_t n = 0, i;
	ssize_t got;
	uint32_t first = 0;

	while ((got = read(fd, text + n, sizeof(text) - n)) > 0)
		n += (size_t)got;
	close(fd);
	CHECK(maps_parse(text, n, &l) == NULL && l.n <= MAPPINGS);
	for (i = 0; i < l.n; i++) {
		const struct mapping *m = &l.mappings[i];

		mappings[i] = (struct unwind_mapping){m->start,
		    m->start - m->offset,
		    (__u32)((m->end - m->start) >> 12), UNWIND_NO_TABLE};
		if (m->kind != MAPPING_FILE)
			continue;
		fd = open(maps_name(&l, m), O_RDONLY | O_CLOEXEC);
		mappings[i].table = (__u32)i;
		first = load_file((uint32_t)i, fd, first);
		close(fd);
	}
	n = l.n;
	maps_list_fini(&l);
	return (uint32_t)n;
}

static __u64 walked[64];
static void *expected[64];
static int n_walked, n_expected;
static uint32_t n_mappings;

static void
on_signal(int sig)
{
	struct unwind_state s = {.n = n_mappings};
	ucontext_t uc;

	(void)sig;
	getcontext(&uc);
	s.ip = (__u64)uc.uc_mcontext.gregs[REG_RIP];
	s.sp = (__u64)uc.uc_mcontext.gregs[REG_RSP];
	s.bp = (__u64)uc.uc_mcontext.gregs[REG_RBP];
	n_walked = 0;
	do
		walked[n_walked++] = s.ip;
	while (n_walked < 64 && unwind_step(&s) == 0);
	n_expected = backtrace(expected, 64);
	CHECK_INT(s.error, BROKEN_NOT);
}

/* Frames of several shapes: plain, with a large array, of variable size,
 * called back by the C library. */
static volatile int sink;

static int
compare_and_raise(const void *a, const void *b)
{
	if (n_walked == 0)
		raise(SIGUSR1);
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) void
deep(int depth, size_t size)
{
	volatile char *p = __builtin_alloca(size);
	int numbers[2] = {depth, 1};

	p[0] = 1;
	if (depth > 0)
		deep(depth - 1, size + 40);
	else
		qsort(numbers, 2, sizeof(numbers[0]), compare_and_raise);
	sink += p[0];
}

TEST(own_stack_against_libgcc)
{
	int i;

	n_regions = 0;
	backtrace(expected, 1); /* loads libgcc, whose mapping is new */
	n_mappings = load_self();
	own_memory = true;
	signal(SIGUSR1, on_signal);
	n_walked = 0;
	deep(12, 100);
	own_memory = false;
	CHECK(n_walked > 18);
	CHECK(n_walked <= n_expected);
	/* From the root on; the leaves differ, and a sanitizer has one more. */
	for (i = 1; i < n_walked; i++)
		CHECK_INT(walked[n_walked - i],
		    (uintptr_t)expected[n_expected - i]);
}

int
main(void)
{
	RUN(own_stack_against_libgcc);
	return test_done();
}
