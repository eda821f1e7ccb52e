/*
 * Walks that lacked rows, taken up again along a copy of the stack when the
 * rows have come.
 */
#include <linux/types.h>
#include <stdlib.h>

#include "collector/unwind/unwind_copy.h"
#include "tests/unit/test.h"

#define CODE 0x400000u
#define SP 0x7000000000u

static struct {
	uint64_t cells[64];
	struct unwind_region regions[2];
	struct unwind_table table;
} k;

static bool
fake_read(void *arg, enum unwind_array which, uint32_t first, void *p,
    size_t n)
{
	(void)arg;
	CHECK_INT(n, 1);
	if (which == UNWIND_ARRAY_TABLES)
		memcpy(p, &k.table, sizeof(k.table));
	else
		memcpy(p, &k.regions[first], sizeof(k.regions[0]));
	return true;
}

static const uint64_t *
fake_cell(void *arg, uint32_t i)
{
	(void)arg;
	return i < sizeof(k.cells) / sizeof(k.cells[0]) ? k.cells + i : NULL;
}

static bool
fake_write(void *arg, enum unwind_array which, uint32_t first, const void *p,
    size_t n)
{
	(void)arg;
	CHECK(which == UNWIND_ARRAY_REGIONS && n == 1);
	memcpy(&k.regions[first], p, sizeof(k.regions[0]));
	return true;
}

static const struct unwind_kernel fake = {.write = fake_write,
    .read = fake_read,
    .cell = fake_cell};

/* Region 0: frames of three words; where handlers of signals return to from
 * 0x400 on; code from 0x700 on that finds its frame by rbx, which its callees
 * save behind their return address; and from 0x800 on where threads begin.
 * Region 1: frames of two words. */
static void
begin(void)
{
	static const struct unwind_row rows[] = {{0, 3, UNWIND_SP, 0},
	    {0x400, 0, UNWIND_SIGNAL, 0}, {0x700, 2, UNWIND_BX, 2},
	    {0x800, 0, UNWIND_STOP, 0},
	    {0x10000, 2, UNWIND_SP, 0}};

	memset(&k, 0, sizeof(k));
	k.table = (struct unwind_table){.state = UNWIND_TABLE_READY,
	    .code = {0, 2, UNWIND_REGION_SHIFT}};
	k.cells[0] = UINT64_C(4) << 32 | 1; /* index: one bucket each */
	k.cells[10] = UINT64_C(1) << 32 | 1;
	memcpy(&k.cells[1], rows, 4 * sizeof(rows[0]));
	memcpy(&k.cells[11], &rows[4], sizeof(rows[0]));
	k.regions[0] = (struct unwind_region){0, 4, 0, 1, 16,
	    UNWIND_TABLE_READY};
	k.regions[1] = (struct unwind_region){10, 1, 0, 1, 16,
	    UNWIND_TABLE_READY};
}

/* A kernel frame, a leaf in region 1 that lacked its rows, what frame pointers
 * guessed; then n words of the stack. */
static struct sample_event *
event(const __u64 *words, size_t n, size_t *size)
{
	static union {
		struct sample_event e;
		char room[sizeof(struct sample_event) + 16 * EVENT_DEPTH];
	} u;
	struct event_copy *c;

	memset(&u, 0, sizeof(u));
	u.e = (struct sample_event){.n_kernel = 1, .n_user = 2, .depth = 2,
	    .flags = EVENT_EH_FRAME | EVENT_PENDING | EVENT_COPY,
	    .error = BROKEN_NO_ROW};
	u.e.frames[0] = 0xffffffff81000000u;
	u.e.frames[1] = CODE + 0x10010;
	u.e.frames[2] = 0x1234; /* the guess */
	c = (void *)&u.e.frames[3];
	c->sp = SP;
	c->bp = 0;
	memcpy(c->words, words, n * sizeof(words[0]));
	*size = offsetof(struct sample_event, frames) + (3 + n) * 8 +
	    EVENT_COPY_HEAD;
	return &u.e;
}

static struct sample_event out;

static enum unwind_copy_end
walk(const struct sample_event *e, size_t size)
{
	static const struct unwind_mapping m = {CODE, CODE, 32, 0};
	const struct unwind_copy_list l = {&m, 1, 77};

	return unwind_copy_walk(&fake, &l, e, size, &out);
}

static const __u64 stack[] = {0, CODE + 0x10, 0, 0, CODE + 0x20, 0, 0,
    CODE + 0x810};

