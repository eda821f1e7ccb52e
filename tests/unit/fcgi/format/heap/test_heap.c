/*
 * Heap dumps: the grammars, the scaling of samples, places in modules,
 * hidden frames, whole numbers, and what is refused.
 */
#include <math.h>
#include <stdlib.h>

#include "fcgi/format/heap/heap.h"
#include "fcgi/format/stacks.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

#define MAP "55a000001000-55a000002000 r-xp 00001000 fe:00 7   /opt/db\n"

static const char dump[] =
    "heap_v2/4096\n"
    "  t*: 3: 300 [0: 0]\n"
    "  t0: 3: 300 [0: 0] main thread\n"
    "@ 0x55a000001010 0x55a000001021\n"
    "  t*: 2: 200 [0: 0]\n"
    "  t0: 2: 200 [0: 0]\n"
    "@ 0x55a000001010 0x55a000001031\n"
    "  t*: 1: 8192 [4: 400]\n"
    "\n"
    "MAPPED_LIBRARIES:\n"
    "55a000000000-55a000001000 r--p 00000000 fe:00 7   /opt/db\n" MAP;

static const struct err *
read_text(struct heap *h, const char *text, double sign)
{
	return heap_read(h, text, strlen(text), sign);
}

static char *
folded(struct heap *h, enum heap_type type)
{
	struct buf out = {0};

	CHECK_OK(heap_folded(h, type, &out));
	buf_put_u8(&out, '\0');
	return (char *)out.data;
}

/* The folded text of a dump with modules and offsets. */
static char *
folded_of(const char *text, enum heap_type type)
{
	struct heap h = {0};
	char *s;

	CHECK_OK(read_text(&h, text, 1));
	CHECK(heap_name_rest(&h) && heap_hide_allocator(&h));
	s = folded(&h, type);
	heap_fini(&h);
	return s;
}

TEST(a_dump_is_read)
{
	struct heap h = {0};

	CHECK(heap_looks(dump, sizeof(dump) - 1));
	CHECK(!heap_looks_gperftools(dump, sizeof(dump) - 1));
	CHECK_OK(read_text(&h, dump, 1));
	CHECK_INT(h.n_stacks, 2);
	CHECK_INT(h.n_modules, 1);
	CHECK_INT(h.n_addresses, 3);
	CHECK_INT(h.addresses[0].offset, 0x1010);
	/* the call, not where it returns to */
	CHECK_INT(h.addresses[1].offset, 0x1020);
	CHECK_INT(h.unknown_lines, 0);
	heap_fini(&h);
}

/* jeprof's AdjustSamples, with its own figures. */
TEST(samples_are_scaled)
{
	struct heap h = {0};
	double f = 1 / (1 - exp(-100. / 4096));

	CHECK_OK(read_text(&h, dump, 1));
	CHECK(h.stacks[0].value[HEAP_INUSE_OBJECTS] == 2 * f);
	CHECK(h.stacks[0].value[HEAP_INUSE_SPACE] == 200 * f);
	CHECK(h.stacks[0].value[HEAP_ALLOC_SPACE] == 0);
	f = 1 / (1 - exp(-8192. / 4096));
	CHECK(h.stacks[1].value[HEAP_INUSE_SPACE] == 8192 * f);
	f = 1 / (1 - exp(-100. / 4096));
	CHECK(h.stacks[1].value[HEAP_ALLOC_OBJECTS] == 4 * f);
	heap_fini(&h);
}

TEST(names_are_modules_and_offsets)
{
	char *s = folded_of(dump, HEAP_INUSE_OBJECTS);

	CHECK_STR(s, "db+0x1020;db+0x1010 82\n"
	             "db+0x1030;db+0x1010 2\n");
	free(s);
}

/* Sampled in the calloc of the dynamic linker, once in some runs. */
TEST(an_inlined_allocator_hides_its_caller)
{
	struct frame frames[] = {{FRAME_NATIVE, "allocate_dtv", "ld.so", "", 0},
	    {FRAME_NATIVE, "calloc", "ld.so", "", 0}};
	struct heap h = {0};
	char *s;

	CHECK_OK(read_text(&h, dump, 1));
	CHECK(heap_name(&h, 0, frames, 2));
	CHECK(heap_name_rest(&h) && heap_hide_allocator(&h));
	s = folded(&h, HEAP_INUSE_OBJECTS);
	CHECK_STR(s, "db+0x1020 82\ndb+0x1030 2\n");
	free(s);
	heap_fini(&h);
}

