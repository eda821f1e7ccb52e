/*
 * The reader's index of an open journal against what sealing reads from the
 * same journal, damaged or not; and what a question leaves unread.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/journal/openspan.h"
#include "tests/unit/store/journal/open_journal.h"
#include "tests/unit/test.h"

/* Read ahead as a whole, in part, and of a part of the slots. */
static void
check_ahead(struct found *x, struct lines *sealed)
{
	static const size_t mosts[] = {1, 60, 700, 1 << 20};

	for (size_t i = 0; i < sizeof(mosts) / sizeof(mosts[0]); i++) {
		struct lines open = {0};
		uint64_t border = (uint64_t)rand() % RECORDS;

		x->ahead = mosts[i];
		say_open(x, 0, border, &open);
		say_open(x, border, UINT64_MAX, &open);
		check_same(sealed, &open);
		CHECK(x->span.ahead.bytes.len <= mosts[i]);
		lines_fini(&open);
	}
	openspan_drop_ahead(&x->span);
	x->ahead = 0;
}

static void
check_journal(const struct journal *j)
{
	struct lines sealed = {0}, open = {0}, again = {0};
	struct found x;
	uint64_t damaged;

	say_sealed(j->fd, &sealed, &damaged);
	found_init(&x, j->fd);
	found_follow(&x);
	say_open(&x, 0, UINT64_MAX, &open);
	check_same(&sealed, &open);
	CHECK_INT(x.reader.damaged + x.span.lost, damaged);
	/* the reader's table begins anew, with others' numbers in it */
	openspan_forget(&x.span);
	symtab_fini(&x.syms);
	CHECK_OK(symtab_init(&x.syms));
	for (int i = 0; i < 100; i++) {
		struct sym_frame f = {.kind = FRAME_NATIVE, .offset = i};

		intern_put(&x.syms.frames, &f, sizeof(f));
	}
	CHECK_OK(openspan_name(&x.span));
	say_open(&x, 0, 10, &again);
	say_open(&x, 10, UINT64_MAX, &again);
	check_same(&sealed, &again);
	check_ahead(&x, &sealed);
	found_fini(&x);
	lines_fini(&sealed);
	lines_fini(&open);
	lines_fini(&again);
}

/* Up to so many records in a row are damaged. */
static void
try_random(unsigned seed, unsigned most)
{
	struct journal j;

	srand(seed);
	journal_init(&j);
	for (unsigned i = 0; i < RECORDS; i++) {
		if (rand() % 12 == 0)
			journal_dict_begin(&j.dict); /* a new dictionary */
		journal_put(&j, random_batch(i));
	}
	for (unsigned i = 1; most > 0 && i + most < RECORDS;
	     i += 5 + (unsigned)rand() % 9) {
		for (unsigned k = (unsigned)rand() % (most + 1); k > 0; k--)
			journal_flip(&j, i + k, BATCH_RECORD_HEADER + 20);
	}
	check_journal(&j);
	journal_fini(&j);
}

TEST(an_open_journal_is_what_sealing_reads)
{
	for (unsigned seed = 1; seed <= 30; seed++)
		try_random(seed, 0);
}

TEST(a_damaged_one_too)
{
	for (unsigned seed = 1; seed <= 60; seed++)
		try_random(seed, 1 + seed % 6);
}

TEST(it_is_followed_record_by_record)
{
	struct journal j;
	struct found x;

	srand(7);
	journal_init(&j);
	found_init(&x, j.fd);
	for (unsigned i = 0; i < RECORDS; i++) {
		struct lines sealed = {0}, open = {0};
		uint64_t damaged;

		journal_put(&j, random_batch(i));
		found_follow(&x);
		say_sealed(j.fd, &sealed, &damaged);
		say_open(&x, 0, UINT64_MAX, &open);
		check_same(&sealed, &open);
		lines_fini(&sealed);
		lines_fini(&open);
	}
	found_fini(&x);
	journal_fini(&j);
}

/* ---- what is left unread ---- */

static struct batch *
noise(unsigned seed, unsigned stacks)
{
	struct batch *b = batch_new((uint64_t)SLOT);
	uint32_t p = series_of(b, SERIES_FLOW, "noisy");
	char name[32];

	for (unsigned i = 0; i < stacks; i++) {
		struct frame f = {FRAME_NATIVE, name, "", "", 0};
		uint32_t node = batch_node(b, 0, 0);

		for (unsigned d = 0; d < 25; d++) {
			snprintf(name, sizeof(name), "noise_%u_%u",
			    seed * stacks + i, d);
			node = batch_node(b, node, batch_frame(b, &f));
		}
		batch_add_profile(b, p, 1, node, 1);
	}
	return b;
}

static struct batch *
quiet(uint64_t slot)
{
	struct batch *b = batch_new((uint64_t)SLOT);

	batch_add_profile(b, series_of(b, SERIES_FLOW, "quiet"), slot,
	    stack_of(b, "a", 1, 3), 2);
	return b;
}

