/*
 * The store against a naive model: every batch is also kept in a plain list;
 * every answer must equal what the list gives.
 */
#include "store/store.h"
#include "store/base/err.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOT INT64_C(1000000000)
#define STACKS 40
#define SERVICES 3
#define FIRST 4000 /* slot at which the clock starts: below a full span */

/* One put: a service's stack got value in slot. */
struct put {
	uint64_t slot;
	int service, stack, value;
};

struct gauge_put {
	uint64_t slot;
	int series, value;
};

struct model {
	char dir[64];
	struct store_writer *w;
	struct store_options options;
	struct put *puts;
	size_t n_puts, cap_puts;
	struct gauge_put *gauges;
	size_t n_gauges, cap_gauges;
	uint64_t now;
	unsigned seed;
};

static unsigned
roll(struct model *m, unsigned n)
{
	return (unsigned)rand_r(&m->seed) % n;
}

static void
model_open(struct model *m)
{
	CHECK_OK(store_writer_open(&m->w, m->dir, &m->options));
}

static void
model_init(struct model *m, unsigned seed)
{
	memset(m, 0, sizeof(*m));
	m->seed = seed;
	m->now = FIRST;
	snprintf(m->dir, sizeof(m->dir), "%s/test-store-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(m->dir) == NULL)
		abort();
	m->options = (struct store_options){.slot_ns = SLOT,
	    .no_thread = true};
	model_open(m);
}

static void
model_fini(struct model *m)
{
	char command[128];

	CHECK_OK(store_writer_close(m->w));
	snprintf(command, sizeof(command), "rm -rf %s", m->dir);
	CHECK(system(command) == 0);
	free(m->puts);
	free(m->gauges);
}

/* Stack s: f(s%4) ; g(s%7) ; ... a small tree with shared prefixes, in one
 * of two pools. */
static uint32_t
stack_node(struct batch *b, int stack)
{
	struct label pool = {"pool", stack % 2 ? "odd" : "even"};
	uint32_t node = batch_node(b, 0, batch_labels(b, &pool, 1));
	char name[32];

	for (int depth = 0, rest = stack; depth < 3; depth++, rest /= 4) {
		struct frame f = {FRAME_NATIVE, name, "kv", "b1", 16};

		snprintf(name, sizeof(name), "fn_%d_%d", depth, rest % 4);
		node = batch_node(b, node, batch_frame(b, &f));
	}
	return node;
}

static uint32_t
service_series(struct batch *b, int service)
{
	char name[16];
	struct label l = {"service", name};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10101010,
	    0, &l, 1};

	snprintf(name, sizeof(name), "s%d", service);
	return batch_series(b, &d);
}

static uint32_t
metric_series_of(struct batch *b, int i)
{
	char name[16];
	struct label l = {"device", name};
	struct series_desc g = {SERIES_GAUGE, "load", "", 0, 2, &l, 1};
	struct series_desc c = {SERIES_COUNTER, "reads_total", "", 0, 0, &l,
	    1};

	snprintf(name, sizeof(name), "d%d", i / 2);
	return batch_series(b, i % 2 ? &c : &g);
}

static void
model_put(struct model *m, struct batch *b, uint64_t slot)
{
	struct put p = {slot, (int)roll(m, SERVICES), (int)roll(m, STACKS),
	    (int)roll(m, 30) + 1};

	if (m->n_puts == m->cap_puts) {
		m->cap_puts = m->cap_puts ? m->cap_puts * 2 : 1024;
		m->puts = realloc(m->puts, m->cap_puts * sizeof(p));
	}
	m->puts[m->n_puts++] = p;
	batch_add_profile(b, service_series(b, p.service), slot,
	    stack_node(b, p.stack), p.value);
}

