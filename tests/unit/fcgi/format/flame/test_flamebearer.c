/*
 * Frames and flamebearer JSON: the published example, truncation that loses
 * nothing, focus and ignore, and trees deep and wide against simple sums.
 */
#include <stdlib.h>

#include "fcgi/format/flame/flamebearer.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

/* A profile made by hand: "depth name self" in pre-order. */
struct row {
	uint32_t depth;
	const char *name;
	int64_t self;
	enum frame_kind kind;
	const char *module;
};

static struct profile
profile_of(const struct row *rows, size_t n)
{
	struct profile p = {.n_nodes = n, .period = 1};
	uint32_t path[64] = {0};

	p.nodes = calloc(n, sizeof(*p.nodes));
	for (size_t i = 0; i < n; i++) {
		struct profile_node *node = &p.nodes[i];

		node->name = rows[i].name;
		node->module = rows[i].module ? rows[i].module : "";
		node->kind = rows[i].kind ? rows[i].kind : FRAME_NATIVE;
		node->depth = rows[i].depth;
		node->parent = i ? path[rows[i].depth - 1] : 0;
		path[rows[i].depth] = (uint32_t)i;
		node->self = node->total = rows[i].self;
	}
	for (size_t i = n - 1; i > 0; i--)
		p.nodes[p.nodes[i].parent].total += p.nodes[i].total;
	return p;
}

static struct buf out;

/* The JSON of a profile, or the text of the error. */
static const char *
json(const struct row *rows, size_t n, struct flame_options o)
{
	struct profile p = profile_of(rows, n);
	struct flame *f;
	struct writer w;
	const struct err *e;

	if (o.other == NULL)
		o.other = "(other)";
	buf_clear(&out);
	w = writer_of(&out);
	e = flame_new(&f, &p, &o);
	if (e == NULL) {
		writer_open(&w, '{');
		flamebearer_put(&w, f);
		flamebearer_put_kinds(&w, f);
		writer_close(&w, '}');
	} else {
		buf_printf(&out, "%s: %s", e->field, e->text);
	}
	buf_put_u8(&out, 0);
	flame_free(f);
	free(p.nodes);
	return (const char *)out.data;
}

static const struct flame_options all = {.max_nodes = -1};

TEST(the_published_example)
{
	static const struct row rows[] = {{0, "", 0, 0, NULL},
	    {1, "a", 0, 0, NULL}, {2, "b", 1, 0, NULL}, {2, "c", 2, 0, NULL}};

	CHECK_STR(json(rows, 4, all), "{\"flamebearer\":{\"names\":[\"total\","
	    "\"a\",\"b\",\"c\"],\"levels\":[[0,3,0,0],[0,3,0,1],"
	    "[0,1,1,2,0,2,2,3]],\"numTicks\":3,\"maxSelf\":2},"
	    "\"kinds\":[\"unknown\",\"user\",\"user\",\"user\"]}");
}

TEST(no_data_is_an_empty_tree)
{
	static const struct row rows[] = {{0, "", 0, 0, NULL}};

	CHECK_STR(json(rows, 1, all), "{\"flamebearer\":{\"names\":[\"total\"],"
	    "\"levels\":[[0,0,0,0]],\"numTicks\":0,\"maxSelf\":0},"
	    "\"kinds\":[\"unknown\"]}");
}

static const struct row tree[] = {
    {0, "", 1, 0, NULL},
    {1, "a", 2, 0, NULL},
    {2, "x", 10, 0, NULL},
    {2, "y", 3, 0, NULL},
    {2, "z", 4, 0, NULL},
    {1, "b", 5, 0, NULL},
    {2, "x", 6, 0, NULL},
};

TEST(self_is_left_of_the_children)
{
	CHECK_STR(json(tree, 7, all), "{\"flamebearer\":{\"names\":[\"total\","
	    "\"a\",\"x\",\"y\",\"z\",\"b\"],\"levels\":[[0,31,1,0],"
	    "[1,19,2,1,0,11,5,5],[3,10,10,2,0,3,3,3,0,4,4,4,5,6,6,2]],"
	    "\"numTicks\":31,\"maxSelf\":10},\"kinds\":[\"unknown\",\"user\","
	    "\"user\",\"user\",\"user\",\"user\"]}");
}