TEST(a_walk_goes_on_to_its_end)
{
	struct sample_event *e;
	size_t size;

	begin();
	e = event(stack, 8, &size);
	CHECK_INT(walk(e, size), UNWIND_COPY_DONE);
	CHECK_INT(out.flags, EVENT_EH_FRAME);
	CHECK_INT(out.error, BROKEN_NOT);
	CHECK_INT(out.n_user, 4);
	CHECK(out.frames[0] == 0xffffffff81000000u);
	CHECK_INT(out.frames[1], CODE + 0x10010);
	CHECK_INT(out.frames[2], CODE + 0x10);
	CHECK_INT(out.frames[3], CODE + 0x20);
	CHECK_INT(out.frames[4], CODE + 0x810);
	CHECK_INT(k.regions[0].used, 77); /* as if the kernel had walked */
}

/* It was as whole as the one that ends just there. */
TEST(a_walk_that_is_too_deep_is_truncated)
{
	static __u64 deep[2 * EVENT_DEPTH];
	struct sample_event *e;
	size_t size, n = sizeof(deep) / sizeof(deep[0]);

	begin();
	for (size_t i = 0; i < n; i++)
		deep[i] = CODE + 0x10010;
	e = event(deep, n, &size);
	CHECK_INT(walk(e, size), UNWIND_COPY_DONE);
	CHECK_INT(out.flags, EVENT_EH_FRAME | EVENT_TRUNCATED);
	CHECK_INT(out.depth, EVENT_DEPTH);
	CHECK_INT(out.n_user, EVENT_MAX_USER);
	deep[2 * (EVENT_DEPTH - 2) + 1] = CODE + 0x810;
	e = event(deep, n, &size);
	CHECK_INT(walk(e, size), UNWIND_COPY_DONE);
	CHECK_INT(out.flags, EVENT_EH_FRAME);
	CHECK_INT(out.depth, EVENT_DEPTH);
}

TEST(other_rows_are_lacking)
{
	struct sample_event *e;
	size_t size;

	begin();
	k.regions[0].state = UNWIND_TABLE_PENDING;
	e = event(stack, 8, &size);
	CHECK_INT(walk(e, size), UNWIND_COPY_LACKS);
	CHECK_INT(out.flags, EVENT_EH_FRAME | EVENT_PENDING);
	CHECK_INT(out.n_user, 2);
	CHECK_INT(out.lacks, 1);
	CHECK_INT(out.table, 0);
	CHECK_INT(out.offset, 0xf);
	CHECK_INT(out.frames[2], CODE + 0x10); /* no guess any more */
}

/* The stack is deeper than what was copied: marked, never whole. */
TEST(the_copy_ends)
{
	struct sample_event *e;
	size_t size, n;

	begin();
	for (n = 0; n < 8; n++) {
		e = event(stack, n, &size);
		CHECK_INT(walk(e, size), UNWIND_COPY_SHORT);
		CHECK_INT(out.flags, EVENT_EH_FRAME | EVENT_PENDING);
		CHECK_INT(out.n_user, n < 2 ? 1 : n < 5 ? 2 : 3);
	}
}

/* Of a process that nobody knew nothing was walked: its mappings are looked for
 * as the walk meets them. */
TEST(a_mapping_is_not_known_yet)
{
	const struct unwind_copy_list none = {NULL, 0, 77};
	struct sample_event *e;
	size_t size;

	begin();
	e = event(stack, 8, &size);
	e->flags = EVENT_PENDING | EVENT_COPY;
	e->error = BROKEN_NO_TABLES;
	e->table = UNWIND_NO_TABLE;
	CHECK_INT(unwind_copy_walk(&fake, &none, e, size, &out),
	    UNWIND_COPY_LACKS);
	CHECK_INT(out.table, UNWIND_NO_TABLE);
	CHECK_INT(out.lacks, 0);
	CHECK_INT(walk(e, size), UNWIND_COPY_DONE);
	CHECK_INT(out.flags, EVENT_EH_FRAME);
	CHECK_INT(out.error, BROKEN_NOT);
	CHECK_INT(out.n_user, 4);
}

/* rbx of the leaf is in the copy; what a callee saved is where the copy begins
 * below it. */
TEST(frame_by_rbx)
{
	static const __u64 words[] = {SP + 32, CODE + 0x710, 0, 0, 1,
	    CODE + 0x810};
	struct sample_event *e;
	size_t size;

	begin();
	e = event(words, 6, &size);
	CHECK_INT(walk(e, size), UNWIND_COPY_DONE);
	CHECK_INT(out.error, BROKEN_NOT);
	CHECK_INT(out.n_user, 3);
	CHECK_INT(out.frames[3], CODE + 0x810);
	e = event(words, 6, &size);
	e->frames[1] = CODE + 0x710;
	((struct event_copy *)(void *)&e->frames[3])->bx = SP + 32;
	CHECK_INT(walk(e, size), UNWIND_COPY_DONE);
	CHECK_INT(out.n_user, 2);
	CHECK_INT(out.frames[2], CODE + 0x810);
	/* Of a caller it is not known what its callee has saved. */
	e->flags |= EVENT_CALLER;
	CHECK_INT(walk(e, size), UNWIND_COPY_SHORT);
}

