/*
 * A tree node by node beside the tree itself: of random stacks whose functions
 * are of several files, in sealed files and in a journal; and the order of
 * what is shown of many functions, whether they are ranked or not.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/read/reader.h"
#include "tests/unit/store/store_model.h"
#include "tests/unit/test.h"

#define BEGIN 6400
#define SLOTS 200
#define FUNCTIONS 12
#define MANY 9000 /* more than are ranked where little is shown */

static uint32_t
random_stack(struct model *m, struct batch *b)
{
	struct label l = {"pool", roll(m, 2) ? "a" : "b"};
	uint32_t node = batch_node(b, 0, batch_labels(b, &l, 1));

	for (unsigned depth = roll(m, 6); depth > 0; depth--) {
		char name[16];
		struct frame f = {roll(m, 5) ? FRAME_NATIVE : FRAME_KERNEL,
		    name, roll(m, 2) ? "m" : "n.so", "", 0};

		snprintf(name, sizeof(name), "f%u", roll(m, FUNCTIONS));
		node = batch_node(b, node, batch_frame(b, &f));
	}
	return node;
}

static uint32_t
put_series(struct batch *b, enum series_kind kind, const char *name,
    const char *unit, int64_t period)
{
	struct label l = {"service", "kv"};
	struct series_desc d = {kind, name, unit, period, 0, &l, 1};

	return batch_series(b, &d);
}

/* CPU of one period, waits of two, bytes on average. */
static void
put(struct model *m, unsigned slot)
{
	struct batch *b = batch_new((uint64_t)SLOT);
	uint32_t stock = put_series(b, SERIES_STOCK, "inuse", "bytes", 1);
	uint64_t at = BEGIN + slot;

	for (int k = 0; k < 20; k++) {
		int64_t period = roll(m, 2) ? 100 : 300;

		batch_add_profile(b, put_series(b, SERIES_FLOW, "cpu",
		    "nanoseconds", 10101010), at, random_stack(m, b),
		    1 + roll(m, 5));
		batch_add_profile(b, put_series(b, SERIES_FLOW, "wall",
		    "nanoseconds", period), at, random_stack(m, b),
		    1 + roll(m, 5));
	}
	batch_add_profile(b, stock, at, random_stack(m, b), 5);
	batch_observe(b, stock, at, 1);
	CHECK_OK(store_append(m->w, b));
	CHECK_OK(store_tick(m->w, (int64_t)at * SLOT));
	batch_free(b);
}

/* ---- node by node ---- */

/* "f1 n/f2 k ..." of a node, and what it has. */
struct line {
	char path[96];
	int128 self, total;
	struct profile_samples samples;
};

struct given {
	struct line lines[20 * SLOTS * 5]; /* as many as there may be */
	size_t n;
	char path[8][16];
	uint32_t n_names, depth;
	char names[4096][16]; /* by number */
};

static void
line_add(struct given *g, const struct profile_node *n,
    const struct profile_samples *samples)
{
	struct line *to = &g->lines[g->n++];
	struct buf path = {0};

	memset(to, 0, sizeof(*to));
	CHECK(n->depth >= 1 && n->depth <= g->depth + 1 && n->depth < 8);
	g->depth = n->depth;
	snprintf(g->path[n->depth], sizeof(g->path[0]), "%s%s%d/", n->name,
	    n->module, n->kind);
	for (uint32_t d = 1; d <= n->depth; d++)
		buf_put(&path, g->path[d], strlen(g->path[d]));
	CHECK(path.len < sizeof(to->path));
	if (path.len > 0 && path.len < sizeof(to->path))
		memcpy(to->path, path.data, path.len);
	buf_fini(&path);
	to->self = n->self;
	to->total = n->total;
	if (samples != NULL)
		to->samples = *samples;
}

static bool
given_begin(void *arg, uint32_t n_names)
{
	struct given *g = arg;

	CHECK(n_names > 0 && n_names < 4096);
	g->n_names = n_names;
	return true;
}

static bool
given_take(void *arg, const struct profile_node *n, uint32_t name,
    const struct profile_samples *samples)
{
	struct given *g = arg;

	CHECK(name < g->n_names);
	if (g->names[name][0] == '\0')
		snprintf(g->names[name], sizeof(g->names[0]), "%s", n->name);
	CHECK_STR(g->names[name], n->name);
	line_add(g, n, samples);
	return true;
}

static int
line_compare(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->path,
	    ((const struct line *)b)->path);
}

