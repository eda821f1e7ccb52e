/*
 * Measures answers of a store that store_bench wrote: how many blocks a range
 * reads, how long it takes to the finished JSON, uncut and with max-nodes
 * 8192, beside merging all its leaves; checks that both ways give the same
 * tree, to the sample, and that no range reads more blocks than it may.
 *
 *	store_ask DIR TIMES
 *
 * Everything that an answer needs is asked for as a page does it: taking up
 * what the writer did, the query, the layout, the text.  Prints lines "name
 * value unit"; exits 1 when something does not hold.
 */
#include <malloc.h>

#include "fcgi/format/flame/flamebearer.h"
#include "store/profile/profile.h"
#include "store/read/reader.h"
#include "workload.h"

#define LONGEST_S 15.0 /* for one row */
#define NAIVE_MOST 259200 /* slots whose leaves are added up: a month */

struct question {
	const char *name;
	int64_t slots; /* 0: random borders, anywhere */
	int64_t most;  /* of random ones; 0: all there is */
};

static const struct question questions[] = {
    {"10s", 1, 0},
    {"1h", 360, 0},
    {"1d", 8640, 0},
    {"30d", 259200, 0},
    {"1y", 3153600, 0},
    {"random_day", 0, 8640},
    {"random", 0, 0},
};
#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

struct asking {
	struct store *s;
	struct selector *selector;
	struct store_extent extent;
	struct population random; /* for roll() alone */
	uint64_t leaves;
	struct buf out;
	double naive_slot_ms; /* of the last naive answer, a slot */
	unsigned times;
	bool failed;
};

/* Says once what does not hold. */
static void
complain(struct asking *x, const char *what)
{
	if (!x->failed)
		fprintf(stderr, "store_ask: %s\n", what);
	x->failed = true;
}

/* The finished JSON of a profile. */
static void
render(struct asking *x, const struct profile *p, int64_t max_nodes)
{
	struct flame_options o = {.max_nodes = max_nodes,
	    .other = "(other)"};
	struct writer w = writer_of(&x->out);
	struct flame *f;

	buf_clear(&x->out);
	must(flame_new(&f, p, &o));
	writer_open(&w, '{');
	flamebearer_put(&w, f);
	writer_close(&w, '}');
	if (f->total != p->nodes[0].total)
		complain(x, "truncation changes the total");
	flame_free(f);
}

/* Picks a range of the store's extent; false when it is too short. */
static bool
pick(struct asking *x, const struct question *q, int64_t *from,
    int64_t *until)
{
	int64_t all = x->extent.until_ns - x->extent.from_ns;
	int64_t most = q->most && q->most * SLOT_NS < all ? q->most * SLOT_NS
	                                                  : all;
	int64_t n = q->slots ? q->slots * SLOT_NS
	                     : 1 + (int64_t)(roll(&x->random) %
	                               (uint64_t)most);

	if (n > all)
		return false;
	*from = x->extent.from_ns;
	if (all > n)
		*from += (int64_t)(roll(&x->random) % (uint64_t)(all - n));
	if (q->slots)
		*from -= *from % SLOT_NS;
	*until = *from + n;
	return true;
}

static double
median(double *values, unsigned n, double share)
{
	qsort(values, n, sizeof(*values), compare_doubles);
	return n == 0 ? 0 : values[(unsigned)((n - 1) * share)] * 1e3;
}

/* Of n slots: 15 blocks of each second level on the way up and down, 7.5
 * log2(n), and of files of 64 slots, of which there are three, each slot. */
#define BOUND "7.5 log2(n) + 192"

static double
bound_share(struct asking *x, const struct profile *p)
{
	int64_t first = p->from_ns / SLOT_NS;
	int64_t last = (p->until_ns + SLOT_NS - 1) / SLOT_NS;
	double n = (double)(last - first), bound = 7.5 * log2(n) + 192;

	if (bound > n)
		bound = n;
	if ((double)p->blocks > bound)
		complain(x, "a range reads more than " BOUND " blocks");
	return (double)p->blocks / bound;
}

/* Cutting in the store gives what cutting the whole tree gives. */
static void
same_cut(struct asking *x, const struct profile_query *q,
    const struct profile *p, int64_t max_nodes)
{
	struct flame_options o = {.max_nodes = max_nodes,
	    .other = "(other)"};
	struct profile *whole;
	struct flame *a, *b;
	bool same;

	must(store_query_profile(x->s, q, &whole));
	must(flame_new(&a, whole, &o));
	must(flame_new(&b, p, &o));
	same = a->n_frames == b->n_frames && a->total == b->total;
	for (size_t i = 0; same && i < a->n_frames; i++)
		same = a->frames[i].total == b->frames[i].total &&
		    a->frames[i].self == b->frames[i].self &&
		    a->frames[i].x == b->frames[i].x &&
		    strcmp(a->names[a->frames[i].name].text,
		        b->names[b->frames[i].name].text) == 0;
	if (!same)
		complain(x, "a tree that the store has cut is another one");
	flame_free(a);
	flame_free(b);
	profile_free(whole);
}

