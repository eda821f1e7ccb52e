/*
 * BPF programs that come and go: whose an address was, and when.
 */
#include <stdlib.h>
#include <unistd.h>

#include "collector/symbols/programs.h"
#include "collector/symbols/symbols.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

#define A 0xffffffffc0200000

static void
come(struct programs *p, uint64_t start, uint64_t end, const char *name,
    int64_t time_ns)
{
	CHECK(programs_tell(p, &(struct program_told){A + start, A + end, name,
	    time_ns, false}));
}

static void
go(struct programs *p, uint64_t start, uint64_t end, const char *name,
    int64_t time_ns)
{
	CHECK(programs_tell(p, &(struct program_told){A + start, A + end, name,
	    time_ns, true}));
}

static const char *
find(const struct programs *p, uint64_t offset, int64_t time_ns)
{
	const char *name = programs_find(p, A + offset, time_ns);

	return name != NULL ? name : "";
}

TEST(come_and_go)
{
	struct programs p = {0};

	CHECK_STR(find(&p, 0, 10), "");
	come(&p, 0x200, 0x300, "two", 10);
	come(&p, 0x000, 0x100, "one", 20);
	CHECK_STR(find(&p, 0x1ff, 30), "");
	CHECK_STR(find(&p, 0x200, 30), "two");
	CHECK_STR(find(&p, 0x2ff, 30), "two");
	CHECK_STR(find(&p, 0x300, 30), "");
	CHECK_STR(find(&p, 0x200, 9), ""); /* not yet */
	CHECK_STR(find(&p, 0x0ff, 20), "one");
	CHECK_STR(find(&p, 0x100, 20), "");
	go(&p, 0x200, 0x300, "two", 40);
	CHECK_STR(find(&p, 0x200, 41), "two"); /* it is run for a moment */
	programs_forget(&p, 39);
	CHECK_STR(find(&p, 0x200, 35), "two");
	programs_forget(&p, 40);
	CHECK_STR(find(&p, 0x200, 35), "");
	CHECK_STR(find(&p, 0x000, 50), "one");
	CHECK_INT(p.n, 1);
	programs_fini(&p);
}

/* The same place, a part of it and a larger one: each sample is of the program
 * of its time. */
TEST(others_in_the_same_place)
{
	struct programs p = {0};

	come(&p, 0x100, 0x200, "first", 10);
	go(&p, 0x100, 0x200, "first", 20);
	come(&p, 0x100, 0x180, "second", 30);
	go(&p, 0x100, 0x180, "second", 40);
	come(&p, 0x080, 0x400, "third", 50);
	CHECK_STR(find(&p, 0x110, 15), "first");
	CHECK_STR(find(&p, 0x110, 29), "first");
	CHECK_STR(find(&p, 0x110, 35), "second");
	CHECK_STR(find(&p, 0x110, 55), "third");
	CHECK_STR(find(&p, 0x190, 55), "third");
	programs_forget(&p, 40);
	CHECK_STR(find(&p, 0x110, 55), "third");
	CHECK_INT(p.n, 1);
	programs_fini(&p);
}

/* CPUs' records are read one after the other. */
TEST(in_another_order)
{
	struct programs p = {0};

	come(&p, 0x100, 0x200, "first", 10);
	come(&p, 0x100, 0x200, "second", 30);
	go(&p, 0x100, 0x200, "first", 20);
	CHECK_STR(find(&p, 0x110, 15), "first");
	CHECK_STR(find(&p, 0x110, 35), "second");
	programs_forget(&p, 20);
	CHECK_STR(find(&p, 0x110, 35), "second");
	/* One that was there before anything was told. */
	come(&p, 0x800, 0x900, "later", 50);
	go(&p, 0x800, 0x900, "before", 40);
	CHECK_STR(find(&p, 0x810, 39), "before");
	CHECK_STR(find(&p, 0x810, 55), "later");
	programs_fini(&p);
}

/* The kernel tells a page of a trampoline, whatever it takes of it. */
TEST(behind_a_trampoline)
{
	struct programs p = {0};

	come(&p, 0x400, 0x500, "inside", 10);
	come(&p, 0x000, 0x1000, "trampoline", 20);
	CHECK_STR(find(&p, 0x010, 30), "trampoline");
	CHECK_STR(find(&p, 0x410, 30), "inside");
	go(&p, 0x400, 0x500, "inside", 40);
	CHECK_STR(find(&p, 0x410, 41), "inside");
	come(&p, 0x400, 0x600, "next", 50);
	CHECK_STR(find(&p, 0x410, 51), "next");
	programs_fini(&p);
}