static void
model_gauge(struct model *m, struct batch *b, uint64_t slot)
{
	struct gauge_put p = {slot, (int)roll(m, 6), (int)roll(m, 1000)};
	uint32_t s = metric_series_of(b, p.series);

	if (m->n_gauges == m->cap_gauges) {
		m->cap_gauges = m->cap_gauges ? m->cap_gauges * 2 : 1024;
		m->gauges = realloc(m->gauges, m->cap_gauges * sizeof(p));
	}
	m->gauges[m->n_gauges++] = p;
	if (p.series % 2)
		batch_add_counter(b, s, slot, (int64_t)slot * SLOT + 5,
		    p.value, p.value * 7);
	else
		batch_add_gauge(b, s, slot, (int64_t)slot * SLOT + 5,
		    p.value - 500);
}

/* A batch of the present slot, sometimes with late or early blocks. */
static void
model_batch(struct model *m)
{
	struct batch *b = batch_new((uint64_t)SLOT);
	unsigned n = roll(m, 12);

	for (unsigned i = 0; i < n; i++)
		model_put(m, b, m->now);
	for (unsigned i = 0; i < n / 2; i++)
		model_gauge(m, b, m->now);
	if (roll(m, 40) == 0)
		model_put(m, b, m->now - roll(m, 3000) - 1);
	if (roll(m, 100) == 0)
		model_gauge(m, b, m->now - roll(m, 300) - 1);
	if (roll(m, 200) == 0)
		model_put(m, b, m->now + roll(m, 200));
	CHECK_OK(store_append(m->w, b));
	if (roll(m, 50) == 0)
		CHECK_OK(store_append(m->w, b)); /* the same one again */
	batch_free(b);
}

static void
model_run(struct model *m, unsigned slots)
{
	for (unsigned i = 0; i < slots; i++) {
		CHECK_OK(store_tick(m->w, (int64_t)m->now * SLOT + SLOT / 2));
		if (roll(m, 20) != 0) /* else a gap */
			model_batch(m);
		m->now++;
		if (roll(m, 400) == 0)
			m->now += roll(m, 300); /* an outage */
		if (roll(m, 150) == 0) { /* a restart */
			CHECK_OK(store_writer_close(m->w));
			model_open(m);
		}
	}
}

/* ---- answers ---- */

static int128
naive_total(const struct model *m, int service, int64_t from, int64_t until)
{
	int128 sum = 0;

	for (size_t i = 0; i < m->n_puts; i++) {
		int64_t at = (int64_t)m->puts[i].slot * SLOT;

		if ((service < 0 || m->puts[i].service == service) &&
		    at >= from && at < until)
			sum += m->puts[i].value;
	}
	return sum;
}

static struct profile *
ask(struct store *s, const char *text, int64_t from, int64_t until,
    const char *split)
{
	struct profile_query q = {NULL, from, until, split};
	struct profile *p = NULL;
	struct selector *sel;

	CHECK_OK(selector_parse(text, &sel));
	q.selector = sel;
	CHECK_OK(store_query_profile(s, &q, &p));
	selector_free(sel);
	return p;
}

static int128
ask_total(struct store *s, const char *text, int64_t from, int64_t until)
{
	struct profile *p = ask(s, text, from, until, NULL);
	int128 total = p ? p->nodes[0].total : -1;

	profile_free(p);
	return total;
}

/* The tree is in order: totals add up, names rise among siblings. */
static void
check_tree(const struct profile *p)
{
	int128 *sum = calloc(p->n_nodes, sizeof(*sum));

	for (size_t i = p->n_nodes; i-- > 1;) {
		const struct profile_node *n = &p->nodes[i];

		CHECK(n->parent < i);
		CHECK(n->depth == p->nodes[n->parent].depth + 1);
		sum[i] += n->self;
		CHECK(sum[i] == n->total);
		sum[n->parent] += n->total;
	}
	CHECK(sum[0] + p->nodes[0].self == p->nodes[0].total);
	for (size_t i = 1; i < p->n_nodes; i++) {
		for (size_t k = i + 1; k < p->n_nodes; k++) {
			if (p->nodes[k].depth < p->nodes[i].depth)
				break;
			if (p->nodes[k].depth > p->nodes[i].depth)
				continue;
			CHECK(strcmp(p->nodes[i].name, p->nodes[k].name) < 0);
			break;
		}
	}
	free(sum);
}

