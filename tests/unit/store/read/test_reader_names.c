/*
 * A question names what it asks for, and nothing of what lies beside it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/read/reader.h"
#include "tests/unit/store/store_model.h"
#include "tests/unit/test.h"

#define BEGIN 4096
#define FLOOD 3000 /* of the service that floods, in each span */
#define DEPTH 10
#define SPANS 3

static uint32_t
put_stack(struct batch *b, const char *process, unsigned span, unsigned i,
    unsigned depth)
{
	struct label label = {"process", process};
	uint32_t node = batch_node(b, 0, batch_labels(b, &label, 1));
	char name[80];
	struct frame f = {FRAME_NATIVE, name, "module", "id", 0};

	for (unsigned k = 0; k < depth; k++) {
		snprintf(name, sizeof(name), "%s::%u::%u::%u", process,
		    k < 2 ? 0 : span, k < 2 ? 0 : i, k);
		node = batch_node(b, node, batch_frame(b, &f));
	}
	return node;
}

static uint32_t
put_series(struct batch *b, const char *service)
{
	struct label label = {"service", service};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10, 0,
	    &label, 1};

	return batch_series(b, &d);
}

static void
put_span(struct store_writer *w, unsigned span)
{
	uint64_t slot = BEGIN + 64 * (uint64_t)span;
	struct batch *b = batch_new((uint64_t)SLOT);
	uint32_t flood = put_series(b, "flood"), app = put_series(b, "app");

	for (unsigned i = 0; i < FLOOD; i++)
		batch_add_profile(b, flood, slot + i % 64,
		    put_stack(b, "flood", span, i, DEPTH), 1 + i % 5);
	for (unsigned i = 0; i < 64; i++)
		batch_add_profile(b, app, slot + i,
		    put_stack(b, "app", 0, i % 4, 4), 7);
	CHECK_OK(batch_finish(b));
	CHECK_OK(store_append(w, b));
	CHECK_OK(store_tick(w, (int64_t)(slot + 64) * SLOT + SLOT));
	batch_free(b);
}

static void
make(struct model *m)
{
	model_init(m, 5);
	for (unsigned i = 0; i < SPANS; i++)
		put_span(m->w, i);
}

static int64_t
total(struct store *s, const char *text, uint64_t from, uint64_t until)
{
	struct selector *selector;
	struct profile_query q = {NULL, (int64_t)(BEGIN + from) * SLOT,
	    (int64_t)(BEGIN + until) * SLOT, NULL, false};
	struct profile *p = NULL;
	int64_t sum = -1;

	CHECK_OK(selector_parse(text, &selector));
	q.selector = selector;
	CHECK_OK(store_query_profile(s, &q, &p));
	if (p != NULL)
		sum = (int64_t)p->nodes[0].total;
	profile_free(p);
	selector_free(selector);
	return sum;
}

/* What `flood` has in slots [from, until). */
static int64_t
flooded(uint64_t from, uint64_t until)
{
	int64_t sum = 0;

	for (uint64_t slot = from; slot < until; slot++)
		for (unsigned i = (unsigned)(slot % 64); i < FLOOD; i += 64)
			sum += 10 * (1 + i % 5);
	return sum;
}

TEST(a_service_is_named_without_its_neighbour)
{
	struct store *s;
	struct model m;

	make(&m);
	CHECK_OK(store_open(&s, m.dir, 0));
	CHECK_INT(total(s, "cpu{service=\"app\"}", 0, 192), 192 * 70);
	CHECK(s->n_files > 0);
	CHECK(s->syms.n_nodes < 40);
	CHECK(s->syms.strings.n < 60);
	/* and then it: all ranges, all the same once it is known */
	for (int i = 0; i < 2; i++) {
		CHECK_INT(total(s, "cpu{service=\"flood\"}", 0, 192),
		    flooded(0, 192));
		CHECK_INT(total(s, "cpu{service=\"flood\"}", 70, 75),
		    flooded(70, 75));
	}
	CHECK(s->syms.n_nodes > SPANS * FLOOD * (DEPTH - 2));
	CHECK_INT(total(s, "cpu", 3, 131), flooded(3, 131) + 128 * 70);
	store_close(s);
	model_fini(&m);
}

static bool
no_series(void *arg, const struct series_desc *d, int64_t until_ns)
{
	(void)d;
	(void)until_ns;
	++*(int *)arg;
	return true;
}

