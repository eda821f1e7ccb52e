/*
 * The bound of a reader's cache: what it says it keeps is what it takes, and
 * a small bound holds whatever is asked.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/read/reader.h"
#include "tests/unit/store/store_model.h"
#include "tests/unit/test.h"

#define SPANS 24 /* files, each with names and stacks of its own */
#define OWN 400

/* Bytes that malloc() has given out; 0 where it does not tell (sanitizers). */
static size_t
taken(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static void
put_span(struct store_writer *w, uint64_t slot, unsigned span)
{
	struct label service = {"service", "s"}, process = {"process", "p"};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10101010, 0,
	    &service, 1};
	struct batch *b = batch_new((uint64_t)SLOT);
	uint32_t series = batch_series(b, &d);
	uint32_t top = batch_node(b, 0, batch_labels(b, &process, 1));

	for (unsigned i = 0; i < OWN; i++) {
		char name[80];
		struct frame f = {FRAME_NATIVE, name, "module", "id", i};
		uint32_t node = top;

		for (unsigned k = 0; k < 8; k++) {
			snprintf(name, sizeof(name), "function::%u::%u::%u",
			    k < 4 ? 0 : span, i / (k + 1), k);
			node = batch_node(b, node, batch_frame(b, &f));
		}
		batch_add_profile(b, series, slot + i % 64, node, 1 + i % 3);
	}
	CHECK_OK(batch_finish(b));
	CHECK_OK(store_append(w, b));
	CHECK_OK(store_tick(w, (int64_t)(slot + 64) * SLOT + SLOT));
	batch_free(b);
}

/* A store whose spans lie far apart: nothing merges them. */
static void
make(struct model *m)
{
	model_init(m, 5);
	for (unsigned i = 0; i < SPANS; i++)
		put_span(m->w, 4096 * (uint64_t)(i + 1), i);
	CHECK_OK(store_tick(m->w, 4096 * (SPANS + 3) * SLOT));
}

static void
ask_span(struct store *s, const struct selector *selector, unsigned span)
{
	struct profile_query q = {selector, (span + 1) * 4096 * SLOT,
	    ((span + 1) * 4096 + 64) * SLOT, NULL, false};
	struct profile *p;

	CHECK_OK(store_query_profile(s, &q, &p));
	CHECK(p->nodes[0].total >= OWN);
	profile_free(p);
}

/* The sum of its parts is what malloc() has given for them. */
TEST(what_is_kept_is_counted)
{
	struct selector *selector;
	struct store *s = NULL;
	struct model m;
	size_t before, kept, told;

	make(&m);
	CHECK_OK(selector_parse("cpu", &selector));
	before = taken();
	CHECK_OK(store_open(&s, m.dir, 0));
	for (unsigned i = 0; i < SPANS; i++)
		ask_span(s, selector, i);
	kept = taken() - before;
	told = reader_bytes(s);
	printf("# %zu files: %zu bytes kept, %zu told\n", (size_t)s->n_files,
	    kept, told);
	CHECK(s->n_files >= SPANS);
	if (before > 0) { /* not under a sanitizer */
		CHECK(told > kept - kept / 8);
		CHECK(told < kept + kept / 4);
	}
	store_close(s);
	selector_free(selector);
	model_fini(&m);
}

/* Whatever is asked, what is kept fits but for what one question needs. */
TEST(a_bound_holds_but_for_one_question)
{
	struct selector *selector;
	struct store *s = NULL;
	struct model m;
	size_t limit = 4 << 20, one, before, most = 0;

	make(&m);
	CHECK_OK(selector_parse("cpu", &selector));
	CHECK_OK(store_open(&s, m.dir, 0));
	ask_span(s, selector, 0);
	one = reader_bytes(s); /* a file, and its names */
	store_close(s);
	before = taken();
	CHECK_OK(store_open(&s, m.dir, limit));
	for (unsigned i = 0; i < 200; i++) {
		CHECK_OK(store_refresh(s));
		ask_span(s, selector, roll(&m, SPANS));
		if (reader_bytes(s) > most)
			most = reader_bytes(s);
		CHECK(before == 0 || taken() - before < (limit + one) / 8 * 9);
	}
	printf("# at most %zu of %zu, a question takes %zu\n", most, limit,
	    one);
	CHECK(most <= limit + one);
	CHECK(most > limit / 2); /* and the cache is used */
	store_close(s);
	selector_free(selector);
	model_fini(&m);
}

