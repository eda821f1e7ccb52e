/*
 * Shapes of a flame graph: reversed, by module, cut by a share of the whole;
 * and that the short way from stacks to frames equals the long one.
 */
#include <stdlib.h>

#include "fcgi/format/flame/flame.h"
#include "fcgi/format/stacks.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

static const struct stacks_type cpu = {"cpu", "samples", 1, SERIES_FLOW};

/* "frame;frame", each "name" or "name@module". */
static void
put(struct stacks *s, const char *text, int64_t value)
{
	uint32_t node = 0;

	for (const char *p = text; *p != '\0';) {
		size_t n = strcspn(p, ";");
		char name[64], *at;
		struct frame f = {FRAME_NATIVE, name, "", "", 0};

		snprintf(name, sizeof(name), "%.*s", (int)n, p);
		if ((at = strchr(name, '@')) != NULL) {
			*at = '\0';
			f.module = at + 1;
		}
		node = stacks_child(s, node, stacks_frame(s, &f));
		p += n + (p[n] == ';');
	}
	stacks_add(s, node, stacks_type(s, &cpu), value);
}

/* "name total(n_cut)" of each frame, depth as dots. */
static const char *
shown(const struct flame *f)
{
	static struct buf out;

	buf_clear(&out);
	for (size_t i = 1; i < f->n_frames; i++) {
		const struct flame_frame *a = &f->frames[i];

		buf_printf(&out, "%.*s%s %d", (int)a->level, ".........",
		    f->names[a->name].text, (int)a->total);
		if (a->n_cut > 0)
			buf_printf(&out, "(%u)", a->n_cut);
		buf_put_u8(&out, '\n');
	}
	buf_put_u8(&out, 0);
	return (const char *)out.data;
}

static const char *
drawn(struct stacks *s, struct flame_options o)
{
	struct profile *p = NULL;
	struct flame *f = NULL;
	const char *got;

	o.other = "(other)";
	CHECK_OK(stacks_profile(s, 0, &p));
	CHECK_OK(flame_new(&f, p, &o));
	got = shown(f);
	flame_free(f);
	profile_free(p);
	return got;
}

static struct stacks *
example(void)
{
	struct stacks *s = stacks_new(&stacks_limits_push);

	put(s, "main@app;read@libc.so;sys_read@[kernel];copy@[kernel]", 4);
	put(s, "main@app;read@libc.so;sys_read@[kernel]", 2);
	put(s, "main@app;parse@app;read@libc.so", 1);
	put(s, "main@app;parse@app", 3);
	return s;
}

TEST(reversed)
{
	struct stacks *s = example();

	CHECK_STR(drawn(s, (struct flame_options){.max_nodes = -1,
	    .reverse = true}),
	    ".copy 4\n..sys_read 4\n...read 4\n....main 4\n"
	    ".parse 3\n..main 3\n"
	    ".read 1\n..parse 1\n...main 1\n"
	    ".sys_read 2\n..read 2\n...main 2\n");
	CHECK_STR(drawn(s, (struct flame_options){.max_nodes = -1,
	    .reverse = true, .focus = "^copy$"}),
	    ".copy 4\n..sys_read 4\n...read 4\n....main 4\n");
	stacks_free(s);
}

TEST(by_module)
{
	struct stacks *s = example();

	CHECK_STR(drawn(s, (struct flame_options){.max_nodes = -1,
	    .by_module = true}),
	    ".app 10\n..libc.so 7\n...[kernel] 6\n");
	CHECK_STR(drawn(s, (struct flame_options){.max_nodes = -1,
	    .by_module = true, .reverse = true}),
	    ".[kernel] 6\n..libc.so 6\n...app 6\n.app 3\n"
	    ".libc.so 1\n..app 1\n");
	stacks_free(s);
}

TEST(focus_sees_functions_before_modules_hide_them)
{
	struct stacks *s = example();

	CHECK_STR(drawn(s, (struct flame_options){.max_nodes = -1,
	    .by_module = true, .focus = "parse", .ignore = "^read$"}),
	    ".app 3\n");
	stacks_free(s);
}

TEST(small_frames_are_gathered_and_counted)
{
	struct stacks *s = stacks_new(&stacks_limits_push);

	put(s, "a;wide", 96);
	put(s, "a;x;deep", 1);
	put(s, "a;y", 1);
	put(s, "b", 2);
	CHECK_STR(drawn(s, (struct flame_options){.max_nodes = -1,
	    .min_share = 0.05}),
	    ".a 98\n..wide 96\n..(other) 2(3)\n.(other) 2(1)\n");
	/* one per cent is not less than one per cent */
	CHECK_STR(drawn(s, (struct flame_options){.max_nodes = -1,
	    .min_share = 0.01}),
	    ".a 98\n..wide 96\n..x 1\n...deep 1\n..y 1\n.b 2\n");
	CHECK_STR(drawn(s, (struct flame_options){.max_nodes = 2}),
	    ".a 98\n..(other) 98(4)\n.(other) 2(1)\n");
	stacks_free(s);
}

TEST(names_that_were_cut_are_forgotten)
{
	static const struct flame_options o = {.max_nodes = 2,
	    .other = "(other)"};
	struct stacks *s = example();
	struct profile *p = NULL;
	struct flame *f = NULL;

	CHECK_OK(stacks_profile(s, 0, &p));
	CHECK_OK(flame_new(&f, p, &o));
	CHECK_INT(f->n_names, 3);
	CHECK_STR(f->names[0].text, "total");
	flame_free(f);
	profile_free(p);
	stacks_free(s);
}

