/*
 * The store against a naive model: every batch is also kept in a plain list;
 * every answer must equal what the list gives.
 */
#include <errno.h>
#include <sys/stat.h>

#include "tests/unit/store/store_model.h"

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
			seen[p->nodes[i].name[5] - '0'] +=
			    counts_of(p, i).total;
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
			CHECK(counts_of(p, i).total == odd);
	}
	profile_free(p);
}

/* By label sets: here as by their one label, but for the names. */
static void
check_sets(struct model *m, struct store *s)
{
	int64_t until = (int64_t)(m->now + 1000) * SLOT;
	struct profile *sets = ask(s, "cpu", 0, until, "");
	struct profile *p = ask(s, "cpu", 0, until, "pool");

	if (sets == NULL || p == NULL)
		return;
	check_tree(sets);
	CHECK(sets->sets && !p->sets);
	CHECK_INT(sets->n_nodes, p->n_nodes);
	for (size_t i = 0; i < p->n_nodes && i < sets->n_nodes; i++) {
		char name[64];

		snprintf(name, sizeof(name), p->nodes[i].depth == 1
		    ? "pool\1%s" : "%s", p->nodes[i].name);
		CHECK_STR(sets->nodes[i].name, name);
		CHECK(sets->nodes[i].total == p->nodes[i].total);
	}
	profile_free(sets);
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
	struct metric_query q = {NULL, from, until, until - from, 0,
	    false};
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
	check_sets(m, s);
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

/* A store whose oldest fine slots have gone. */
static void
retain(struct model *m)
{
	model_init(m, 5);
	CHECK_OK(store_writer_close(m->w));
	m->options.retain_fine_ns = 5000 * SLOT;
	model_open(m);
	for (unsigned round = 0; round < 8; round++) {
		struct batch *b = batch_new((uint64_t)SLOT);

		model_run(m, 2500);
		model_put(m, b, FIRST + roll(m, 3000)); /* very late */
		CHECK_OK(store_append(m->w, b));
		batch_free(b);
	}
	model_run(m, 200);
}

/* Gauges of the model in [from, until), and their sum. */
static size_t
naive_gauges(const struct model *m, int64_t from, int64_t until, int128 *sum)
{
	size_t n = 0;

	*sum = 0;
	for (size_t i = 0; i < m->n_gauges; i++) {
		const struct gauge_put *p = &m->gauges[i];

		if (p->series % 2 || (int64_t)p->slot * SLOT < from ||
		    (int64_t)p->slot * SLOT >= until)
			continue;
		*sum += p->value - 500;
		n++;
	}
	return n;
}

/* Where fine slots have gone a step has what the coarser block has, and says
 * so; it is not null. */
TEST(steps_finer_than_what_is_kept_are_widened)
{
	int64_t whole = INT64_C(4096) * SLOT, end;
	struct metric_query q = {.max_series = 100};
	struct selector *load;
	struct store *s = NULL;
	unsigned coarse = 0;
	struct model m;

	retain(&m);
	end = (int64_t)m.now * SLOT;
	CHECK_OK(store_open(&s, m.dir, 0));
	CHECK_OK(selector_parse("load", &load));
	q.selector = load;
	for (int64_t at = FIRST * SLOT; at + 900 * SLOT < end;
	     at += 700 * SLOT) {
		struct metric_series *series;
		size_t n, count = 0;
		int128 sum = 0, naive;

		q.from_ns = at;
		q.until_ns = at + 900 * SLOT;
		q.step_ns = 10 * SLOT;
		store_kept_steps(s, &q.from_ns, &q.until_ns, &q.step_ns);
		CHECK(q.from_ns <= at && q.from_ns < q.until_ns);
		CHECK(q.step_ns == 10 * SLOT || (q.step_ns == whole &&
		    q.from_ns % whole == 0));
		CHECK_OK(store_query_metric(s, &q, &series, &n));
		for (size_t i = 0; i < n; i++) {
			for (size_t k = 0; k < series[i].n_points; k++) {
				count += series[i].points[k].count;
				sum += series[i].points[k].sum;
			}
		}
		CHECK(count > 0);
		CHECK_INT(count, naive_gauges(&m, q.from_ns, q.until_ns,
		    &naive));
		CHECK(sum == naive);
		coarse += q.step_ns == whole;
		metric_series_free(series, n);
	}
	CHECK(coarse > 5);
	selector_free(load);
	store_close(s);
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

	retain(&m);
	CHECK_OK(store_open(&s, m.dir, 0));
	store_extent(s, &x);
	until = (int64_t)(m.now + 1000) * SLOT;
	CHECK(ask_total(s, "cpu", 0, until) == naive_total(&m, -1, 0, until));
	for (int64_t at = 0; at + whole < (int64_t)m.now * SLOT; at += whole) {
		int64_t zero = 0, cut = at + 77 * SLOT, to = cut, from = cut;

		CHECK(ask_total(s, "cpu", at, at + whole) ==
		    naive_total(&m, -1, at, at + whole));
		/* a range goes out to the borders of what holds it */
		store_kept_range(s, &zero, &to);
		store_kept_range(s, &from, &until);
		CHECK((from == at && to == at + whole) ||
		    (from == cut && to == cut));
		CHECK(ask_total(s, "cpu", 0, cut) ==
		    naive_total(&m, -1, 0, to));
		CHECK(ask_total(s, "cpu", cut, until) ==
		    naive_total(&m, -1, from, until));
	}
	CHECK(x.files < 12);
	printf("# %u files\n", (unsigned)x.files);
	store_close(s);
	model_fini(&m);
}

/* What came late for a purged time was folded into a summary that the purge
 * had emptied, and was gone. */
TEST(late_data_counts_where_a_purge_has_emptied_the_summary)
{
	struct purge_report report;
	struct store *s = NULL;
	struct batch *b;
	struct model m;

	retain(&m);
	for (int n = 0; n < 2; n++) {
		CHECK_OK(store_purge(m.w, &(struct purge_query){NULL, 0,
		    (int64_t)m.now * SLOT, NULL, NULL, NULL}, &report));
		b = batch_new((uint64_t)SLOT);
		batch_add_profile(b, service_series(b, 0), FIRST + 500,
		    stack_node(b, 1), 100);
		CHECK_OK(store_append(m.w, b));
		batch_free(b);
		CHECK_OK(store_tick(m.w, (int64_t)m.now * SLOT));
		CHECK_OK(store_open(&s, m.dir, 0));
		CHECK(ask_total(s, "cpu", 0, (int64_t)m.now * SLOT) == 100);
		store_close(s);
	}
	model_fini(&m);
}

/* Health said 34 million slots after one old sample. */
TEST(one_old_sample_is_not_all_the_slots_since)
{
	struct store_extent e;
	struct store *s = NULL;
	struct batch *b;
	struct model m;

	model_init(&m, 3);
	for (uint64_t slot = 1000000; slot < 1000070; slot++) {
		b = batch_new((uint64_t)SLOT);
		batch_add_profile(b, service_series(b, 0), slot,
		    stack_node(b, 1), 1);
		if (slot == 1000069)
			batch_add_profile(b, service_series(b, 0), 17,
			    stack_node(b, 1), 1);
		CHECK_OK(store_append(m.w, b));
		batch_free(b);
		CHECK_OK(store_tick(m.w, (int64_t)(slot + 1) * SLOT));
	}
	for (int sealed = 0; sealed < 2; sealed++) {
		CHECK_OK(store_open(&s, m.dir, 0));
		store_extent(s, &e);
		CHECK_INT(e.until_ns / SLOT, 1000070);
		CHECK_INT(e.slots, 71);
		store_close(s);
		CHECK_OK(store_tick(m.w, INT64_C(1000500) * SLOT));
	}
	model_fini(&m);
}

int
main(void)
{
	RUN(one_old_sample_is_not_all_the_slots_since);
	RUN(empty_and_missing);
	RUN(a_reader_knows_whether_somebody_writes);
	RUN(a_second_writer_is_refused);
	RUN(zero_is_not_no_data);
	RUN(a_reader_follows);
	RUN(retention_keeps_the_sums);
	RUN(late_data_counts_where_a_purge_has_emptied_the_summary);
	RUN(steps_finer_than_what_is_kept_are_widened);
	RUN(a_purge_takes_exactly_what_it_names);
	RUN(answers_equal_the_naive_model);
	return test_done();
}