/* To forget its names for the next question, which is like it, would make each
 * of them cold. */
TEST(one_question_over_the_bound_keeps_its_names)
{
	struct selector *selector;
	struct store *s = NULL;
	struct model m;
	uint32_t nodes;

	make(&m);
	CHECK_OK(selector_parse("cpu", &selector));
	CHECK_OK(store_open(&s, m.dir, 100000));
	ask_span(s, selector, 0);
	nodes = s->syms.n_nodes;
	CHECK(reader_names_bytes(s) > 100000);
	for (unsigned i = 0; i < 5; i++) {
		CHECK_OK(store_refresh(s));
		CHECK(s->syms.n_nodes == nodes);
		ask_span(s, selector, 0);
		CHECK(s->syms.n_nodes == nodes);
	}
	/* others do not pile up */
	for (unsigned i = 0; i < 3 * SPANS; i++) {
		CHECK_OK(store_refresh(s));
		ask_span(s, selector, i % SPANS);
		CHECK(s->syms.n_nodes < 5 * nodes);
	}
	store_close(s);
	selector_free(selector);
	model_fini(&m);
}

static bool
is_open(const struct store *s, unsigned span)
{
	for (uint32_t i = 0; i < s->n_files; i++) {
		const struct reader_file *f = &s->files[i];

		if (f->entry.first == 4096 * ((uint64_t)span + 1))
			return f->sealed != NULL;
	}
	return false;
}

/* Nor is a file that is larger than the bound opened for each question. */
TEST(one_question_over_the_bound_keeps_its_files)
{
	struct selector *selector;
	struct store *s = NULL;
	struct model m;

	make(&m);
	CHECK_OK(selector_parse("cpu", &selector));
	CHECK_OK(store_open(&s, m.dir, 100000));
	for (unsigned i = 0; i < 5; i++) {
		ask_span(s, selector, 7);
		CHECK_OK(store_refresh(s));
		CHECK(is_open(s, 7));
	}
	store_close(s);
	selector_free(selector);
	model_fini(&m);
}

/* One that reads all files does not close those that are asked again and
 * again. */
TEST(what_many_questions_need_outlives_a_scan)
{
	static const unsigned asked[] = {7, 7, 1, 2, 3};
	struct selector *selector;
	struct store *s = NULL;
	struct model m;

	make(&m);
	CHECK_OK(selector_parse("cpu", &selector));
	CHECK_OK(store_open(&s, m.dir, 0));
	for (unsigned i = 0; i < 5; i++) {
		ask_span(s, selector, asked[i]);
		CHECK_OK(store_refresh(s));
	}
	s->question = 0;
	s->limit = reader_kept_bytes(s) - 1;
	reader_make_room(s);
	CHECK(is_open(s, 7) && is_open(s, 2) && is_open(s, 3));
	CHECK(!is_open(s, 1));
	store_close(s);
	selector_free(selector);
	model_fini(&m);
}

/* Nor does one that does not fit beside them. */
TEST(a_scan_over_the_bound_closes_only_its_own)
{
	struct selector *selector;
	struct store *s = NULL;
	struct model m;

	make(&m);
	CHECK_OK(selector_parse("cpu", &selector));
	CHECK_OK(store_open(&s, m.dir, 0));
	ask_span(s, selector, 7);
	CHECK_OK(store_refresh(s));
	ask_span(s, selector, 7);
	/* a quarter of it has room for that file beside what is kept of all */
	s->limit = reader_kept_bytes(s) / 8 * 9;
	for (unsigned i = 1; i < 7; i++)
		ask_span(s, selector, i); /* of one request */
	CHECK(is_open(s, 7) && is_open(s, 1) && is_open(s, 6));
	CHECK_OK(store_refresh(s));
	s->question = 0;
	reader_make_room(s);
	CHECK(is_open(s, 7) && !is_open(s, 1));
	store_close(s);
	selector_free(selector);
	model_fini(&m);
}