/* A series' question takes up its own stacks, whoever pushed how many. */
TEST(others_stacks_are_not_decoded)
{
	struct journal j;
	struct found x;
	struct open_walk w;
	struct block b;
	size_t before;

	journal_init(&j);
	for (unsigned i = 0; i < 4; i++) {
		journal_put(&j, quiet(i));
		journal_put(&j, noise(i, 1000));
	}
	found_init(&x, j.fd);
	found_follow(&x);
	/* 100,000 nodes and frames, 2 MB of names */
	CHECK(openspan_bytes(&x.span) < 400000);
	before = openspan_bytes(&x.span);
	for (uint32_t i = 0; i < x.span.n_named; i++) {
		struct buf name = {0};

		say_series(&name, &x.syms, x.span.symbols[i]);
		buf_put_u8(&name, 0);
		if (strstr((char *)name.data, "quiet") != NULL)
			CHECK_OK(openspan_need(&x.span, x.span.symbols[i], 0,
			    100));
		buf_fini(&name);
	}
	CHECK_OK(openspan_resolve(&x.span, UINT32_MAX));
	CHECK_INT(x.syms.n_nodes, 1 + 1 + 3);
	CHECK_INT(x.syms.frames.n, 3);
	CHECK(openspan_bytes(&x.span) - before < 50000);
	openspan_walk(&w, &x.span, x.span.symbols[0], 3, 4);
	CHECK_INT(w.i, 3); /* earlier blocks are not looked at */
	CHECK(openspan_next(&w, &b));
	CHECK_INT(b.start, 3);
	found_fini(&x);
	journal_fini(&j);
}

static size_t
count_entries(struct openspan *o)
{
	struct open_walk w;
	struct block b;
	size_t n = 0;
	int64_t value;
	uint32_t node;

	for (uint32_t i = 0; i < o->n_named; i++) {
		openspan_walk(&w, o, o->symbols[i], 0, UINT64_MAX);
		while (openspan_next(&w, &b)) {
			if (openspan_entries(&w) != NULL)
				return 0;
			while (openspan_entry(&w, &node, &value))
				n += value > 0;
		}
	}
	return n;
}

/* The file is not asked again, as long as it is kept. */
TEST(what_was_read_ahead_is_kept)
{
	struct journal j;
	struct found x;

	journal_init(&j);
	for (unsigned i = 0; i < 8; i++) {
		journal_put(&j, quiet(i));
		journal_put(&j, noise(i, 100));
	}
	found_init(&x, j.fd);
	found_follow(&x);
	CHECK_OK(openspan_read_ahead(&x.span, x.span.symbols, x.span.n_named,
	    0, UINT64_MAX, 1 << 20));
	x.span.pages.fd = -1;
	buf_clear(&x.span.pages.window);
	CHECK_INT(count_entries(&x.span), 8 + 8 * 100);
	openspan_drop_ahead(&x.span);
	CHECK_INT(count_entries(&x.span), 0);
	found_fini(&x);
	journal_fini(&j);
}

/* Bytes that were right when they were scanned and are not now. */
TEST(what_changed_since_the_scan_is_found)
{
	struct journal j;
	struct found x;
	const struct err *e = NULL;

	journal_init(&j);
	for (unsigned i = 0; i < 4; i++)
		journal_put(&j, noise(i, 20));
	found_init(&x, j.fd);
	found_follow(&x);
	journal_flip(&j, 2, 3000);
	e = openspan_need(&x.span, x.span.symbols[0], 0, 100);
	if (e == NULL)
		e = openspan_resolve(&x.span, UINT32_MAX);
	CHECK(e != NULL && e->code == ENOENT);
	CHECK(x.span.pages.changed);
	found_fini(&x);
	journal_fini(&j);
}

TEST(what_changed_is_found_ahead)
{
	struct journal j;
	struct found x;
	const struct err *e;

	journal_init(&j);
	for (unsigned i = 0; i < 4; i++)
		journal_put(&j, noise(i, 20));
	found_init(&x, j.fd);
	found_follow(&x);
	journal_flip(&j, 2, j.starts[3] - j.starts[2] - 8);
	e = openspan_read_ahead(&x.span, x.span.symbols, 1, 0, 100, 1 << 20);
	CHECK(e != NULL && e->code == ENOENT);
	CHECK(x.span.pages.changed);
	CHECK_INT(x.span.ahead.n_runs, 0);
	found_fini(&x);
	journal_fini(&j);
}

/* What every flipped byte does when the checksum is right: it means something
 * else, or the record is left out. */
TEST(every_flipped_byte_is_safe)
{
	struct journal j;
	struct found x;
	struct lines lines;

	srand(3);
	journal_init(&j);
	journal_put(&j, random_batch(0));
	journal_put(&j, random_batch(1));
	for (size_t i = BATCH_RECORD_HEADER; i < j.record.len; i++) {
		j.record.data[i] ^= 0x11;
		batch_put_header(&j.record, 0, "MLB2", false);
		CHECK(pwrite(j.fd, j.record.data, j.record.len, j.starts[1]) ==
		    (ssize_t)j.record.len);
		found_init(&x, j.fd);
		found_follow(&x);
		lines = (struct lines){0};
		say_open(&x, 0, UINT64_MAX, &lines);
		lines_fini(&lines);
		found_fini(&x);
		j.record.data[i] ^= 0x11;
	}
	journal_fini(&j);
}

int
main(void)
{
	RUN(an_open_journal_is_what_sealing_reads);
	RUN(a_damaged_one_too);
	RUN(it_is_followed_record_by_record);
	RUN(others_stacks_are_not_decoded);
	RUN(what_was_read_ahead_is_kept);
	RUN(what_changed_since_the_scan_is_found);
	RUN(what_changed_is_found_ahead);
	RUN(every_flipped_byte_is_safe);
	return test_done();
}