static int128
naive_stack(const struct model *m, int stack_parent, int64_t from,
    int64_t until)
{
	int128 sum = 0;

	for (size_t i = 0; i < m->n_puts; i++) {
		int64_t at = (int64_t)m->puts[i].slot * SLOT;

		if (m->puts[i].stack % 4 == stack_parent && at >= from &&
		    at < until)
			sum += m->puts[i].value;
	}
	return sum;
}

static void
check_nodes(struct model *m, struct store *s, int64_t from, int64_t until)
{
	struct profile *p = ask(s, "cpu", from, until, NULL);
	int128 seen[4] = {0};

	if (p == NULL)
		return;
	check_tree(p);
	for (size_t i = 1; i < p->n_nodes; i++) {
		if (p->nodes[i].depth == 1)
			seen[p->nodes[i].name[5] - '0'] += p->nodes[i].total;
	}
	for (int i = 0; i < 4; i++)
		CHECK(seen[i] == naive_stack(m, i, from, until));
	profile_free(p);
}

static void
check_split(struct model *m, struct store *s)
{
	int64_t until = (int64_t)(m->now + 1000) * SLOT;
	struct profile *p = ask(s, "cpu", 0, until, "pool");
	int128 odd = 0;

	for (size_t i = 0; i < m->n_puts; i++)
		odd += m->puts[i].stack % 2 ? m->puts[i].value : 0;
	CHECK(ask_total(s, "cpu{pool=\"odd\"}", 0, until) == odd);
	CHECK(ask_total(s, "cpu{pool!=\"odd\"}", 0, until) ==
	    naive_total(m, -1, 0, until) - odd);
	if (p == NULL)
		return;
	check_tree(p);
	for (size_t i = 1; i < p->n_nodes; i++) {
		if (p->nodes[i].depth == 1 &&
		    strcmp(p->nodes[i].name, "odd") == 0)
			CHECK(p->nodes[i].total == odd);
	}
	profile_free(p);
}

/* Borders in the middle of slots: parts add up to the whole. */
static void
check_partition(struct model *m, struct store *s)
{
	int64_t a = (int64_t)(FIRST + roll(m, (unsigned)(m->now - FIRST))) *
	    SLOT;
	int64_t whole_until = a + (int64_t)roll(m, 200) * SLOT + SLOT, at = a;
	int128 sum = 0;

	while (at < whole_until) {
		int64_t next = at + 1 + (int64_t)roll(m, 1000000000) *
		    (1 + (int64_t)roll(m, 30));

		if (next > whole_until)
			next = whole_until;
		sum += ask_total(s, "cpu{service=\"s1\"}", at, next);
		at = next;
	}
	CHECK(sum == naive_total(m, 1, a, whole_until));
}

static void
check_metric(struct model *m, struct store *s, int64_t from, int64_t until)
{
	struct metric_query q = {NULL, from, until, until - from, 0};
	struct metric_series *out = NULL;
	struct selector *sel;
	size_t n = 0;
	int128 sum = 0, increase = 0, got_sum = 0, got_increase = 0;
	uint64_t count = 0, got_count = 0;
	int64_t min = INT64_MAX, got_min = INT64_MAX;

	CHECK_OK(selector_parse("{device=~\"d.*\"}", &sel));
	q.selector = sel;
	CHECK_OK(store_query_metric(s, &q, &out, &n));
	selector_free(sel);
	for (size_t i = 0; i < m->n_gauges; i++) {
		const struct gauge_put *g = &m->gauges[i];
		int64_t at = (int64_t)g->slot * SLOT;

		if (at < from || at >= until)
			continue;
		count++;
		if (g->series % 2)
			increase += g->value;
		else {
			sum += g->value - 500;
			if (g->value - 500 < min)
				min = g->value - 500;
		}
	}
	for (size_t i = 0; i < n; i++) {
		const struct metric_point *p = &out[i].points[0];

		got_count += p->count;
		got_sum += p->sum;
		got_increase += p->increase;
		if (out[i].desc.kind == SERIES_GAUGE && p->min < got_min)
			got_min = p->min;
	}
	CHECK_INT(got_count, count);
	CHECK(got_sum == sum);
	CHECK(got_increase == increase);
	CHECK_INT(got_min, min);
	metric_series_free(out, n);
}

