/*
 * Tables and sandwiches against sums that are made from the stacks one by
 * one: for each stack and each function on it, once.
 */
#include <stdlib.h>

#include "fcgi/format/flame/diff.h"
#include "fcgi/format/flame/sandwich.h"
#include "fcgi/format/flame/table.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

#define NAMES 6
#define DEPTH 7
#define STACKS 60

static const char *const names[NAMES] = {"a", "b", "c", "d", "e", "f"};

/* Stacks as lists of names, their values, and the tree that they make. */
struct sample {
	int depth, frames[DEPTH];
	int64_t value;
};

struct world {
	struct sample samples[STACKS];
	int n;
	struct profile *p;
};

static unsigned seed = 1;

static int
rnd(int n)
{
	seed = seed * 1103515245u + 12345u;
	return (int)(seed >> 16) % n;
}

static int
sample_compare(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	for (int i = 0; i < x->depth && i < y->depth; i++)
		if (x->frames[i] != y->frames[i])
			return x->frames[i] - y->frames[i];
	return x->depth - y->depth;
}

/* How many frames two stacks share from the root. */
static int
shared(const struct sample *x, const struct sample *y)
{
	int i = 0;

	while (i < x->depth && i < y->depth && x->frames[i] == y->frames[i])
		i++;
	return i;
}

/* Sorted stacks are a tree in pre-order. */
static void
world_tree(struct world *w)
{
	static const struct sample none;
	uint32_t path[DEPTH + 1] = {0};
	struct profile *p = calloc(1, sizeof(*p));

	p->nodes = calloc(1 + STACKS * DEPTH, sizeof(*p->nodes));
	p->nodes[0].name = "";
	p->nodes[0].module = "";
	p->n_nodes = 1;
	p->period = 1;
	qsort(w->samples, (size_t)w->n, sizeof(*w->samples), sample_compare);
	for (int i = 0; i < w->n; i++) {
		const struct sample *s = &w->samples[i];
		int from = shared(i ? &w->samples[i - 1] : &none, s);

		for (int d = from; d < s->depth; d++) {
			struct profile_node *n = &p->nodes[p->n_nodes];

			n->name = names[s->frames[d]];
			n->module = "";
			n->kind = FRAME_NATIVE;
			n->depth = (uint32_t)d + 1;
			n->parent = path[d];
			path[d + 1] = (uint32_t)p->n_nodes++;
		}
		p->nodes[path[s->depth]].self += s->value;
	}
	for (size_t i = p->n_nodes; i-- > 0;) {
		p->nodes[i].total += p->nodes[i].self;
		if (i > 0)
			p->nodes[p->nodes[i].parent].total +=
			    p->nodes[i].total;
	}
	w->p = p;
}

static void
world_init(struct world *w)
{
	*w = (struct world){.n = 1 + rnd(STACKS)};
	for (int i = 0; i < w->n; i++) {
		w->samples[i].depth = 1 + rnd(DEPTH);
		w->samples[i].value = 1 + rnd(9);
		for (int d = 0; d < w->samples[i].depth; d++)
			w->samples[i].frames[d] = rnd(NAMES);
	}
	world_tree(w);
}

static bool
on_stack(const struct sample *s, int name)
{
	for (int d = 0; d < s->depth; d++)
		if (s->frames[d] == name)
			return true;
	return false;
}

static int64_t
naive(const struct world *w, int name, bool self)
{
	int64_t sum = 0;

	for (int i = 0; i < w->n; i++) {
		const struct sample *s = &w->samples[i];

		if (self ? s->frames[s->depth - 1] == name : on_stack(s, name))
			sum += s->value;
	}
	return sum;
}

static struct flame *
whole(const struct profile *p)
{
	struct flame_options o = {.max_nodes = -1, .other = "(other)"};
	struct flame *f;

	CHECK_OK(flame_new(&f, p, &o));
	return f;
}