static void
check_root(const struct profile *p, const struct profile *root)
{
	struct profile_samples all, whole;

	CHECK_INT(root->n_nodes, 1);
	CHECK(root->nodes[0].total == p->nodes[0].total &&
	    root->nodes[0].self == p->nodes[0].total);
	CHECK(profile_samples(p, 0, &all) == profile_samples(root, 0, &whole));
	CHECK(whole.total == all.total && whole.self == all.total &&
	    whole.total_unknown == all.total_unknown &&
	    whole.self_unknown == all.total_unknown);
	CHECK_INT(root->slots, p->slots);
	CHECK_INT(root->stacks, p->stacks);
	CHECK_INT(root->period, p->period);
	CHECK_STR(root->unit, p->unit);
}

static void
check_range(struct store *s, const struct selector *sel, int64_t from,
    int64_t until)
{
	static struct given want, got;
	struct profile_query q = {sel, from, until, NULL, false};
	const struct profile_each each = {given_begin, given_take, &got};
	struct profile *p = NULL, *root = NULL;

	want.n = got.n = 0;
	want.depth = got.depth = 0;
	memset(got.names, 0, sizeof(got.names));
	CHECK_OK(store_query_profile(s, &q, &p));
	CHECK_OK(store_query_each(s, &q, &each, &root));
	for (size_t i = 1; i < p->n_nodes; i++)
		line_add(&want, &p->nodes[i],
		    p->samples != NULL ? &p->samples[i] : NULL);
	CHECK_INT(got.n, want.n);
	qsort(got.lines, got.n, sizeof(got.lines[0]), line_compare);
	qsort(want.lines, want.n, sizeof(want.lines[0]), line_compare);
	CHECK(memcmp(got.lines, want.lines,
	    want.n * sizeof(want.lines[0])) == 0);
	check_root(p, root);
	profile_free(p);
	profile_free(root);
}

/* As where so much is kept that all of it goes after the question. */
static void
be_over(struct store *s)
{
	s->limit = (size_t)0 - (48u << 20);
	CHECK(reader_is_over(s));
}

static void
check_ranges(struct model *m, struct store *s, const char *text)
{
	struct selector *sel = NULL;

	CHECK_OK(selector_parse(text, &sel));
	check_range(s, sel, BEGIN * SLOT, (BEGIN + SLOTS) * SLOT);
	check_range(s, sel, 0, SLOT);
	for (int k = 0; k < 12; k++) {
		int64_t a = BEGIN * SLOT + rand_r(&m->seed) * SLOT / 9 %
		    (SLOTS * SLOT);

		check_range(s, sel, a, a + 1 + rand_r(&m->seed) * SLOT / 7 %
		    (30 * SLOT));
	}
	selector_free(sel);
}

TEST(nodes_are_those_of_the_tree)
{
	static const char *const asked[] = {"cpu", "wall{service=\"kv\"}",
	    "cpu{pool=\"a\"}", "cpu{service=\"none\"}"};
	struct store *s = NULL;
	struct model m;

	model_init(&m, 3);
	for (unsigned slot = 0; slot < SLOTS; slot++)
		put(&m, slot);
	for (int over = 0; over < 2; over++) {
		CHECK_OK(store_open(&s, m.dir, 0));
		if (over)
			be_over(s);
		for (int i = 0; i < 4; i++)
			check_ranges(&m, s, asked[i]);
		store_close(s);
	}
	model_fini(&m);
}

/* The tree of a range, of a reader that has read another one before. */
static struct profile *
tree_after(const struct model *m, const struct selector *sel, unsigned before)
{
	struct profile_query q = {sel, (BEGIN + before) * SLOT,
	    (BEGIN + before + 1) * SLOT, NULL, false};
	struct profile *p = NULL;
	struct store *s = NULL;

	CHECK_OK(store_open(&s, m->dir, 0));
	CHECK_OK(store_query_profile(s, &q, &p));
	profile_free(p);
	q.from_ns = BEGIN * SLOT;
	q.until_ns = (BEGIN + SLOTS) * SLOT;
	CHECK_OK(store_query_profile(s, &q, &p));
	store_close(s);
	return p;
}

/* Where two files have functions of one name, which one was told changed from
 * worker to worker. */
TEST(what_was_read_before_changes_no_answer)
{
	struct profile *first, *other;
	struct selector *sel = NULL;
	struct model m;

	model_init(&m, 5);
	for (unsigned slot = 0; slot < SLOTS; slot++)
		put(&m, slot);
	CHECK_OK(selector_parse("cpu", &sel));
	first = tree_after(&m, sel, 0);
	for (unsigned k = 1; k < SLOTS; k += 33) {
		other = tree_after(&m, sel, k);
		CHECK_INT(other->n_nodes, first->n_nodes);
		for (size_t i = 0; i < first->n_nodes &&
		     i < other->n_nodes; i++) {
			CHECK_STR(other->nodes[i].name, first->nodes[i].name);
			CHECK_STR(other->nodes[i].module,
			    first->nodes[i].module);
		}
		profile_free(other);
	}
	profile_free(first);
	selector_free(sel);
	model_fini(&m);
}