static void
ask(struct asking *x, const struct question *question, const char *cut,
    int64_t max_nodes)
{
	double *wall = calloc(x->times, sizeof(*wall));
	double *cpu = calloc(x->times, sizeof(*cpu));
	double began = seconds(CLOCK_MONOTONIC), share = 0;
	uint64_t most = 0, nodes = 0;
	struct profile_query q = {.selector = x->selector};
	struct profile_limit limit = {
	    max_nodes < 0 ? 0 : (size_t)max_nodes, 0};
	unsigned n = 0;

	while (n < x->times && pick(x, question, &q.from_ns, &q.until_ns) &&
	    (n < 20 || seconds(CLOCK_MONOTONIC) - began < LONGEST_S)) {
		double wall_before = seconds(CLOCK_MONOTONIC);
		double cpu_before = seconds(CLOCK_THREAD_CPUTIME_ID);
		struct profile *p;

		must(store_refresh(x->s));
		must(store_query_profile_largest(x->s, &q, &limit, &p));
		render(x, p, max_nodes);
		wall[n] = seconds(CLOCK_MONOTONIC) - wall_before;
		cpu[n++] = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
		share = fmax(share, bound_share(x, p));
		if (n <= 3 && max_nodes > 0)
			same_cut(x, &q, p, max_nodes);
		most = p->blocks > most ? p->blocks : most;
		nodes = p->n_nodes > nodes ? p->n_nodes : nodes;
		profile_free(p);
	}
	if (n > 0 && max_nodes < 0) {
		printf("store_query_%s_blocks %llu blocks\n", question->name,
		    (unsigned long long)most);
		printf("store_query_%s_bound %.3f of " BOUND "\n",
		    question->name, share);
		printf("store_query_%s_nodes %llu nodes\n", question->name,
		    (unsigned long long)nodes);
	}
	if (n > 0) {
		printf("store_query_%s_%s_p50 %.3f ms\n", question->name, cut,
		    median(wall, n, 0.5));
		printf("store_query_%s_%s_p99 %.3f ms\n", question->name, cut,
		    median(wall, n, 0.99));
		printf("store_query_%s_%s_cpu_p50 %.3f ms\n", question->name,
		    cut, median(cpu, n, 0.5));
		printf("store_query_%s_%s_cpu_p99 %.3f ms\n", question->name,
		    cut, median(cpu, n, 0.99));
	}
	fflush(stdout);
	free(wall);
	free(cpu);
}

/* ---- the same without the tree of levels: all leaves, one by one ---- */

static const struct err *
add_leaf(struct asking *x, struct reader_file *f, uint64_t slot,
    struct node_values *sum)
{
	struct entry_reader r = {0};
	const struct block *b;
	const struct err *e = sealed_block(f->sealed, 0, 0, slot, &b);
	int128 value;
	uint32_t key;

	if (e != NULL || b == NULL)
		return e;
	r.c = b->entries;
	x->leaves++;
	while (entry_next(&r, &key, &value))
		node_values_add(sum, f->stack_nodes[key], value);
	return NULL;
}

static void
add_open(struct openspan *o, uint64_t from, uint64_t until,
    struct node_values *sum)
{
	struct open_walk w;
	struct block b;
	int64_t value;
	uint32_t node;

	for (uint32_t i = 0; i < o->n_named; i++) {
		openspan_walk(&w, o, o->symbols[i], from, until);
		while (openspan_next(&w, &b)) {
			must(openspan_entries(&w));
			while (openspan_entry(&w, &node, &value))
				node_values_add(sum, node, value);
		}
	}
}

/* The sum of the slots [from, until) as a tree.  Files are opened before the
 * sum begins, which numbers all nodes; journals belong to it. */
static void
add_leaves(struct asking *x, uint64_t from, uint64_t until,
    struct profile *p)
{
	struct node_values sum;

	for (uint32_t i = 0; i < x->s->n_files; i++) {
		struct reader_file *f = &x->s->files[i];

		if (f->entry.kind == MANIFEST_SPAN && f->entry.first < until &&
		    f->entry.first + f->entry.slots > from)
			must(reader_need(x->s, f));
	}
	for (uint32_t i = 0; i < x->s->syms.series.n; i++)
		must(reader_need_open(x->s, &i, 1, from, until));
	must(node_values_init(&sum, x->s->syms.n_nodes));
	for (uint32_t i = 0; i < x->s->n_files; i++) {
		struct reader_file *f = &x->s->files[i];
		uint64_t a = f->entry.first, b = a + f->entry.slots;

		if (f->entry.kind != MANIFEST_SPAN || a >= until || b <= from)
			continue;
		for (uint64_t slot = a > from ? a : from;
		     slot < (b < until ? b : until); slot++)
			must(add_leaf(x, f, slot, &sum));
	}
	for (uint32_t j = 0; j < x->s->n_journals; j++)
		add_open(&x->s->journals[j]->span, from, until, &sum);
	must(profile_tree(x->s, &sum, &(struct profile_query){0},
	    &(struct profile_limit){0, 0}, NULL, false, p));
	node_values_fini(&sum);
}

