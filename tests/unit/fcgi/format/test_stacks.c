/*
 * stacks.h: what is put is what comes out, and the tree is sorted and adds
 * up.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/stacks_private.h"
#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/test.h"

static void
put(struct stacks *s, const char *text, int64_t value)
{
	uint32_t node = 0, type;
	const struct stacks_type cpu = {"cpu", "samples", 1, SERIES_FLOW};

	type = stacks_type(s, &cpu);
	for (const char *p = text; *p != '\0';) {
		size_t n = strcspn(p, ";");

		node = stacks_child(s, node,
		    stacks_frame_named(s, FRAME_NATIVE, p, n));
		p += n + (p[n] == ';');
	}
	stacks_add(s, node, type, value);
}

TEST(tree_is_sorted_and_adds_up)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	struct profile *p = NULL;
	const char *names[] = {"", "a", "b", "c", "z"};
	int totals[] = {10, 9, 4, 3, 1}, selves[] = {0, 2, 4, 3, 1};

	put(s, "z", 1);
	put(s, "a;c", 3);
	put(s, "a;b", 4);
	put(s, "a", 2);
	CHECK(stacks_error(s) == NULL);
	CHECK(stacks_profile(s, 0, &p) == NULL);
	stacks_free(s);
	CHECK(p->n_nodes == 5);
	for (size_t i = 0; i < 5; i++) {
		CHECK_STR(p->nodes[i].name, names[i]);
		CHECK(p->nodes[i].total == totals[i]);
		CHECK(p->nodes[i].self == selves[i]);
	}
	profile_free(p);
}

TEST(labels_are_sets_and_vanish_from_the_tree)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	const struct stacks_type cpu = {"cpu", "samples", 1, SERIES_FLOW};
	struct label one[] = {{"b", "2"}, {"a", "1"}, {"b", "3"}};
	struct label two[] = {{"a", "1"}, {"b", "3"}};
	struct label got[STACKS_LABELS_MAX];
	struct stacks_node node;
	struct profile *p = NULL;
	uint32_t x = stacks_labels(s, one, 3), f, type;

	CHECK(x != 0 && x == stacks_labels(s, two, 2));
	CHECK(stacks_labels(s, NULL, 0) == 0);
	stacks_get_node(s, x, &node);
	CHECK(node.labels && stacks_get_labels(s, node.edge, got) == 2);
	CHECK_STR(got[0].value, "1");
	CHECK_STR(got[1].value, "3");
	f = stacks_frame_named(s, FRAME_NATIVE, "f", 1);
	type = stacks_type(s, &cpu);
	stacks_add(s, stacks_child(s, x, f), type, 5);
	stacks_add(s, stacks_child(s, 0, f), type, 6);
	CHECK(stacks_profile(s, 0, &p) == NULL);
	CHECK(p->n_nodes == 2 && p->nodes[1].self == 11);
	profile_free(p);
	stacks_free(s);
}

TEST(bounds_are_errors)
{
	struct stacks_limits small = {.nodes = 3, .bytes = 100, .depth = 9,
	    .labels = 1};
	struct stacks *s = stacks_new(&small);
	const struct err *e;

	put(s, "a;b", 1);
	CHECK(stacks_error(s) == NULL);
	put(s, "a;c", 1);
	e = stacks_error(s);
	CHECK(e != NULL && e->domain == ERR_REQUEST && e->code == 413);
	CHECK_STR(e->text, "too many stacks (nodes of their call tree): at "
	    "most 3 are taken");
	stacks_free(s);
}

TEST(nothing_is_one_node)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	const struct stacks_type cpu = {"cpu", "samples", 1, SERIES_FLOW};
	struct profile *p = NULL;

	stacks_type(s, &cpu);
	CHECK(stacks_profile(s, 0, &p) == NULL);
	CHECK(p->n_nodes == 1 && p->nodes[0].total == 0);
	profile_free(p);
	stacks_free(s);
}


/* By name, then kind; the module and where a function lies do not count. */
TEST(frames_that_look_the_same_have_one_rank)
{
	static const struct frame frames[] = {
	    {FRAME_NATIVE, "b", "x.so", "", 1},
	    {FRAME_KERNEL, "a", "", "", 0}, {FRAME_NATIVE, "b", "y.so", "", 2},
	    {FRAME_NATIVE, "a", "", "", 0}};
	struct stacks *s = stacks_new(&stacks_limits_push);
	struct stacks_ranks r;

	CHECK_OK(stacks_ranks_init(&r, s));
	CHECK_INT(r.n, 0);
	stacks_ranks_fini(&r);
	for (uint32_t i = 0; i < 4; i++)
		CHECK_INT(stacks_frame(s, &frames[i]), i);
	CHECK_OK(stacks_ranks_init(&r, s));
	CHECK_INT(r.n, 3);
	CHECK_INT(r.rank[0], 2);
	CHECK_INT(r.rank[2], 2);
	CHECK_INT(r.rank[1] + r.rank[3], 1);
	CHECK_INT(r.rank[1] < r.rank[3], FRAME_KERNEL < FRAME_NATIVE);
	CHECK_STR(r.frames[r.sorted[2]].name, "b");
	stacks_ranks_fini(&r);
	stacks_free(s);
}

int
main(void)
{
	RUN(tree_is_sorted_and_adds_up);
	RUN(labels_are_sets_and_vanish_from_the_tree);
	RUN(bounds_are_errors);
	RUN(nothing_is_one_node);
	RUN(frames_that_look_the_same_have_one_rank);
	return test_done();
}