static void
model_check(struct model *m, unsigned times)
{
	struct store *s;

	CHECK_OK(store_open(&s, m->dir, 0));
	if (s == NULL)
		return;
	for (unsigned i = 0; i < times; i++) {
		unsigned length = (unsigned)(m->now - FIRST) + 400;
		int64_t from = (int64_t)(FIRST - 100 + roll(m, length)) * SLOT;
		int64_t until = from + SLOT + (int64_t)roll(m, length) * SLOT;

		CHECK(ask_total(s, "cpu", from, until) ==
		    naive_total(m, -1, from, until));
		CHECK(ask_total(s, "cpu{service=\"s2\"}", from, until) ==
		    naive_total(m, 2, from, until));
		check_metric(m, s, from, until);
		if (i % 4 == 0)
			check_nodes(m, s, from, until);
	}
	check_partition(m, s);
	check_split(m, s);
	store_close(s);
}

static unsigned
seed_of_day(void)
{
	const char *s = getenv("SEED");

	return s ? (unsigned)atoi(s) : 20261121;
}

TEST(answers_equal_the_naive_model)
{
	struct model m;
	unsigned seed = seed_of_day();

	printf("# seed %u\n", seed);
	for (unsigned round = 0; round < 2; round++) {
		model_init(&m, seed + round);
		for (unsigned i = 0; i < 16; i++) {
			model_run(&m, 500);
			model_check(&m, 12);
		}
		model_fini(&m);
	}
}

/* One reader that stays while the writer seals and merges. */
TEST(a_reader_follows)
{
	struct model m;
	struct store *s = NULL;
	struct store_extent before = {0}, extent;

	model_init(&m, 7);
	model_run(&m, 10);
	CHECK_OK(store_open(&s, m.dir, 0));
	for (unsigned i = 0; i < 200 && s != NULL; i++) {
		int64_t until;

		model_run(&m, 30);
		CHECK_OK(store_refresh(s));
		until = (int64_t)(m.now + 1000) * SLOT;
		CHECK(ask_total(s, "cpu", 0, until) ==
		    naive_total(&m, -1, 0, until));
		store_extent(s, &extent);
		CHECK(extent.until_ns >= before.until_ns);
		CHECK(extent.generation >= before.generation);
		before = extent;
	}
	store_close(s);
	model_fini(&m);
}

/* The writer is gone between any two steps: what was appended is there. */
TEST(a_second_writer_is_refused)
{
	struct model m;
	struct store_writer *other;
	const struct err *e;

	model_init(&m, 1);
	e = store_writer_open(&other, m.dir, &m.options);
	CHECK(e != NULL && e->domain == ERR_LIMIT);
	model_fini(&m);
}

/* Readers see at once that the writer is gone. */
TEST(a_reader_knows_whether_somebody_writes)
{
	struct store_extent x;
	struct store *s = NULL;
	struct model m;

	model_init(&m, 1);
	CHECK_OK(store_open(&s, m.dir, 0));
	store_extent(s, &x);
	CHECK(x.writer);
	CHECK_OK(store_writer_close(m.w));
	store_extent(s, &x);
	CHECK(!x.writer);
	store_close(s);
	model_open(&m);
	model_fini(&m);
}

TEST(empty_and_missing)
{
	struct model m;
	struct store *s = NULL;
	struct store_extent x;
	const struct err *e = store_open(&s, "/tmp/no-such-store", 0);

	CHECK(e != NULL && e->code == ENOENT);
	model_init(&m, 1);
	CHECK_OK(store_open(&s, m.dir, 0));
	store_extent(s, &x);
	CHECK_INT(x.until_ns, 0);
	CHECK(ask_total(s, "cpu", 0, SLOT * 100000) == 0);
	store_close(s);
	model_fini(&m);
}