TEST(a_mean_is_its_tree)
{
	static struct given got;
	struct profile_query q = {NULL, BEGIN * SLOT, (BEGIN + 9) * SLOT,
	    NULL, false};
	const struct profile_each each = {given_begin, given_take, &got};
	struct profile *p = NULL, *tree = NULL;
	struct selector *sel = NULL;
	struct store *s = NULL;
	struct model m;

	model_init(&m, 4);
	for (unsigned slot = 0; slot < 9; slot++)
		put(&m, slot);
	CHECK_OK(selector_parse("inuse", &sel));
	q.selector = sel;
	CHECK_OK(store_open(&s, m.dir, 0));
	CHECK_OK(store_query_profile(s, &q, &p));
	CHECK_OK(store_query_each(s, &q, &each, &tree));
	CHECK_INT(got.n, 0);
	CHECK_INT(tree->n_nodes, p->n_nodes);
	CHECK(tree->n_nodes > 1 && tree->nodes[0].total == p->nodes[0].total);
	profile_free(p);
	profile_free(tree);
	store_close(s);
	selector_free(sel);
	model_fini(&m);
}

/* ---- order ---- */

static void
put_many(struct model *m)
{
	struct batch *b = batch_new((uint64_t)SLOT);
	uint32_t cpu = put_series(b, SERIES_FLOW, "cpu", "nanoseconds", 1);
	uint32_t top = batch_node(b, 0, batch_labels(b, NULL, 0));

	for (uint32_t i = 0; i < MANY; i++) {
		char name[32];
		struct frame f = {FRAME_NATIVE, name, "m", "", 0};

		/* numbers of 1 to 4 digits, in no order */
		snprintf(name, sizeof(name), "g%u", i * 7919 % MANY);
		batch_add_profile(b, cpu, BEGIN, batch_node(b, batch_node(b,
		    top, batch_frame(b, &(struct frame){FRAME_NATIVE,
		    i % 2 ? "odd" : "even", "m", "", 0})), batch_frame(b, &f)),
		    1 + i % 1000);
	}
	CHECK_OK(store_append(m->w, b));
	batch_free(b);
}

static void
check_largest(struct store *s, const struct profile_query *q, size_t n,
    struct buf *names)
{
	const struct profile_limit limit = {n, 0};
	const char *last[8] = {""};
	int128 total = 0;
	struct profile *p = NULL;
	uint32_t depth = 0;

	CHECK_OK(store_query_profile_largest(s, q, &limit, &p));
	for (size_t i = 1; i < p->n_nodes; i++) {
		const struct profile_node *x = &p->nodes[i];

		total += x->self;
		if (p->cut != NULL && p->cut[i] != 0) {
			CHECK(x->parent < i &&
			    p->nodes[x->parent].depth + 1 == x->depth);
			continue;
		}
		if (x->depth <= depth)
			CHECK(strcmp(last[x->depth], x->name) < 0);
		last[x->depth] = x->name;
		depth = x->depth;
		buf_put_str(names, x->name);
	}
	CHECK(total == p->nodes[0].total);
	CHECK(p->n_nodes >= (n > 0 ? n : MANY + 3));
	profile_free(p);
}

TEST(names_are_in_order_with_and_without_ranks)
{
	struct profile_query q = {NULL, 0, (BEGIN + 1) * SLOT, NULL, false};
	struct buf names[2] = {{0}};
	struct selector *sel = NULL;
	struct store *s = NULL;
	struct model m;

	model_init(&m, 5);
	put_many(&m);
	CHECK_OK(selector_parse("cpu", &sel));
	q.selector = sel;
	CHECK_OK(store_open(&s, m.dir, 0));
	check_largest(s, &q, 300, &names[0]);
	CHECK_INT(s->shown.n_sorted, 0);
	check_largest(s, &q, 0, &names[1]);
	buf_clear(&names[1]);
	CHECK(s->shown.n_sorted > MANY);
	check_largest(s, &q, 300, &names[1]);
	CHECK(names[0].len > 0 && names[0].len == names[1].len &&
	    memcmp(names[0].data, names[1].data, names[0].len) == 0);
	buf_fini(&names[0]);
	buf_fini(&names[1]);
	store_close(s);
	selector_free(sel);
	model_fini(&m);
}

int
main(void)
{
	RUN(nodes_are_those_of_the_tree);
	RUN(what_was_read_before_changes_no_answer);
	RUN(a_mean_is_its_tree);
	RUN(names_are_in_order_with_and_without_ranks);
	return test_done();
}