static const struct table_row *
row(const struct table *t, const char *name)
{
	for (size_t i = 0; i < t->n_rows; i++)
		if (strcmp(t->rows[i].name, name) == 0)
			return &t->rows[i];
	return NULL;
}

/* Chosen while the table is made, or sorted afterwards. */
static void
check_chosen(const struct flame *f, struct table *all, int round)
{
	struct table_choice c = {(enum table_order)(round % 3), round % 2,
	    (size_t)(round % 9), NULL};
	struct table *t;

	table_first(all, c.order, NULL, c.last, all->n_rows);
	CHECK_OK(table_of_flame_first(&t, f, &c));
	CHECK_INT(t->n_all, all->n_rows);
	CHECK_INT(t->n_rows, c.n < all->n_rows ? c.n : all->n_rows);
	for (size_t i = 0; i < t->n_rows; i++) {
		CHECK_STR(t->rows[i].name, all->rows[i].name);
		CHECK(memcmp(&t->rows[i].has, &all->rows[i].has,
		    sizeof(t->rows[i].has)) == 0);
	}
	table_free(t);
}

/* The same of nodes as they come: kinds of frames that are one kind of code
 * are one function, what is inlined is another. */
static void
check_given(struct profile *p, int round)
{
	static const enum frame_kind kinds[] = {FRAME_NATIVE, FRAME_MANAGED,
	    FRAME_KERNEL, FRAME_BPF, FRAME_INLINED};
	static const char *const modules[] = {"", "lib.so.1"};
	struct table_choice c = {(enum table_order)(round % 3), round % 2,
	    (size_t)(round % 9), NULL};
	struct table_sums *sums = table_sums_new();
	struct table *t, *u;
	struct flame *f;

	for (size_t i = 1; i < p->n_nodes; i++) {
		p->nodes[i].kind = kinds[rnd(5)];
		p->nodes[i].module = modules[rnd(2)];
	}
	if (round % 4 == 0) {
		p->period = 0;
		p->samples = calloc(p->n_nodes, sizeof(*p->samples));
		for (size_t i = p->n_nodes; i-- > 0;) {
			struct profile_samples *s = &p->samples[i];

			if (p->nodes[i].self != 0)
				*s = (struct profile_samples){rnd(3), rnd(5),
				    s->total, s->total_unknown};
			s->total += s->self;
			s->total_unknown += s->self_unknown;
			if (i == 0)
				break;
			p->samples[p->nodes[i].parent].total += s->total;
			p->samples[p->nodes[i].parent].total_unknown +=
			    s->total_unknown;
		}
	}
	f = whole(p);
	CHECK(table_sums_begin(sums, NAMES));
	for (size_t i = 1; i < p->n_nodes; i++)
		CHECK(table_sums_take(sums, &p->nodes[i],
		    (uint32_t)(p->nodes[i].name[0] - 'a'),
		    p->samples != NULL ? &p->samples[i] : NULL));
	CHECK_OK(table_of_flame_first(&t, f, &c));
	CHECK_OK(table_of_sums_first(&u, sums, p, &c));
	table_sums_free(sums);
	CHECK_INT(u->n_rows, t->n_rows);
	CHECK_INT(u->n_all, t->n_all);
	CHECK(u->sampled == t->sampled && u->unknown == t->unknown &&
	    u->sum[0] == t->sum[0]);
	for (size_t i = 0; i < t->n_rows; i++) {
		CHECK_STR(u->rows[i].name, t->rows[i].name);
		CHECK_INT(u->rows[i].kind, t->rows[i].kind);
		CHECK(memcmp(&u->rows[i].has, &t->rows[i].has,
		    sizeof(t->rows[i].has)) == 0);
	}
	table_free(t);
	table_free(u);
	flame_free(f);
}

TEST(nodes_that_nobody_keeps_make_the_same_table)
{
	for (int round = 0; round < 300; round++) {
		struct world w;

		world_init(&w);
		check_given(w.p, round);
		profile_free(w.p);
	}
}