/* Loaded elsewhere, the same code has the same places. */
TEST(a_base_is_taken_away)
{
	struct heap h = {0};
	char *s;

	CHECK_OK(read_text(&h, dump, 1));
	CHECK_OK(read_text(&h,
	    "heap_v2/4096\n@ 0x7f0000000010 0x7f0000000021\n"
	    "t*: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n"
	    "7f0000000000-7f0000001000 r-xp 00001000 fe:00 7 /opt/db\n",
	    -1));
	CHECK_INT(h.n_stacks, 2);
	CHECK(heap_name_rest(&h));
	s = folded(&h, HEAP_INUSE_OBJECTS);
	CHECK_STR(s, "db+0x1020;db+0x1010 41\n"
	             "db+0x1030;db+0x1010 1\n");
	free(s);
	heap_fini(&h);
}

/* Parts are whole, and add up to the total rounded down. */
TEST(whole_numbers_keep_the_total)
{
	struct stacks *s = stacks_new(&stacks_limits_file);
	struct heap h = {0};
	struct buf text = {0};
	double total = 0;
	int64_t sum = 0;

	buf_printf(&text, "heap_v2/524288\n");
	for (unsigned i = 1; i < 1000; i++)
		buf_printf(&text, "@ 0x%x 0x1001\n t*: %u: %u [0: 0]\n", i,
		    i % 7 + 1, (i % 7 + 1) * (i * 13 % 4000 + 8));
	CHECK_OK(heap_read(&h, text.data, text.len, 1));
	CHECK(heap_name_rest(&h));
	for (uint32_t i = 0; i < h.n_stacks; i++)
		total += h.stacks[i].value[HEAP_INUSE_SPACE];
	CHECK_OK(heap_put(&h, s));
	for (uint32_t i = 0; i < stacks_n_nodes(s); i++)
		sum += stacks_value(s, i, 0);
	CHECK_INT(sum, (int64_t)total);
	CHECK_INT(stacks_n_types(s), 2);
	stacks_free(s);
	buf_fini(&text);
	heap_fini(&h);
}

#define SYMBOLS                                                                \
	"--- symbol\nbinary=/opt/db\n"                                         \
	"0x00001010 malloc\n0x1020 thr--small--inl\n0x1031 operator--(int)\n" \
	"---\n--- heap\n"

TEST(a_dump_brings_its_symbols)
{
	char *s = folded_of(SYMBOLS "heap_v2/4096\n"
	    "@ 0x1010 0x1021\n t*: 1: 8192 [0: 0]\n"
	    "@ 0x1010 0x1032\n t*: 1: 8192 [0: 0]\n", HEAP_INUSE_OBJECTS);

	CHECK_STR(s, "thr;small_[i];inl_[i] 1\noperator--(int) 1\n");
	free(s);
	/* ClickHouse's are by where calls return to */
	s = folded_of("--- symbol\n0x1021 caller\n---\n--- heap\n"
	    "heap_v2/4096\n@ 0x1 0x1021\n t*: 1: 9999999 [0: 0]\n",
	    HEAP_INUSE_OBJECTS);
	CHECK_STR(s, "caller;0x1 1\n");
	free(s);
}

static void
check_hidden(const char *name, bool hidden)
{
	char text[512], *s;

	snprintf(text, sizeof(text),
	    "--- symbol\n0x10 inner\n0x20 %s\n0x30 user\n---\n--- heap\n"
	    "heap_v2/4096\n@ 0x10 0x21 0x31\n t*: 1: 9999999 [0: 0]\n", name);
	s = folded_of(text, HEAP_INUSE_OBJECTS);
	if ((strcmp(s, "user 1\n") == 0) != hidden)
		printf("# %s\n", s);
	CHECK((strcmp(s, "user 1\n") == 0) == hidden);
	free(s);
}