/* Random programs of one place against a list of what was where. */
TEST(like_a_list)
{
	enum { PLACES = 64, TIMES = 4000 };
	static int was[TIMES + 1][PLACES];
	struct programs p = {0};
	int start = 0, end = 0, now = 0;
	char name[16];

	srand(7);
	for (int t = 1; t <= TIMES; t++) {
		bool comes = now == 0;

		if (rand() % 4 == 0) {
			if (comes) {
				start = rand() % PLACES;
				end = start + 1 + rand() % (PLACES - start);
				now = t;
			}
			snprintf(name, sizeof(name), "%d", now);
			(comes ? come : go)(&p, (uint64_t)start,
			    (uint64_t)end, name, t);
			now = comes ? now : 0;
		}
		for (int i = start; i < end && now != 0; i++)
			was[t][i] = now;
	}
	for (int t = 1; t <= TIMES; t++)
		for (int i = 0; i < PLACES; i++)
			if (was[t][i] != 0)
				CHECK_INT(atoi(find(&p, (uint64_t)i, t)),
				    was[t][i]);
	programs_fini(&p);
}

TEST(nonsense_is_refused)
{
	struct programs p = {0};

	CHECK(!programs_tell(&p, &(struct program_told){A, A, "none", 1,
	    false}));
	CHECK(!programs_tell(&p, &(struct program_told){A, A - 1, "less", 1,
	    true}));
	CHECK_INT(p.n, 0);
	programs_fini(&p);
}

/* ---- beside kallsyms ---- */

static void
append(int fd, const char *text)
{
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

static const char *
named(struct symbols *s, uint64_t offset, int64_t time_ns)
{
	struct frame f = symbols_get(s, symbols_kernel(s, A + offset,
	    time_ns));

	CHECK(f.kind == FRAME_BPF || strcmp(f.name, "[kernel]") == 0);
	CHECK_STR(f.module, f.kind == FRAME_BPF ? "[bpf]" : "[kernel]");
	return f.name;
}

/* From the moment in which it is told on, and as one that was in the file. */
TEST(told_beside_the_file)
{
	char path[] = "/tmp/test_programs.XXXXXX";
	int fd = mkstemp(path);
	struct symbols *s;

	append(fd, "ffffffff81000000 T _stext\n"
	    "ffffffffc0200000 t bpf_prog_1_first\t[bpf]\n");
	CHECK_OK(symbols_new(&s, path, NULL));
	CHECK_STR(named(s, 0x810, 5), "bpf_prog_1_first"); /* for all we know */
	symbols_program(s, &(struct program_told){A + 0x800, A + 0x900,
	    "bpf_prog_2_then", 10, false});
	CHECK_STR(named(s, 0x810, 15), "bpf_prog_2_then");
	CHECK_STR(named(s, 0x010, 15), "bpf_prog_1_first");
	symbols_program(s, &(struct program_told){A, A + 0x100,
	    "bpf_prog_1_first", 20, true});
	symbols_program(s, &(struct program_told){A, A + 0x200,
	    "bpf_prog_3_other", 30, false});
	CHECK_STR(named(s, 0x010, 15), "bpf_prog_1_first");
	CHECK_STR(named(s, 0x010, 35), "bpf_prog_3_other");
	CHECK_STR(symbols_get(s, symbols_kernel(s, 0xffffffff81000010, 35)).
	    name, "_stext");
	symbols_trim(s, 40);
	symbols_trim(s, 50);
	CHECK_STR(named(s, 0x010, 55), "bpf_prog_3_other");
	symbols_free(s);
	close(fd);
	unlink(path);
}

/* Where records may be missing the file is read anew, however seldom that had
 * become; what had been told before is in it, if it is there still. */
TEST(missed)
{
	char path[] = "/tmp/test_programs.XXXXXX";
	int fd = mkstemp(path);
	int64_t now_ns = clock_mono_ns();
	struct symbols *s;

	append(fd, "ffffffff81000000 T _stext\n");
	CHECK_OK(symbols_new(&s, path, NULL));
	for (int i = 0; i < 12; i++) { /* to once an hour */
		CHECK_STR(named(s, 0x10, now_ns), "[kernel]");
		now_ns += 3601 * NS_PER_S;
		symbols_trim(s, now_ns);
	}
	symbols_program(s, &(struct program_told){A, A + 0x100,
	    "bpf_prog_1_gone", now_ns, false});
	append(fd, "ffffffffc0200000 t bpf_prog_2_new\t[bpf]\n");
	symbols_trim(s, now_ns + 59 * NS_PER_S);
	CHECK_STR(named(s, 0x10, now_ns + 1), "bpf_prog_1_gone");
	symbols_programs_missed(s);
	symbols_trim(s, now_ns + 59 * NS_PER_S);
	CHECK_STR(named(s, 0x10, now_ns + 1), "bpf_prog_1_gone");
	symbols_trim(s, now_ns + 61 * NS_PER_S);
	CHECK_STR(named(s, 0x10, now_ns + 61 * NS_PER_S), "bpf_prog_2_new");
	symbols_free(s);
	close(fd);
	unlink(path);
}

int
main(void)
{
	RUN(come_and_go);
	RUN(others_in_the_same_place);
	RUN(in_another_order);
	RUN(behind_a_trampoline);
	RUN(like_a_list);
	RUN(nonsense_is_refused);
	RUN(told_beside_the_file);
	RUN(missed);
	return test_done();
}