TEST(each_function_once_a_stack)
{
	for (int round = 0; round < 200; round++) {
		struct world w;
		struct flame *f;
		struct table *t;
		struct table_row one;
		int128 sum = 0;

		world_init(&w);
		f = whole(w.p);
		CHECK_OK(table_of_flame(&t, f));
		for (int k = 0; k < NAMES; k++) {
			const struct table_row *r = row(t, names[k]);
			bool there = table_of_name(f, names[k], &one);

			CHECK(there == (r != NULL));
			CHECK_INT(one.has.self[0], naive(&w, k, true));
			CHECK_INT(one.has.total[0], naive(&w, k, false));
			CHECK(r == NULL || memcmp(&r->has, &one.has,
			    sizeof(r->has)) == 0);
			sum += one.has.self[0];
		}
		CHECK(sum == t->sum[0] && sum == w.p->nodes[0].total);
		check_chosen(f, t, round);
		table_free(t);
		flame_free(f);
		profile_free(w.p);
	}
}

TEST(two_profiles_in_one_table)
{
	for (int round = 0; round < 100; round++) {
		struct world w[2];
		struct diff *d;
		struct table *t;

		world_init(&w[0]);
		world_init(&w[1]);
		CHECK_OK(diff_new(&d, w[0].p, w[1].p));
		CHECK_OK(table_of_diff(&t, d));
		for (int k = 0; k < NAMES; k++) {
			const struct table_row *r = row(t, names[k]);

			for (int side = 0; r != NULL && side < 2; side++) {
				CHECK_INT(r->has.self[side],
				    naive(&w[side], k, true));
				CHECK_INT(r->has.total[side],
				    naive(&w[side], k, false));
			}
			CHECK(r != NULL || (naive(&w[0], k, false) == 0 &&
			    naive(&w[1], k, false) == 0));
		}
		CHECK(t->sum[0] == w[0].p->nodes[0].total);
		CHECK(t->sum[1] == w[1].p->nodes[0].total);
		table_free(t);
		diff_free(d);
		profile_free(w[0].p);
		profile_free(w[1].p);
	}
}

/* Stacks that pass through a function, cut at its outermost frame and read
 * from there: do they end in `n`'s path, and what do they weigh? */
static int64_t
naive_side(const struct world *w, int name, const struct profile *p,
    uint32_t node, bool callers)
{
	int path[DEPTH + 1], depth = 0;
	int64_t sum = 0;

	for (uint32_t i = node; i != 0; i = p->nodes[i].parent)
		path[depth++] = p->nodes[i].name[0] - 'a';
	for (int i = 0; i < w->n; i++) {
		const struct sample *s = &w->samples[i];
		int at = 0, k = 0;

		while (at < s->depth && s->frames[at] != name)
			at++;
		if (at == s->depth)
			continue;
		for (; k < depth; k++) {
			int d = callers ? at - k : at + k;

			if (d < 0 || d >= s->depth ||
			    s->frames[d] != path[depth - 1 - k])
				break;
		}
		if (k == depth)
			sum += s->value;
	}
	return sum;
}

static void
check_side(const struct world *w, int name, const struct profile *p,
    bool callers)
{
	int128 self = 0;

	for (uint32_t i = 1; i < p->n_nodes; i++) {
		const struct profile_node *n = &p->nodes[i];

		CHECK_INT(n->total, naive_side(w, name, p, i, callers));
		CHECK(n->depth == p->nodes[n->parent].depth + 1);
		CHECK(n->parent < i && n->self >= 0);
		self += n->self;
	}
	CHECK(self == p->nodes[0].total);
}

TEST(sandwiches_add_up)
{
	for (int round = 0; round < 60; round++) {
		struct world w;
		struct flame *f;
		struct sandwich *s;

		world_init(&w);
		f = whole(w.p);
		for (int k = 0; k < NAMES; k++) {
			CHECK_OK(sandwich_new(&s, f, names[k]));
			CHECK_INT(s->total, naive(&w, k, false));
			CHECK_INT(s->self, naive(&w, k, true));
			CHECK(s->callers->nodes[0].total == s->total);
			check_side(&w, k, s->callers, true);
			check_side(&w, k, s->callees, false);
			sandwich_free(s);
		}
		CHECK_OK(sandwich_new(&s, f, "nobody"));
		CHECK(s->total == 0 && s->callers->n_nodes == 1 &&
		    s->callees->n_nodes == 1);
		sandwich_free(s);
		flame_free(f);
		profile_free(w.p);
	}
}