TEST(what_is_cut_is_other)
{
	struct flame_options o = {.max_nodes = 4};

	CHECK_STR(json(tree, 7, o), "{\"flamebearer\":{\"names\":[\"total\","
	    "\"a\",\"x\",\"b\",\"(other)\"],"
	    "\"levels\":[[0,31,1,0],[1,19,2,1,0,11,5,3],"
	    "[3,10,10,2,0,7,7,4,5,6,6,4]],\"numTicks\":31,\"maxSelf\":10},"
	    "\"kinds\":[\"unknown\",\"user\",\"user\",\"user\","
	    "\"unknown\"]}");
	o.max_nodes = 0;
	CHECK(strstr(json(tree, 7, o), "[[0,31,1,0],[1,30,30,1]]") != NULL);
}

TEST(focus_and_ignore)
{
	struct flame_options o = {.max_nodes = -1, .focus = "^x$"};

	CHECK(strstr(json(tree, 7, o), "\"levels\":[[0,16,0,0],"
	    "[0,10,0,1,0,6,0,3],[0,10,10,2,0,6,6,2]]") != NULL);
	o.ignore = "b";
	CHECK(strstr(json(tree, 7, o), "\"numTicks\":10") != NULL);
	o.focus = NULL;
	CHECK(strstr(json(tree, 7, o), "\"numTicks\":20") != NULL);
	o.ignore = "nothing";
	o.focus = "nothing";
	CHECK(strstr(json(tree, 7, o), "[[0,0,0,0]]") != NULL);
}

TEST(bad_expressions_name_their_field)
{
	struct flame_options o = {.max_nodes = -1, .focus = "("};

	CHECK(strncmp(json(tree, 7, o), "focus: ", 7) == 0);
	o.focus = NULL;
	o.ignore = "((a{200}){200}){200}";
	CHECK(strncmp(json(tree, 7, o), "ignore: ", 8) == 0);
	o.ignore = "a{3,99999999999}";
	CHECK(strncmp(json(tree, 7, o), "ignore: ", 8) == 0);
}

TEST(kinds_by_module)
{
	static const struct row rows[] = {{0, "", 0, 0, NULL},
	    {1, "f", 1, FRAME_NATIVE, "libc.so.6"},
	    {1, "g", 1, FRAME_NATIVE, "prog.solid"},
	    {1, "h", 1, FRAME_KERNEL, "[kernel]"},
	    {1, "i", 1, FRAME_ADDRESS, "prog"},
	    {1, "j", 1, FRAME_JIT, ""}, {1, "k", 1, FRAME_MARK, ""},
	    {1, "l", 1, FRAME_BPF, ""}, {1, "m", 1, FRAME_INLINED, "a.so"}};

	CHECK(strstr(json(rows, 9, all), "\"kinds\":[\"unknown\",\"library\","
	    "\"user\",\"kernel\",\"unknown\",\"jit\",\"unknown\",\"kernel\","
	    "\"library\"]") != NULL);
}

/* Every frame's children and self add up to it, whatever was cut. */
static bool
adds_up(const struct flame *f)
{
	int128 sum[64] = {0};

	for (size_t i = f->n_frames; i-- > 0;) {
		const struct flame_frame *a = &f->frames[i];

		if (a->self + sum[a->level + 1] != a->total)
			return false;
		sum[a->level + 1] = 0;
		sum[a->level] += a->total;
	}
	return sum[0] == f->total;
}

TEST(random_trees_lose_nothing)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
	static struct row rows[500];

	srand(7);
	for (int round = 0; round < 200; round++) {
		size_t n = 1 + (size_t)rand() % 500, kept = 0;
		struct flame_options o = {.max_nodes = rand() % 60,
		    .other = "(other)"};
		struct profile p;
		struct flame *f;

		rows[0] = (struct row){0, "", 3, 0, NULL};
		for (size_t i = 1; i < n; i++) {
			uint32_t deepest = rows[i - 1].depth + 1;

			if (deepest > 60)
				deepest = 60;
			rows[i] = (struct row){1 + (uint32_t)rand() % deepest,
			    names[rand() % 6], rand() % 5, 0, NULL};
		}
		p = profile_of(rows, n);
		CHECK_OK(flame_new(&f, &p, &o));
		CHECK(f->total == p.nodes[0].total);
		CHECK(adds_up(f));
		for (size_t i = 0; i < f->n_frames; i++)
			kept += f->names[f->frames[i].name].text[0] != '(';
		CHECK(kept <= (size_t)(o.max_nodes ? o.max_nodes : 1));
		flame_free(f);
		free(p.nodes);
	}
}

int
main(void)
{
	RUN(the_published_example);
	RUN(no_data_is_an_empty_tree);
	RUN(self_is_left_of_the_children);
	RUN(what_is_cut_is_other);
	RUN(focus_and_ignore);
	RUN(bad_expressions_name_their_field);
	RUN(kinds_by_module);
	RUN(random_trees_lose_nothing);
	buf_fini(&out);
	return test_done();
}