TEST(a_tree_too_large_to_turn_round_is_an_error)
{
	struct flame_options o = {.max_nodes = -1, .reverse = true,
	    .max_built = 5, .other = "(other)"};
	struct stacks *s = example();
	struct profile *p = NULL;
	struct flame *f = NULL;
	const struct err *e;

	CHECK_OK(stacks_profile(s, 0, &p));
	e = flame_new(&f, p, &o);
	CHECK(f == NULL && e != NULL && e->code == 413);
	profile_free(p);
	stacks_free(s);
}

/* ---- the short way ---- */

static void
put_random(struct stacks *s, bool labelled, bool modules)
{
	static const char *const names[] = {"a", "b", "c", "longer", "d"};
	struct label l = {"k", rand() % 2 ? "v" : "w"};
	uint32_t node = labelled ? stacks_labels(s, &l, 1) : 0;

	for (int depth = rand() % 9; depth > 0; depth--) {
		struct frame f = {FRAME_NATIVE, names[rand() % 5],
		    modules && rand() % 2 ? "x.so" : "", "", 0};

		node = stacks_child(s, node, stacks_frame(s, &f));
	}
	stacks_add(s, node, stacks_type(s, &cpu), rand() % 50);
}

static bool
same_frame(const struct flame *a, const struct flame_frame *x,
    const struct flame *b, const struct flame_frame *y)
{
	return x->level == y->level && x->x == y->x && x->total == y->total &&
	    x->self == y->self && x->n_cut == y->n_cut &&
	    strcmp(a->names[x->name].text, b->names[y->name].text) == 0;
}

static bool
same(const struct flame *a, const struct flame *b)
{
	const struct flame_frame *x, *y;
	struct flame_walk wa, wb;
	bool equal = a->n_frames == b->n_frames && a->total == b->total &&
	    a->n_levels == b->n_levels;

	CHECK(flame_walk_init(&wa, a) && flame_walk_init(&wb, b));
	do {
		x = flame_walk_next(&wa);
		y = flame_walk_next(&wb);
		equal = equal && (x == NULL) == (y == NULL);
	} while (equal && x != NULL && (equal = same_frame(a, x, b, y)));
	flame_walk_fini(&wa);
	flame_walk_fini(&wb);
	return equal;
}

TEST(the_short_way_equals_the_long_one)
{
	static const double shares[] = {0, 0.001, 0.02, 0.3, 1};

	srand(5);
	for (int round = 0; round < 400 && !test_bad; round++) {
		struct flame_options o = {.max_nodes = -1,
		    .min_share = shares[round % 5], .other = "(other)"};
		struct stacks *s = stacks_new(&stacks_limits_push);
		struct profile *p = NULL;
		struct flame *a = NULL, *b = NULL;

		stacks_type(s, &cpu);
		for (int n = rand() % 200; n > 0; n--)
			put_random(s, round % 7 == 1, round % 11 == 1);
		CHECK_OK(stacks_profile(s, 0, &p));
		CHECK_OK(flame_new(&a, p, &o));
		CHECK_OK(flame_new_stacks(&b, s, 0, &o));
		CHECK(same(a, b));
		flame_free(a);
		flame_free(b);
		profile_free(p);
		stacks_free(s);
	}
}

/* Whatever is cut: a frame's own and its children's records are its own with
 * all below, in each number. */
TEST(records_are_spread_over_frames_without_loss)
{
	struct stacks *s = example();
	const struct flame_options o = {.max_nodes = 3, .other = "(other)"};
	struct { int128 own[3], all[3]; } by_node[64], *got;
	int128 left[3] = {0, 0, 0};
	struct profile *p = NULL;
	struct flame *f = NULL;

	CHECK_OK(stacks_profile(s, 0, &p));
	CHECK(p->n_nodes < 64);
	for (size_t i = 0; i < p->n_nodes; i++)
		for (int k = 0; k < 3; k++) {
			by_node[i].own[k] = p->nodes[i].self * (k + 1);
			by_node[i].all[k] = p->nodes[i].total * (k + 1);
		}
	CHECK_OK(flame_new(&f, p, &o));
	got = flame_spread(f, by_node, 3);
	for (size_t i = 0; i < f->n_frames; i++)
		for (int k = 0; k < 3; k++) {
			CHECK(got[i].own[k] == f->frames[i].self * (k + 1));
			CHECK(got[i].all[k] == f->frames[i].total * (k + 1));
			left[k] += got[i].own[k];
		}
	CHECK(f->n_frames < p->n_nodes);
	for (int k = 0; k < 3; k++)
		CHECK(left[k] == got[0].all[k]);
	free(got);
	flame_free(f);
	profile_free(p);
	stacks_free(s);
}

int
main(void)
{
	RUN(reversed);
	RUN(by_module);
	RUN(focus_sees_functions_before_modules_hide_them);
	RUN(small_frames_are_gathered_and_counted);
	RUN(names_that_were_cut_are_forgotten);
	RUN(a_tree_too_large_to_turn_round_is_an_error);
	RUN(the_short_way_equals_the_long_one);
	RUN(records_are_spread_over_frames_without_loss);
	return test_done();
}