/* A profile that was observed but empty is not the same as no data. */
TEST(zero_is_not_no_data)
{
	struct model m;
	struct store *s = NULL;
	struct batch *b = batch_new((uint64_t)SLOT);
	struct profile *p;

	model_init(&m, 1);
	batch_observe(b, service_series(b, 0), FIRST, 1);
	CHECK_OK(store_append(m.w, b));
	CHECK_OK(store_open(&s, m.dir, 0));
	p = ask(s, "cpu", FIRST * SLOT, (FIRST + 1) * SLOT, NULL);
	CHECK_INT(p->slots, 1);
	CHECK(p->nodes[0].total == 0);
	profile_free(p);
	p = ask(s, "cpu", (FIRST + 1) * SLOT, (FIRST + 2) * SLOT, NULL);
	CHECK_INT(p->slots, 0);
	profile_free(p);
	store_close(s);
	batch_free(b);
	model_fini(&m);
}

/* 3 log2(n), for n slots that a range touches; 1 for one. */
static bool
few_blocks(uint64_t blocks, int64_t from, int64_t until)
{
	int64_t n = (until + SLOT - 1) / SLOT - from / SLOT;
	int128 cube = (int128)n * n * n; /* 2^blocks <= n^3 */

	return blocks <= 1 || (blocks < 62 && (int128)1 << blocks <= cube);
}

/* Any range, its borders within slots too, reads few blocks. */
TEST(few_blocks_are_read)
{
	struct model m;
	struct store *s = NULL;
	uint64_t most = 0;

	model_init(&m, 3);
	for (unsigned i = 0; i < 9000; i++) {
		struct batch *b = batch_new((uint64_t)SLOT);

		CHECK_OK(store_tick(m.w, (int64_t)m.now * SLOT));
		batch_add_profile(b, service_series(b, 0), m.now,
		    stack_node(b, (int)(m.now % STACKS)), 1);
		CHECK_OK(store_append(m.w, b));
		batch_free(b);
		m.now++;
	}
	CHECK_OK(store_tick(m.w, (int64_t)(m.now + 70) * SLOT));
	CHECK_OK(store_open(&s, m.dir, 0));
	for (unsigned i = 0; i < 400; i++) {
		unsigned a = roll(&m, 8000);
		unsigned n = 1 + roll(&m, i % 2 ? 40 : 8900 - a);
		int64_t from = (int64_t)(FIRST + a) * SLOT;
		int64_t until = from + n * SLOT;
		struct profile *p = ask(s, "cpu", from, until, NULL);

		CHECK(p->nodes[0].total == n);
		CHECK(few_blocks(p->blocks, from, until));
		profile_free(p);
		from += roll(&m, SLOT);
		until += roll(&m, SLOT);
		p = ask(s, "cpu", from, until, NULL);
		CHECK(few_blocks(p->blocks, from, until));
		if (p->blocks > most)
			most = p->blocks;
		profile_free(p);
	}
	printf("# at most %u blocks\n", (unsigned)most);
	store_close(s);
	model_fini(&m);
}

static void
summary_name(const char *dir, char *name, size_t size)
{
	char path[128], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/manifest", dir);
	name[0] = '\0';
	if ((f = fopen(path, "r")) == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, "summary ", 8) == 0)
			snprintf(name, size, "%s", strrchr(line, ' '));
	}
	fclose(f);
}

/* An old store's summary is large: it is not written anew for each full span,
 * and answers stay exact and few blocks. */