/* All up to the last function of the list, as jeprof takes it. */
TEST(the_allocator_is_hidden)
{
	static const char *const hidden[] = {"malloc", "_malloc",
	    "operator new(unsigned long)",
	    "operator new[](unsigned long, std::nothrow_t const&)",
	    "void* newImpl<false>(unsigned long)", "tcmalloc::Big(int)",
	    "TCMalloc_Thing", "posix_memalign", "je_malloc_default",
	    "xallocx", "::do_malloc", "malloc@@GLIBC_2.2.5"};
	static const char *const shown[] = {"my_malloc", "mallocate",
	    "operator delete(void*)", "pool::malloc(int)", "main"};
	struct heap h = {0};
	char *s;

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		check_hidden(hidden[i], true);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		check_hidden(shown[i], false);
	/* by the library, where there are no symbols */
	s = folded_of("heap_v2/4096\n@ 0x1010 0x55a000001021\n"
	    "t*: 1: 9999999 [0: 0]\nMAPPED_LIBRARIES:\n" MAP
	    "1000-2000 r-xp 0 0:0 1 /lib/libjemalloc.so.2\n",
	    HEAP_INUSE_OBJECTS);
	CHECK_STR(s, "db+0x1020 1\n");
	free(s);
	/* but a function there that is no allocator's has asked for it */
	s = folded_of("--- symbol\n0x1010 GetHeapProfile\n"
	    "0x1020 HeapProfilerDump\n---\n--- heap\n"
	    "heap profile: 1: 1048576 [1: 1048576] @ heapprofile\n"
	    "1: 1048576 [1: 1048576] @ 0x1010 0x1041 0x1021 0x55a000001021\n"
	    "MAPPED_LIBRARIES:\n" MAP
	    "1000-2000 r-xp 0 0:0 1 /lib/libtcmalloc.so.4\n",
	    HEAP_INUSE_OBJECTS);
	CHECK_STR(s, "db+0x1020;HeapProfilerDump;libtcmalloc.so.4+0x40;"
	    "GetHeapProfile 1\n");
	free(s);
	/* or kept */
	CHECK_OK(read_text(&h, SYMBOLS "heap_v2/4096\n@ 0x1010 0x1032\n"
	    " t*: 1: 8192 [0: 0]\n", 1));
	s = folded(&h, HEAP_INUSE_OBJECTS);
	CHECK_STR(s, "operator--(int);malloc 1\n");
	free(s);
	heap_fini(&h);
}

static void
check_gperftools(const char *header, double objects, double bytes)
{
	struct heap h = {0};
	char text[512];

	snprintf(text, sizeof(text), "heap profile: %s\n"
	    "  2: 200 [ 4: 400] @ 0x10 0x21\n\n--- Memory map:\n"
	    "  build=/x\n1000-2000: /lib/ld.so\n", header);
	CHECK(heap_looks_gperftools(text, strlen(text)));
	CHECK(!heap_looks(text, strlen(text)));
	CHECK_OK(read_text(&h, text, 1));
	CHECK_INT(h.n_stacks, 1);
	CHECK(fabs(h.stacks[0].value[HEAP_INUSE_OBJECTS] - objects) < 1e-9);
	CHECK(fabs(h.stacks[0].value[HEAP_INUSE_SPACE] - bytes) < 1e-9);
	CHECK_INT(h.n_modules, 1);
	heap_fini(&h);
}

/* tcmalloc's sample of what is in use says its counts twice. */
TEST(what_was_allocated_is_not_made_up)
{
	static const struct {
		const char *header;
		double allocated; /* at least; of the one stack */
	} cases[] = {{"2: 200 [2: 200] @ heap_v2/4096", 0},
	    {"2: 200 [4: 400] @ heap_v2/4096", 400},
	    {"2: 200 [2: 200] @ heap/8192", 0},
	    {"2: 200 [2: 200] @ heapprofile", 400}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct heap h = {0};
		char text[256];
		double v;

		snprintf(text, sizeof(text), "heap profile: %s\n"
		    "  2: 200 [ 4: 400] @ 0x10 0x21\n\n"
		    "MAPPED_LIBRARIES:\n", cases[i].header);
		CHECK_OK(read_text(&h, text, 1));
		v = h.stacks[0].value[HEAP_ALLOC_SPACE];
		CHECK(cases[i].allocated > 0 ? v >= cases[i].allocated
		    : v == 0);
		CHECK(h.stacks[0].value[HEAP_INUSE_SPACE] >= 200);
		heap_fini(&h);
	}
}