/* The leaf of a handler returns at word `at`; behind it are the registers of
 * what the signal interrupted, which returns to `caller`. */
static void
put_signal(__u64 *words, size_t at, __u64 ip, __u64 caller)
{
	memset(words, 0, 33 * sizeof(words[0]));
	words[at] = CODE + 0x410;
	words[at + 21] = SP + 30 * 8; /* of struct ucontext: rsp, rip */
	words[at + 22] = ip;
	words[31] = caller;
}

/* It was interrupted at its first instruction: the byte before is another
 * function's, and all callers are named by the byte before. */
TEST(what_was_interrupted_is_looked_up_as_a_caller)
{
	struct sample_event *e;
	__u64 words[33];
	size_t size;

	begin();
	put_signal(words, 1, CODE + 0x10000, CODE + 0x810);
	e = event(words, 33, &size);
	CHECK_INT(walk(e, size), UNWIND_COPY_DONE);
	CHECK_INT(out.error, BROKEN_NOT);
	CHECK_INT(out.n_user, 4);
	CHECK_INT(out.frames[1], CODE + 0x10010);
	CHECK_INT(out.frames[2], CODE + 0x410);
	CHECK_INT(out.frames[3], CODE + 0x10001);
	CHECK_INT(out.frames[4], CODE + 0x810);
}

/* The rows of its first instruction are lacking. */
TEST(a_walk_goes_on_where_a_signal_interrupted)
{
	static const __u64 rest[] = {0, CODE + 0x810};
	struct sample_event *e;
	__u64 words[33];
	size_t size;

	begin();
	put_signal(words, 2, CODE + 0x10000, CODE + 0x810);
	k.regions[1].state = UNWIND_TABLE_PENDING;
	e = event(words, 33, &size);
	e->frames[1] = CODE + 0x10;
	CHECK_INT(walk(e, size), UNWIND_COPY_LACKS);
	CHECK_INT(out.n_user, 3);
	CHECK_INT(out.lacks, 2);
	CHECK_INT(out.offset, 0x10000);
	CHECK_INT(out.frames[3], CODE + 0x10001);

	begin();
	e = event(rest, 2, &size); /* from there on */
	e->n_kernel = 0;
	e->n_user = 3;
	e->lacks = 1;
	e->frames[0] = CODE + 0x410;
	e->frames[1] = CODE + 0x10001;
	CHECK_INT(walk(e, size), UNWIND_COPY_DONE);
	CHECK_INT(out.n_user, 3);
	CHECK_INT(out.frames[1], CODE + 0x10001);
	CHECK_INT(out.frames[2], CODE + 0x810);
}

/* A call of a null pointer was interrupted: rows would be of no use. */
TEST(a_signal_interrupted_nothing)
{
	struct sample_event *e;
	__u64 words[33];
	size_t size;

	begin();
	put_signal(words, 1, 0, CODE + 0x810);
	e = event(words, 33, &size);
	CHECK_INT(walk(e, size), UNWIND_COPY_DONE);
	CHECK_INT(out.error, BROKEN_NO_MAPPING);
	CHECK_INT(out.n_user, 3);
	CHECK_INT(out.frames[3], 1); /* in no mapping, when it is named */
}

TEST(nonsense_is_an_error)
{
	static const __u64 wild[] = {0, 0x300000};
	struct sample_event *e;
	size_t size;

	begin();
	e = event(wild, 2, &size);
	walk(e, size);
	CHECK_INT(out.flags, EVENT_EH_FRAME);
	CHECK_INT(out.error, BROKEN_NO_MAPPING);
}

int
main(void)
{
	RUN(a_walk_goes_on_to_its_end);
	RUN(a_walk_that_is_too_deep_is_truncated);
	RUN(other_rows_are_lacking);
	RUN(the_copy_ends);
	RUN(a_mapping_is_not_known_yet);
	RUN(frame_by_rbx);
	RUN(what_was_interrupted_is_looked_up_as_a_caller);
	RUN(a_walk_goes_on_where_a_signal_interrupted);
	RUN(a_signal_interrupted_nothing);
	RUN(nonsense_is_an_error);
	return test_done();
}