TEST(an_old_summary_waits_for_more)
{
	char name[256] = "", last[256] = "";
	unsigned spans = 200, written = 0;
	struct store *s = NULL;
	struct model m;

	model_init(&m, 4);
	for (unsigned i = 0; i < spans; i++) {
		struct batch *b = batch_new((uint64_t)SLOT);

		m.now = 4096 * (i + 1);
		CHECK_OK(store_tick(m.w, (int64_t)m.now * SLOT));
		batch_add_profile(b, service_series(b, 0), m.now,
		    stack_node(b, (int)(i % STACKS)), 1);
		CHECK_OK(store_append(m.w, b));
		batch_free(b);
		summary_name(m.dir, name, sizeof(name));
		written += i >= 140 && strcmp(name, last) != 0;
		strcpy(last, name);
	}
	CHECK(written > 10 && written < 40); /* of 60 */
	CHECK_OK(store_open(&s, m.dir, 0));
	for (unsigned i = 0; i < 200; i++) {
		unsigned a = roll(&m, spans), n = 1 + roll(&m, spans - a);
		int64_t from = (int64_t)(a + 1) * 4096 * SLOT;
		int64_t until = from + n * 4096 * SLOT;
		struct profile *p = ask(s, "cpu", from, until, NULL);

		CHECK(p->nodes[0].total == n);
		CHECK(few_blocks(p->blocks, from, until));
		profile_free(p);
	}
	store_close(s);
	model_fini(&m);
}

/* The node of the whole tree that is this node of a cut one. */
static size_t
same_node(const struct profile *all, size_t parent,
    const struct profile_node *n)
{
	for (size_t i = parent + 1; i < all->n_nodes; i++) {
		if (all->nodes[i].parent == parent &&
		    strcmp(all->nodes[i].name, n->name) == 0)
			return i;
	}
	return 0;
}

/* Cuts add up, and what is shown is what the whole tree shows. */
static void
check_largest(const struct profile *all, const struct profile *p, size_t most)
{
	size_t *at = calloc(p->n_nodes, sizeof(*at)), shown = 1;
	int128 *sum = calloc(p->n_nodes, sizeof(*sum)), least = INT64_MAX;
	uint64_t hidden = 0, larger = 0;

	for (size_t i = 0; i < p->n_nodes; i++) {
		const struct profile_node *n = &p->nodes[i];
		bool cut = p->cut != NULL && p->cut[i] > 0;

		sum[i] += n->self;
		if (i > 0 && !cut) {
			at[i] = same_node(all, at[n->parent], n);
			CHECK(at[i] > 0);
			shown++;
		}
		hidden += cut ? p->cut[i] : 0;
		CHECK(cut || n->total == all->nodes[at[i]].total);
		CHECK(cut || n->self == all->nodes[at[i]].self);
		if (!cut && n->total < least)
			least = n->total;
	}
	for (size_t i = p->n_nodes; i-- > 1;) {
		CHECK(sum[i] == p->nodes[i].total);
		sum[p->nodes[i].parent] += p->nodes[i].total;
	}
	CHECK(sum[0] == p->nodes[0].total);
	for (size_t i = 0; i < all->n_nodes; i++)
		larger += all->nodes[i].total >= least;
	CHECK_INT(shown, larger);
	CHECK(shown >= most || hidden == 0);
	CHECK(hidden + shown >= all->n_nodes);
	free(at);
	free(sum);
}

TEST(the_largest_nodes_are_exact)
{
	struct profile_query q = {NULL, 0, INT64_MAX / 2, NULL};
	struct selector *selector;
	struct store *s = NULL;
	unsigned cuts = 0;
	struct model m;

	model_init(&m, 21);
	model_run(&m, 300);
	CHECK_OK(store_open(&s, m.dir, 0));
	CHECK_OK(selector_parse("cpu", &selector));
	q.selector = selector;
	for (unsigned i = 0; i < 40; i++) {
		struct profile *all, *p;
		size_t most = 1 + roll(&m, 90);

		q.split = i % 3 ? NULL : "pool";
		q.from_ns = (int64_t)(FIRST + roll(&m, 300)) * SLOT;
		CHECK_OK(store_query_profile(s, &q, &all));
		CHECK_OK(store_query_profile_largest(s, &q, most, &p));
		check_largest(all, p, most < all->n_nodes ? most
		                                          : all->n_nodes);
		cuts += p->n_nodes < all->n_nodes;
		profile_free(all);
		profile_free(p);
	}
	CHECK(cuts > 10);
	selector_free(selector);
	store_close(s);
	model_fini(&m);
}