/* A file of FLOOD stacks has an index of its series. */
TEST(a_question_takes_up_series_of_its_service_alone)
{
	struct store *s;
	struct model m;
	int n = 0;

	make(&m);
	CHECK_OK(store_open(&s, m.dir, 0));
	CHECK_INT(total(s, "cpu{service=\"app\"}", 0, 192), 192 * 70);
	for (uint32_t i = 0; i < s->n_files; i++) {
		CHECK(s->files[i].sealed == NULL || !s->files[i].index.whole);
		CHECK(s->files[i].known.n <= 1);
	}
	CHECK_INT(s->syms.series.n, 1);
	CHECK_OK(store_each_profile(s, (int64_t)BEGIN * SLOT,
	    (int64_t)(BEGIN + 192) * SLOT, no_series, &n));
	CHECK_INT(n, 2);
	store_close(s);
	model_fini(&m);
}

TEST(lists_and_metrics_name_no_stack)
{
	struct store *s;
	struct model m;
	int n = 0;

	make(&m);
	CHECK_OK(store_open(&s, m.dir, 0));
	CHECK_OK(store_each_series(s, NULL, 0, INT64_MAX / 2, no_series, &n));
	CHECK_INT(n, 2);
	CHECK_INT(s->syms.n_nodes, 1);
	CHECK_INT(s->syms.frames.n, 0);
	store_close(s);
	model_fini(&m);
}

/* More than one question may name is refused, and the next one is fine. */
TEST(a_question_of_too_many_nodes_is_refused)
{
	struct profile_query q = {NULL, BEGIN * SLOT, (BEGIN + 192) * SLOT,
	    NULL, false};
	struct selector *selector;
	const struct err *e;
	struct profile *p;
	struct store *s;
	struct model m;

	make(&m);
	CHECK_OK(store_open(&s, m.dir, 0));
	store_bound_nodes(s, FLOOD * DEPTH);
	CHECK_OK(selector_parse("cpu", &selector));
	q.selector = selector;
	e = store_query_profile(s, &q, &p);
	CHECK(e != NULL && e->code == 413);
	CHECK_INT(total(s, "cpu{service=\"app\"}", 0, 192), 192 * 70);
	CHECK_INT(total(s, "cpu{service=\"flood\"}", 0, 3), flooded(0, 3));
	store_bound_nodes(s, UINT32_MAX);
	CHECK_INT(total(s, "cpu", 0, 192), flooded(0, 192) + 192 * 70);
	selector_free(selector);
	store_close(s);
	model_fini(&m);
}

/* What the file has of the series beside the range is not judged, nor named. */
TEST(a_short_range_of_a_large_series_is_answered)
{
	struct profile_query q = {NULL, BEGIN * SLOT, (BEGIN + 192) * SLOT,
	    NULL, false};
	struct selector *selector;
	const struct err *e;
	struct profile *p;
	struct store *s;
	struct model m;

	make(&m);
	CHECK_OK(store_open(&s, m.dir, 0));
	store_bound_nodes(s, 4000);
	for (unsigned i = 0; i < 8; i++) {
		CHECK_OK(store_refresh(s));
		CHECK_INT(total(s, "cpu", 61 + i, 62 + i),
		    flooded(61 + i, 62 + i) + 70);
	}
	CHECK(s->syms.n_nodes < 8 * 48 * DEPTH + 40);
	CHECK(!store_rest(s));
	CHECK_OK(selector_parse("cpu", &selector));
	q.selector = selector;
	e = store_query_profile(s, &q, &p);
	CHECK(e != NULL && e->code == 413);
	CHECK(e != NULL && strstr(e->text, "4000 are the most") != NULL);
	CHECK(store_rest(s)); /* none of it is kept */
	CHECK_OK(store_refresh(s));
	CHECK_INT(s->syms.n_nodes, 1);
	CHECK_INT(total(s, "cpu", 5, 7), flooded(5, 7) + 2 * 70);
	selector_free(selector);
	store_close(s);
	model_fini(&m);
}

static void
put_many(struct store_writer *w)
{
	struct batch *b = batch_new((uint64_t)SLOT);
	char name[16];

	for (unsigned k = 0; k < 100; k++) {
		uint32_t series;

		snprintf(name, sizeof(name), "many%u", k);
		series = put_series(b, name);
		for (unsigned i = 0; i < 32; i++)
			batch_add_profile(b, series, BEGIN + i,
			    put_stack(b, name, 0, i, DEPTH), 3);
	}
	CHECK_OK(batch_finish(b));
	CHECK_OK(store_append(w, b));
	CHECK_OK(store_tick(w, (BEGIN + 64) * SLOT + SLOT));
	batch_free(b);
}