TEST(what_was_forgotten_is_found_again)
{
	struct selector *selector;
	struct store *s = NULL;
	struct model m;
	size_t empty, asked;

	make(&m);
	CHECK_OK(selector_parse("cpu", &selector));
	CHECK_OK(store_open(&s, m.dir, 0));
	empty = store_bytes(s);
	ask_span(s, selector, 3);
	asked = store_bytes(s);
	store_forget(s);
	CHECK(store_bytes(s) <= empty);
	CHECK_OK(store_refresh(s));
	ask_span(s, selector, 3);
	CHECK_INT(store_bytes(s), asked);
	store_close(s);
	selector_free(selector);
	model_fini(&m);
}

#define WIDE 400u /* children of the root, and of each of them */

static void
put_wide(struct store_writer *w, uint64_t slot)
{
	struct label service = {"service", "s"}, process = {"process", "p"};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10101010, 0,
	    &service, 1};
	struct batch *b = batch_new((uint64_t)SLOT);
	uint32_t series = batch_series(b, &d), frames[WIDE];
	uint32_t top = batch_node(b, 0, batch_labels(b, &process, 1));

	for (unsigned i = 0; i < WIDE; i++) {
		char name[16];
		struct frame f = {FRAME_NATIVE, name, "module", "id", i};

		snprintf(name, sizeof(name), "f%03u", i);
		frames[i] = batch_frame(b, &f);
	}
	for (unsigned i = 0; i < WIDE * WIDE; i++)
		batch_add_profile(b, series, slot, batch_node(b,
		    batch_node(b, top, frames[i / WIDE]), frames[i % WIDE]),
		    1 + i % 7);
	CHECK_OK(batch_finish(b));
	CHECK_OK(store_append(w, b));
	batch_free(b);
}

/* Node by node: "f000", its 400 children, "f001", ... */
static unsigned
wrong_wide(const struct profile *p)
{
	unsigned wrong = p->n_nodes != 1 + WIDE + WIDE * WIDE;

	for (unsigned i = 0; wrong == 0 && i < WIDE * WIDE; i++) {
		const struct profile_node *n =
		    &p->nodes[i / WIDE * (WIDE + 1) + 2 + i % WIDE];

		wrong += n->self != (int128)(1 + i % 7) * 10101010 ||
		    n->self != n->total || n->depth != 2 ||
		    (unsigned)atoi(n->name + 1) != i % WIDE ||
		    (unsigned)atoi(p->nodes[n->parent].name + 1) != i / WIDE;
	}
	return wrong;
}

/* What a large tree was made from is gone, and made anew for the next. */
TEST(a_large_tree_leaves_no_values)
{
	struct profile_limit ten = {10, 0};
	struct selector *selector;
	struct store *s = NULL;
	struct profile *p;
	struct model m;

	model_init(&m, 6);
	put_wide(m.w, 4096);
	CHECK_OK(selector_parse("cpu", &selector));
	CHECK_OK(store_open(&s, m.dir, 0));
	for (unsigned i = 0; i < 6; i++) {
		struct profile_query q = {selector, 4096 * SLOT, 4097 * SLOT,
		    NULL, false};
		bool cut = i % 3 == 1;

		if (i % 3 == 2)
			q.split = "nothing has this";
		CHECK_OK(store_query_profile_largest(s, &q,
		    cut ? &ten : &(struct profile_limit){0, 0}, &p));
		CHECK(cut || q.split != NULL || wrong_wide(p) == 0);
		CHECK((s->scratch.cap == 0) == !cut);
		CHECK((s->scratch.cap_shown == 0) == !cut);
		CHECK(p->nodes[0].total / 10101010 == 639997);
		profile_free(p);
	}
	store_close(s);
	selector_free(selector);
	model_fini(&m);
}

int
main(void)
{
	RUN(what_is_kept_is_counted);
	RUN(a_bound_holds_but_for_one_question);
	RUN(one_question_over_the_bound_keeps_its_names);
	RUN(one_question_over_the_bound_keeps_its_files);
	RUN(what_many_questions_need_outlives_a_scan);
	RUN(a_scan_over_the_bound_closes_only_its_own);
	RUN(what_was_forgotten_is_found_again);
	RUN(a_large_tree_leaves_no_values);
	return test_done();
}