/* Another file under one path has other code. */
TEST(a_file_that_was_replaced_is_another_module)
{
	static const char text[] = "heap_v2/1\n t*: 2: 2 [0: 0]\n"
	    "@ 0x1010 0x3021 0x5021\n t*: 1: 1 [0: 0]\n\nMAPPED_LIBRARIES:\n"
	    "1000-2000 r-xp 00000000 fe:00 77   /usr/bin/db (deleted)\n"
	    "3000-4000 r-xp 00000000 fe:00 78   /usr/bin/db\n"
	    "5000-6000 r-xp 00001000 fe:00 78   /usr/bin/db\n";
	struct heap h = {0};

	CHECK_OK(read_text(&h, text, 1));
	CHECK_INT(h.n_modules, 2);
	CHECK_INT(h.modules[0].inode, 77);
	CHECK(h.modules[0].gone);
	CHECK_INT(h.modules[1].inode, 78);
	CHECK(!h.modules[1].gone);
	for (int i = 0; i < 2; i++)
		CHECK_STR(intern_str(&h.strings, h.modules[i].path),
		    "/usr/bin/db");
	heap_fini(&h);
}

TEST(gperftools_samples_in_four_ways)
{
	double f = 1 / (1 - exp(-100. / 4096));

	check_gperftools("2: 200 [4: 400] @ heap_v2/4096", 2 * f, 200 * f);
	/* of version 1 the number is twice the distance */
	check_gperftools("2: 200 [4: 400] @ heap/400", 4, 400);
	check_gperftools("2: 200 [4: 400] @ heap/100", 2, 200);
	check_gperftools("2: 200 [4: 400] @ heapprofile", 2, 200);
	check_gperftools("2: 200 [4: 400] @ growth", 2, 200);
	check_gperftools("2: 200 [4: 400]", 2, 200);
	check_gperftools("2: 200 [2: 200]", 2 * 1310.72, 200 * 1310.72);
	check_gperftools("2: 200 [4: 400] @ heap", 2 * 1310.72, 262144);
}

TEST(text_is_jeprofs)
{
	struct heap h = {0};
	struct buf out = {0};

	CHECK_OK(read_text(&h, "--- symbol\n0x10 leaf\n0x20 a\n0x30 main\n"
	    "---\n--- heap\nheap_v2/1\n"
	    "@ 0x10 0x21 0x21 0x31\nt*: 2: 2097152 [0: 0]\n"
	    "@ 0x20 0x31\nt*: 1: 1048576 [0: 0]\n", 1));
	CHECK_OK(heap_text(&h, HEAP_INUSE_SPACE, false, false, &out));
	buf_put_u8(&out, '\0');
	CHECK_STR((char *)out.data, "Total: 3.0 MB\n"
	    "     2.0  66.7%  66.7%      2.0  66.7% leaf\n"
	    "     1.0  33.3% 100.0%      3.0 100.0% a\n"
	    "     0.0   0.0% 100.0%      3.0 100.0% main\n");
	buf_fini(&out);
	CHECK_OK(heap_text(&h, HEAP_INUSE_OBJECTS, false, true, &out));
	buf_put_u8(&out, '\0');
	CHECK_STR((char *)out.data, "Total: 3 objects\n"
	    "       1  33.3%  33.3%        3 100.0% a\n"
	    "       0   0.0%  33.3%        3 100.0% main\n"
	    "       2  66.7% 100.0%        2  66.7% leaf\n");
	buf_fini(&out);
	heap_fini(&h);
}

/* What printf() makes of a share, halves and what only looks like one. */
TEST(shares_are_rounded_as_printf_does)
{
	static const unsigned parts[] = {1, 3, 5, 7, 49, 51, 1400, 399, 2, 83};
	const size_t n = sizeof(parts) / sizeof(parts[0]);
	struct buf text = {0}, out = {0};
	struct heap h = {0};

	buf_printf(&text, "heap profile: 10: 2000 [10: 2000] @ heapprofile\n");
	for (size_t i = 0; i < n; i++)
		buf_printf(&text, "1: %u [1: %u] @ 0x%zx\n", parts[i],
		    parts[i], 0x1000 + i);
	CHECK_OK(heap_read(&h, text.data, text.len, 1));
	CHECK(heap_name_rest(&h));
	CHECK_OK(heap_text(&h, HEAP_INUSE_SPACE, true, false, &out));
	buf_put_u8(&out, '\0');
	for (size_t i = 0; i < n; i++) {
		char share[32], want[64];

		snprintf(share, sizeof(share), "%.1f%%",
		    (double)parts[i] * 100 / 2000);
		snprintf(want, sizeof(want), "\n%8u %6s ", parts[i], share);
		CHECK(strstr((char *)out.data, want) != NULL);
	}
	buf_fini(&text);
	buf_fini(&out);
	heap_fini(&h);
}