static void
check_order(struct table *t, enum table_order order, const char *want)
{
	static const double weight[2] = {1, 0.5};
	char got[16];
	size_t i = 0;

	table_sort(t, order, weight);
	for (; i < t->n_rows; i++)
		got[i] = t->rows[i].name[0];
	got[i] = '\0';
	CHECK_STR(got, want);
}

TEST(orders)
{
	struct table_row rows[] = {
	    {"b", FLAME_USER, {.self = {1, 8}, .total = {9, 9}}},
	    {"a", FLAME_USER, {.self = {5, 5}, .total = {5, 5}}},
	    {"c", FLAME_USER, {.self = {0, 40}, .total = {0, 60}}}};
	struct table t = {rows, 3, 0, {6, 53}, false, false, {0}};

	check_order(&t, TABLE_NAME, "abc");
	check_order(&t, TABLE_SELF, "cab");
	check_order(&t, TABLE_TOTAL, "cba");
	check_order(&t, TABLE_SELF_DIFFERENCE, "cba");
	check_order(&t, TABLE_TOTAL_DIFFERENCE, "cba");
}

/* The first of many, and the last, as sorting all of them has them. */
TEST(the_first_are_those_of_all)
{
	enum { N = 300 };
	struct table_row all[N], some[N];
	struct table t = {all, N, 0, {0, 0}, false, false, {0}}, u = t;
	char text[N][8];
	unsigned roll = 5;

	for (int round = 0; round < 60; round++) {
		enum table_order order = (enum table_order)(round % 3);
		size_t n = (size_t)rand_r(&roll) % (N + 20);
		bool last = rand_r(&roll) % 2;
		unsigned wrong = 0;

		for (int i = 0; i < N; i++) {
			snprintf(text[i], sizeof(text[i]), "f%d",
			    (i * 7 + round) % N);
			some[i] = all[i] = (struct table_row){text[i],
			    FLAME_USER, {.self = {rand_r(&roll) % 9, 0},
			    .total = {rand_r(&roll) % 50, 0}}};
		}
		u.rows = some;
		table_sort(&t, order, NULL);
		table_first(&u, order, NULL, last, n);
		for (size_t i = 0; i < n && i < N; i++)
			wrong += some[i].name != all[last ? N - 1 - i
			                                  : i].name;
		CHECK_INT(wrong, 0);
	}
}

TEST(one_name_of_two_kinds)
{
	struct profile_node nodes[] = {{"", "", FRAME_MARK, 0, 0, 0, 0, 5},
	    {"x", "", FRAME_NATIVE, 1, 0, 0, 2, 5},
	    {"x", "", FRAME_KERNEL, 2, 1, 0, 3, 3}};
	struct profile p = {.nodes = nodes, .n_nodes = 3, .period = 1};
	struct flame *f = whole(&p);
	struct table *t;
	struct table_row r;

	CHECK_OK(table_of_flame(&t, f));
	CHECK_INT(t->n_rows, 2);
	CHECK(table_of_name(f, "x", &r));
	CHECK(r.has.self[0] == 5 && r.has.total[0] == 5);
	CHECK(r.has.self_samples[0] == 5 && r.has.total_samples[0] == 5);
	table_free(t);
	flame_free(f);
}

int
main(void)
{
	RUN(each_function_once_a_stack);
	RUN(nodes_that_nobody_keeps_make_the_same_table);
	RUN(two_profiles_in_one_table);
	RUN(sandwiches_add_up);
	RUN(orders);
	RUN(the_first_are_those_of_all);
	RUN(one_name_of_two_kinds);
	return test_done();
}