/* What a purge takes is gone from every level, and nothing else is. */
static void
model_purge(struct model *m, const char *text, int64_t from, int64_t until,
    int service)
{
	struct purge_report r;
	struct selector *sel;
	size_t n = 0;

	CHECK_OK(selector_parse(text, &sel));
	CHECK_OK(store_purge(m->w,
	    &(struct purge_query){sel, from, until, NULL, NULL, NULL}, &r));
	CHECK(r.files > 0);
	selector_free(sel);
	for (size_t i = 0; i < m->n_puts; i++) {
		int64_t at = (int64_t)m->puts[i].slot * SLOT;
		bool gone = at >= from && at < until &&
		    (service < 0 ? m->puts[i].stack % 2 == 1
		                 : m->puts[i].service == service);

		if (!gone)
			m->puts[n++] = m->puts[i];
	}
	m->n_puts = n;
}

TEST(a_purge_takes_exactly_what_it_names)
{
	struct model m;

	model_init(&m, 11);
	model_run(&m, 9000);
	model_purge(&m, "cpu{service=\"s1\"}", (FIRST + 500) * SLOT,
	    (FIRST + 6000) * SLOT, 1);
	model_check(&m, 30);
	model_purge(&m, "cpu{pool=\"odd\"}", (FIRST + 3000) * SLOT,
	    (FIRST + 20000) * SLOT, -1);
	model_check(&m, 30);
	model_run(&m, 3000);
	model_check(&m, 10);
	model_purge(&m, "cpu{service=\"s2\"}", 0, INT64_MAX / 2, 2);
	model_check(&m, 10);
	model_fini(&m);
}

/* Fine slots go by age; what they held stays, at every border that is
 * kept, late data included. */
TEST(retention_keeps_the_sums)
{
	int64_t whole = INT64_C(4096) * SLOT, until;
	struct store_extent x;
	struct store *s = NULL;
	struct model m;

	model_init(&m, 5);
	CHECK_OK(store_writer_close(m.w));
	m.options.retain_fine_ns = 5000 * SLOT;
	model_open(&m);
	for (unsigned round = 0; round < 8; round++) {
		struct batch *b = batch_new((uint64_t)SLOT);

		model_run(&m, 2500);
		model_put(&m, b, FIRST + roll(&m, 3000)); /* very late */
		CHECK_OK(store_append(m.w, b));
		batch_free(b);
	}
	model_run(&m, 200);
	CHECK_OK(store_open(&s, m.dir, 0));
	store_extent(s, &x);
	until = (int64_t)(m.now + 1000) * SLOT;
	CHECK(ask_total(s, "cpu", 0, until) == naive_total(&m, -1, 0, until));
	for (int64_t at = 0; at + whole < (int64_t)m.now * SLOT; at += whole) {
		CHECK(ask_total(s, "cpu", at, at + whole) ==
		    naive_total(&m, -1, at, at + whole));
		/* borders in between go down, the same way on both sides */
		CHECK(ask_total(s, "cpu", 0, at + 77 * SLOT) +
		        ask_total(s, "cpu", at + 77 * SLOT, until) ==
		    naive_total(&m, -1, 0, until));
	}
	CHECK(x.files < 12);
	printf("# %u files\n", (unsigned)x.files);
	store_close(s);
	model_fini(&m);
}

int
main(void)
{
	RUN(empty_and_missing);
	RUN(a_reader_knows_whether_somebody_writes);
	RUN(a_second_writer_is_refused);
	RUN(zero_is_not_no_data);
	RUN(few_blocks_are_read);
	RUN(the_largest_nodes_are_exact);
	RUN(an_old_summary_waits_for_more);
	RUN(a_reader_follows);
	RUN(retention_keeps_the_sums);
	RUN(a_purge_takes_exactly_what_it_names);
	RUN(answers_equal_the_naive_model);
	return test_done();
}