TEST(what_is_wrong_says_where)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
	    {"", "line 0: heap_v2/ or heap profile: expected"},
	    {"hello\n", "line 1: heap_v2/ or heap profile: expected"},
	    {"heap_v2/x\n", "line 1: heap_v2/ and a number expected"},
	    {"heap_v2/99999999999999999999\n",
	        "line 1: heap_v2/ and a number expected"},
	    {"heap_v2/1\n@ 0x1 zz\n", "line 2: an address expected"},
	    {"heap_v2/1\n@ 0x12345678901234567\n",
	        "line 2: an address expected"},
	    {"heap_v2/1\n@ 0x1\nt*: 1: 2 [3: 4\n",
	        "line 3: n: b [n: b] expected"},
	    {"heap_v2/1\n@ 0x1\nt*: -1: 2 [3: 4]\n",
	        "line 3: n: b [n: b] expected"},
	    {"heap_v2/1\n@ 0x1\nt*: nan: 2 [3: 4]\n",
	        "line 3: n: b [n: b] expected"},
	    {"heap_v2/9223372036854775808\n@ 0x1\nt*: 18446744073709551615: "
	     "18446744073709551615 [0: 0]\n",
	        "line 3: more than 2^62 of something"},
	    {"heap profile: 1: 1 [1: 1]\n1: 2 [1: 1] 0x1\n",
	        "line 2: n: b [n: b] @ addresses expected"},
	    {"--- symbol\n0xxyz a\n---\n", "line 2: an address expected"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct heap h = {0};
		const struct err *e = read_text(&h, bad[i].text, 1);

		CHECK_STR(e == NULL ? "fine" : e->text, bad[i].why);
		CHECK(e == NULL || (e->domain == ERR_REQUEST &&
		    e->code == 422));
		heap_fini(&h);
	}
}

/* Numbers that add up to more than a sum can hold, and a stack that is
 * deeper than what is taken. */
TEST(bombs_are_refused)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	struct buf text = {0};
	const struct err *e;

	buf_printf(&text, "heap_v2/0\n");
	for (unsigned i = 1; i < 9; i++)
		buf_printf(&text, "@ 0x%x\nt*: 1: 4000000000000000000 "
		    "[0: 0]\n", i);
	e = heap_parse(s, text.data, text.len);
	CHECK(e != NULL && e->code == 413);
	stacks_free(s);
	s = stacks_new(&stacks_limits_push);
	buf_clear(&text);
	buf_printf(&text, "heap_v2/0\n@");
	for (unsigned i = 0; i < 100000; i++)
		buf_printf(&text, " 1");
	buf_printf(&text, "\nt*: 1: 1 [0: 0]\n");
	e = heap_parse(s, text.data, text.len);
	CHECK(e != NULL && e->code == 413);
	stacks_free(s);
	s = stacks_new(&stacks_limits_push);
	buf_clear(&text);
	buf_printf(&text, "heap_v2/0\n");
	for (unsigned i = 0; i <= HEAP_ADDRESSES_PUSH; i++)
		buf_printf(&text, "@ %x\n", i);
	e = heap_parse(s, text.data, text.len);
	CHECK(e != NULL && e->code == 413 && strstr(e->text, "addresses"));
	stacks_free(s);
	buf_fini(&text);
}

int
main(void)
{
	RUN(a_dump_is_read);
	RUN(samples_are_scaled);
	RUN(names_are_modules_and_offsets);
	RUN(an_inlined_allocator_hides_its_caller);
	RUN(a_base_is_taken_away);
	RUN(whole_numbers_keep_the_total);
	RUN(a_dump_brings_its_symbols);
	RUN(the_allocator_is_hidden);
	RUN(what_was_allocated_is_not_made_up);
	RUN(a_file_that_was_replaced_is_another_module);
	RUN(gperftools_samples_in_four_ways);
	RUN(text_is_jeprofs);
	RUN(shares_are_rounded_as_printf_does);
	RUN(what_is_wrong_says_where);
	RUN(bombs_are_refused);
	return test_done();
}
