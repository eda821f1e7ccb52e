/*
 * Alignment of two call trees, against a naive model: each stack of each
 * side looked up by its whole path.
 */
#include <stdlib.h>

#include "fcgi/format/flame/diff.h"
#include "fcgi/format/stacks.h"
#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/test.h"

static const struct stacks_type cpu = {"cpu", "samples", 1, SERIES_FLOW};

static void
put(struct stacks *s, enum frame_kind kind, const char *text, int64_t value)
{
	uint32_t node = 0;

	for (const char *p = text; *p != '\0';) {
		size_t n = strcspn(p, ";");

		node = stacks_child(s, node,
		    stacks_frame_named(s, kind, p, n));
		p += n + (p[n] == ';');
	}
	stacks_add(s, node, stacks_type(s, &cpu), value);
}

static struct profile *
profile_of(struct stacks *s)
{
	struct profile *p = NULL;

	stacks_type(s, &cpu);
	CHECK_OK(stacks_profile(s, 0, &p));
	stacks_free(s);
	return p;
}

TEST(the_picture_in_the_header)
{
	static const struct {
		const char *name;
		uint32_t depth, parent;
		int64_t a, b;
	} want[] = {
	    {"", 0, 0, 5, 9}, {"main", 1, 0, 5, 9}, {"read", 2, 1, 2, 8},
	    {"sync", 2, 1, 3, 0}, {"write", 2, 1, 0, 1},
	};
	struct stacks *a = stacks_new(&stacks_limits_push);
	struct stacks *b = stacks_new(&stacks_limits_push);
	struct profile *pa, *pb;
	struct diff *d = NULL;

	put(a, FRAME_NATIVE, "main;read", 2);
	put(a, FRAME_NATIVE, "main;sync", 3);
	put(b, FRAME_NATIVE, "main;write", 1);
	put(b, FRAME_NATIVE, "main;read", 8);
	pa = profile_of(a);
	pb = profile_of(b);
	CHECK_OK(diff_new(&d, pa, pb));
	CHECK_INT(d->tree.n_nodes, 5);
	for (size_t i = 0; i < d->tree.n_nodes && i < 5; i++) {
		CHECK_STR(d->tree.nodes[i].name, want[i].name);
		CHECK_INT(d->tree.nodes[i].depth, want[i].depth);
		CHECK_INT(d->tree.nodes[i].parent, want[i].parent);
		CHECK_INT(d->sides[i].total[DIFF_A], want[i].a);
		CHECK_INT(d->sides[i].total[DIFF_B], want[i].b);
	}
	diff_free(d);
	profile_free(pa);
	profile_free(pb);
}

TEST(kinds_tell_apart)
{
	struct stacks *a = stacks_new(&stacks_limits_push);
	struct stacks *b = stacks_new(&stacks_limits_push);
	struct profile *pa, *pb;
	struct diff *d = NULL;

	put(a, FRAME_NATIVE, "read", 1);
	put(b, FRAME_KERNEL, "read", 1);
	put(b, FRAME_NATIVE, "read", 1);
	pa = profile_of(a);
	pb = profile_of(b);
	CHECK_OK(diff_new(&d, pa, pb));
	CHECK_INT(d->tree.n_nodes, 3);
	CHECK_INT(d->tree.nodes[1].kind, FRAME_NATIVE);
	CHECK_INT(d->sides[1].self[DIFF_A], 1);
	CHECK_INT(d->tree.nodes[2].kind, FRAME_KERNEL);
	CHECK_INT(d->sides[2].self[DIFF_A], 0);
	CHECK_INT(d->sides[2].self[DIFF_B], 1);
	diff_free(d);
	profile_free(pa);
	profile_free(pb);
}

/* ---- random trees ---- */

static uint32_t seed = 1;

static uint32_t
draw(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

#define STACKS 60

struct model {
	char path[STACKS][64];
	int64_t value[STACKS];
	size_t n;
};

static struct profile *
random_profile(struct model *m)
{
	struct stacks *s = stacks_new(&stacks_limits_push);

	m->n = draw(STACKS);
	for (size_t i = 0; i < m->n; i++) {
		uint32_t depth = 1 + draw(6);
		char *p = m->path[i];

		for (uint32_t k = 0; k < depth; k++)
			p += sprintf(p, "%s%c%s", k ? ";" : "",
			    (char)('a' + draw(3)), draw(2) ? "x" : "");
		m->value[i] = 1 + draw(9);
		put(s, FRAME_NATIVE, m->path[i], m->value[i]);
	}
	return profile_of(s);
}

/* The path of a node, as the model writes it. */
static void
path_of(const struct diff *d, size_t i, char *text)
{
	text[0] = '\0';
	if (d->tree.nodes[i].parent != 0) {
		path_of(d, d->tree.nodes[i].parent, text);
		strcat(text, ";");
	}
	strcat(text, d->tree.nodes[i].name);
}

static void
check_side(const struct diff *d, size_t i, const struct model *m, int side)
{
	int64_t self = 0, total = 0;
	char path[128];
	size_t n;

	path_of(d, i, path);
	n = i == 0 ? 0 : strlen(path);
	for (size_t k = 0; k < m->n; k++) {
		const char *p = m->path[k];

		if (n == 0 || (strncmp(p, path, n) == 0 &&
		    (p[n] == '\0' || p[n] == ';')))
			total += m->value[k];
		if (n > 0 && strcmp(p, path) == 0)
			self += m->value[k];
	}
	CHECK_INT(d->sides[i].self[side], self);
	CHECK_INT(d->sides[i].total[side], total);
}

static void
check_model(const struct diff *d, const struct model *a,
    const struct model *b)
{
	for (size_t i = 0; i < d->tree.n_nodes; i++) {
		const struct profile_node *n = &d->tree.nodes[i];

		check_side(d, i, a, DIFF_A);
		check_side(d, i, b, DIFF_B);
		CHECK(i == 0 || n->parent < i);
		CHECK(i == 0 || n->depth == d->tree.nodes[n->parent].depth + 1);
		/* pre-order, each stack once, children by name */
		for (size_t k = i + 1; k < d->tree.n_nodes; k++) {
			if (d->tree.nodes[k].depth <= n->depth) {
				CHECK(d->tree.nodes[k].depth < n->depth ||
				    strcmp(n->name, d->tree.nodes[k].name) < 0);
				break;
			}
		}
	}
}

TEST(random_trees_equal_the_model)
{
	for (int round = 0; round < 300 && !test_bad; round++) {
		struct model a, b;
		struct profile *pa = random_profile(&a);
		struct profile *pb = random_profile(&b);
		struct diff *d = NULL;

		CHECK_OK(diff_new(&d, pa, pb));
		check_model(d, &a, &b);
		diff_free(d);
		profile_free(pa);
		profile_free(pb);
	}
}

int
main(void)
{
	RUN(the_picture_in_the_header);
	RUN(kinds_tell_apart);
	RUN(random_trees_equal_the_model);
	return test_done();
}