/* Nor is that of many series, each of which is small. */
TEST(a_short_range_of_many_series_is_answered)
{
	struct store *s;
	struct model m;

	model_init(&m, 5);
	put_many(m.w);
	CHECK_OK(store_open(&s, m.dir, 0));
	store_bound_nodes(s, 4000);
	CHECK_INT(total(s, "cpu", 7, 8), 100 * 30);
	CHECK_INT(total(s, "cpu", 30, 32), 2 * 100 * 30);
	CHECK_INT(total(s, "cpu", 40, 50), 0);
	store_close(s);
	model_fini(&m);
}

#define LATE 24 /* files of one span that came when it was sealed already */

static void
put_late(struct store_writer *w, unsigned i)
{
	struct batch *b = batch_new((uint64_t)SLOT);
	uint32_t flood = put_series(b, "flood");

	for (unsigned k = 0; k < 200; k++)
		batch_add_profile(b, flood, BEGIN + i,
		    put_stack(b, "flood", SPANS + i, k, DEPTH), 1);
	CHECK_OK(batch_finish(b));
	CHECK_OK(store_append(w, b));
	CHECK_OK(store_tick(w, (BEGIN + 64 * (int64_t)(SPANS + i + 1)) *
	    SLOT + SLOT));
	batch_free(b);
}

/* Each of a span's files is small, and only one of them has the slot. */
TEST(files_without_the_slot_are_not_named)
{
	struct store *s;
	struct model m;

	model_init(&m, 5);
	for (unsigned i = 0; i < LATE; i++)
		put_late(m.w, i);
	CHECK_OK(store_open(&s, m.dir, 0));
	CHECK(s->n_files > 1);
	store_bound_nodes(s, 4000);
	for (unsigned i = 0; i < LATE; i += 5)
		CHECK_INT(total(s, "cpu", i, i + 1), 200 * 10);
	store_close(s);
	model_fini(&m);
}

/* Sums by label set need no stack, however many there are. */
TEST(label_sets_are_summed_without_stacks)
{
	struct totals_query q = {.from_ns = BEGIN * SLOT,
	    .until_ns = (BEGIN + 192) * SLOT, .step_ns = 192 * SLOT,
	    .sets = true};
	struct selector *selector;
	struct store *s, *sets;
	struct totals *t = NULL;
	const struct err *e;
	struct model m;

	make(&m);
	CHECK_OK(store_open(&s, m.dir, 0));
	store_bound_nodes(s, 4000);
	CHECK_OK(selector_parse("cpu", &selector));
	q.selector = selector;
	e = store_query_totals(s, &q, &t);
	CHECK(e != NULL && e->code == 413);
	CHECK_OK(store_open_labels(&sets, s));
	CHECK_OK(store_query_totals(sets, &q, &t));
	CHECK_INT(t->n_groups, 2);
	for (size_t i = 0; i < t->n_groups; i++) {
		const struct totals_group *g = &t->groups[i];
		const char *service = label_find(g->desc.labels,
		    g->desc.n_labels, "service");

		CHECK_STR(label_find(g->labels, g->n_labels, "process"),
		    service);
		CHECK_INT((int64_t)g->steps[0].sum,
		    strcmp(service, "app") == 0 ? 192 * 70 : flooded(0, 192));
	}
	CHECK(sets->syms.n_nodes <= 3);
	CHECK_INT(sets->syms.frames.n, 0);
	totals_free(t);
	selector_free(selector);
	store_close(sets);
	store_close(s);
	model_fini(&m);
}

/* Stacks that no higher block has: no file of ours; asked for by all. */
TEST(a_stack_without_a_name_is_named_with_all_others)
{
	struct store *s;
	struct model m;

	make(&m);
	CHECK_OK(store_open(&s, m.dir, 0));
	CHECK_INT(total(s, "cpu{service=\"app\"}", 0, 192), 192 * 70);
	/* as if the top blocks had lacked all of them */
	for (uint32_t i = 0; i < s->n_files; i++) {
		struct reader_file *f = &s->files[i];

		if (f->sealed != NULL)
			memset(f->named, 0xff, f->sealed->n_series / 8 + 1);
	}
	CHECK_INT(total(s, "cpu{service=\"flood\"}", 5, 190), flooded(5, 190));
	store_close(s);
	model_fini(&m);
}

int
main(void)
{
	RUN(a_service_is_named_without_its_neighbour);
	RUN(a_question_takes_up_series_of_its_service_alone);
	RUN(lists_and_metrics_name_no_stack);
	RUN(a_question_of_too_many_nodes_is_refused);
	RUN(a_short_range_of_a_large_series_is_answered);
	RUN(a_short_range_of_many_series_is_answered);
	RUN(files_without_the_slot_are_not_named);
	RUN(label_sets_are_summed_without_stacks);
	RUN(a_stack_without_a_name_is_named_with_all_others);
	return test_done();
}