/* Leaves are added up in counts. */
static bool
same_tree(const struct profile *a, const struct profile *leaves)
{
	const struct profile *b = leaves;

	if (a->n_nodes != b->n_nodes)
		return false;
	for (size_t i = 0; i < a->n_nodes; i++) {
		const struct profile_node *x = &a->nodes[i], *y = &b->nodes[i];

		if (x->self != y->self * a->period ||
		    x->total != y->total * a->period ||
		    x->depth != y->depth || strcmp(x->name, y->name) != 0)
			return false;
	}
	return true;
}

static void
ask_naive(struct asking *x, const struct question *question)
{
	struct profile_query q = {.selector = x->selector};
	struct profile leaves = {0}, *tree;
	double before;

	if (question->slots == 0 ||
	    !pick(x, question, &q.from_ns, &q.until_ns))
		return;
	if (question->slots > NAIVE_MOST) {
		printf("store_query_%s_naive %.3f ms (by those of fewer)\n",
		    question->name,
		    x->naive_slot_ms * (double)question->slots);
		return;
	}
	must(store_query_profile(x->s, &q, &tree));
	x->leaves = 0;
	before = seconds(CLOCK_THREAD_CPUTIME_ID);
	add_leaves(x, (uint64_t)(q.from_ns / SLOT_NS),
	    (uint64_t)(q.until_ns / SLOT_NS), &leaves);
	render(x, &leaves, -1);
	printf("store_query_%s_naive_blocks %llu blocks\n", question->name,
	    (unsigned long long)x->leaves);
	before = (seconds(CLOCK_THREAD_CPUTIME_ID) - before) * 1e3;
	printf("store_query_%s_naive %.3f ms\n", question->name, before);
	x->naive_slot_ms = before / (double)question->slots;
	if (!same_tree(tree, &leaves))
		complain(x, "an answer is not the sum of its leaves");
	profile_free(tree);
	free(leaves.nodes);
	buf_fini(&leaves.strings);
}

/* ---- lists ---- */

static bool
count_series(void *arg, const struct series_desc *d, int64_t last_ns)
{
	(void)d;
	(void)last_ns;
	++*(unsigned *)arg;
	return true;
}

/* Which series there are, over all time: again and again, as pages do. */
static void
ask_series(struct store *s)
{
	struct selector *any;
	unsigned n = 0;

	must(selector_parse("{service=~\".*\"}", &any));
	for (int i = 0; i < 3; i++) {
		double before = seconds(CLOCK_MONOTONIC);

		must(store_refresh(s));
		must(store_each_series(s, any, 0, INT64_MAX / 4, count_series,
		    &n));
		printf("store_series_all_%d %.3f ms\n", i,
		    (seconds(CLOCK_MONOTONIC) - before) * 1e3);
	}
	selector_free(any);
}

static void
ask_cold(struct asking *x)
{
	double before = seconds(CLOCK_MONOTONIC);
	struct profile_query q = {.selector = x->selector,
	    .until_ns = INT64_MAX / 2};
	struct profile *p;

	must(store_query_profile(x->s, &q, &p));
	printf("store_query_all_cold %.3f ms\n",
	    (seconds(CLOCK_MONOTONIC) - before) * 1e3);
	printf("store_query_all_samples %.0f samples\n",
	    (double)p->nodes[0].total);
	if (p->nodes[0].total == 0) {
		fprintf(stderr, "store_ask: no samples of kv: store_bench did "
		    "not write this store\n");
		exit(2);
	}
	profile_free(p);
}

int
main(int argc, char **argv)
{
	struct asking x = {.random = {.seed = 7}};

	if (argc != 3) {
		fprintf(stderr, "usage: store_ask DIR TIMES\n");
		return 2;
	}
	mallopt(M_MMAP_THRESHOLD, 32 << 20); /* as memlens-fcgi does */
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	x.times = (unsigned)atoi(argv[2]);
	must(store_open(&x.s, argv[1], 0));
	must(selector_parse("cpu{service=\"kv\"}", &x.selector));
	store_extent(x.s, &x.extent);
	ask_cold(&x);
	for (size_t i = 0; i < QUESTIONS; i++) {
		ask(&x, &questions[i], "json", -1);
		ask(&x, &questions[i], "cut", 8192);
	}
	printf("store_query_rss %.1f MB\n", (double)peak_rss_kb() / 1024);
	ask_series(x.s);
	printf("store_series_rss %.1f MB\n", (double)peak_rss_kb() / 1024);
	for (size_t i = 0; i < QUESTIONS; i++)
		ask_naive(&x, &questions[i]);
	selector_free(x.selector);
	store_close(x.s);
	buf_fini(&x.out);
	return x.failed;
}
