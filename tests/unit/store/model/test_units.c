/*
 * What the numbers of an answer are: one unit whatever rates, files and parts
 * of slots they come from, the samples beside, and means of stocks that
 * neither vanish nor shrink, beside naive models.
 */
#include <stdlib.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/model/mean.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT (10 * NS_PER_S)
#define BEGIN 102400 /* slot */
#define SLOTS 160 /* of which the first are sealed at last */
#define PATHS 12
#define RATES 2

static const int64_t periods[RATES] = {10101010, 52631578}; /* 99, 19 Hz */

struct rig {
	char dir[64];
	struct store_writer *w;
	struct store *s;
	uint64_t seed;
	int64_t n[SLOTS][RATES][PATHS]; /* samples */
};

static void
rig_init(struct rig *r)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};

	*r = (struct rig){.seed = 20261122};
	snprintf(r->dir, sizeof(r->dir), "%s/test-units-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(r->dir) == NULL)
		abort();
	CHECK_OK(store_writer_open(&r->w, r->dir, &o));
}

static void
rig_fini(struct rig *r)
{
	char command[128];

	store_close(r->s);
	CHECK_OK(store_writer_close(r->w));
	snprintf(command, sizeof(command), "rm -rf %s", r->dir);
	CHECK(system(command) == 0);
}

/* A number's digits of base 3, the last one first: 5 is 2, 1, 0. */
static uint32_t
path_node(struct batch *b, int path)
{
	uint32_t node = batch_node(b, 0, batch_labels(b, NULL, 0));
	int depth = 2 + path % 2;
	char name[2] = "0";

	for (int d = 0; d < depth; d++, path /= 3) {
		struct frame f = {FRAME_NATIVE, name, "prog", "", 0};

		name[0] = (char)('0' + path % 3);
		node = batch_node(b, node, batch_frame(b, &f));
	}
	return node;
}

static uint32_t
rig_series(struct batch *b, enum series_kind kind, const char *service,
    int64_t period)
{
	struct label l = {"service", service};
	struct series_desc d = {kind, kind == SERIES_FLOW ? "cpu" : "held",
	    kind == SERIES_FLOW ? "nanoseconds" : "objects", period, 0, &l, 1};

	return batch_series(b, &d);
}

static void
rig_append(struct rig *r, struct batch *b, uint64_t slot)
{
	CHECK_OK(store_append(r->w, b));
	CHECK_OK(store_tick(r->w, (int64_t)(slot + 1) * SLOT));
	batch_free(b);
}

static struct profile *
rig_ask(struct rig *r, const char *query, int64_t from_ns, int64_t until_ns,
    size_t max_nodes)
{
	struct profile_query q = {NULL, from_ns, until_ns, NULL, false};
	struct profile_limit limit = {max_nodes, 0};
	struct profile *p = NULL;
	struct selector *sel;

	CHECK_OK(selector_parse(query, &sel));
	if (r->s == NULL)
		CHECK_OK(store_open(&r->s, r->dir, 0));
	CHECK_OK(store_refresh(r->s));
	q.selector = sel;
	CHECK_OK(store_query_profile_largest(r->s, &q, &limit, &p));
	selector_free(sel);
	return p;
}

/* ---- flows of two rates ---- */

/* Rates change from time to time, and are both there in some slots. */
static void
rig_fill(struct rig *r)
{
	for (int k = 0; k < SLOTS; k++) {
		struct batch *b = batch_new(SLOT);

		for (int rate = 0; rate < RATES; rate++) {
			uint32_t cpu = rig_series(b, SERIES_FLOW, "app",
			    periods[rate]);

			if (k / 20 % 3 != 2 && k / 20 % 3 != rate)
				continue;
			batch_observe(b, cpu, (uint64_t)(BEGIN + k), 1);
			for (int i = 0; i < PATHS; i++) {
				int64_t n = test_roll(&r->seed, 4);

				r->n[k][rate][i] = n;
				if (n > 0)
					batch_add_profile(b, cpu,
					    (uint64_t)(BEGIN + k),
					    path_node(b, i), n);
			}
		}
		rig_append(r, b, (uint64_t)(BEGIN + k));
	}
}

static void
check_whole(const struct rig *r, const struct profile *p, int first, int last)
{
	int64_t samples = 0, units = 0, n;
	struct profile_samples got;

	for (int k = first; k < last; k++)
		for (int rate = 0; rate < RATES; rate++)
			for (int i = 0; i < PATHS; i++) {
				n = r->n[k][rate][i];
				samples += n;
				units += n * periods[rate];
			}
	CHECK(profile_samples(p, 0, &got));
	CHECK_INT(got.total, samples);
	CHECK_INT(p->nodes[0].total, units);
	CHECK_STR(p->unit, "nanoseconds");
	CHECK(p->period == 0 || p->period == periods[0] ||
	    p->period == periods[1]);
}

/* Children and self add up to each node, in units and in samples. */
static void
check_tree(const struct profile *p)
{
	struct profile_samples s, *rest = calloc(p->n_nodes, sizeof(*rest));

	for (size_t i = p->n_nodes; i-- > 0;) {
		CHECK(profile_samples(p, i, &s));
		CHECK(rest[i].self + p->nodes[i].self == p->nodes[i].total);
		CHECK(rest[i].total + s.self == s.total);
		rest[p->nodes[i].parent].self += p->nodes[i].total;
		rest[p->nodes[i].parent].total += s.total;
	}
	free(rest);
}

TEST(one_unit_whatever_the_range)
{
	struct rig *r = malloc(sizeof(*r));

	rig_init(r);
	rig_fill(r);
	for (int round = 0; round < 200; round++) {
		int a = (int)test_roll(&r->seed, SLOTS);
		int b = a + 1 + (int)test_roll(&r->seed, (uint32_t)(SLOTS - a));
		struct profile *p = rig_ask(r, "cpu", (BEGIN + a) * SLOT,
		    (BEGIN + b) * SLOT, round % 3 ? 0 : 1 + (size_t)round % 7);

		check_whole(r, p, a, b);
		check_tree(p);
		profile_free(p);
		/* and again from merged files */
		if (round == 100)
			CHECK_OK(store_tick(r->w, (BEGIN + 9000) * SLOT));
	}
	rig_fini(r);
	free(r);
}

TEST(partitions_add_up_in_units_and_in_samples)
{
	struct rig *r = malloc(sizeof(*r));
	int64_t from = BEGIN * SLOT, until = (BEGIN + SLOTS) * SLOT, at = from;
	struct profile_samples s, sum = {0};
	int128 units = 0;

	rig_init(r);
	rig_fill(r);
	while (at < until) {
		int64_t next = at + 1 + test_roll(&r->seed, 2000000000) * 40;
		struct profile *p;

		next = next < until ? next : until;
		p = rig_ask(r, "cpu", at, next, 0);
		if (p->stacks > 0) {
			check_tree(p);
			profile_samples(p, 0, &s);
			sum.total += s.total;
			units += p->nodes[0].total;
		}
		profile_free(p);
		at = next;
	}
	{
		struct profile *p = rig_ask(r, "cpu", from, until, 0);

		CHECK(profile_samples(p, 0, &s) && s.total == sum.total);
		CHECK(p->nodes[0].total == units);
		CHECK_INT(p->period, 0);
		profile_free(p);
	}
	rig_fini(r);
	free(r);
}

/* ---- flows of which one has no period ---- */

/* One slot of each service, "b" without a period: the selector's order puts
 * what is not known before, between and behind what is. */
static void
rig_fill_unknown(struct rig *r, const char *const services[3])
{
	struct batch *b = batch_new(SLOT);

	for (int s = 0; s < 3; s++) {
		uint32_t cpu = rig_series(b, SERIES_FLOW, services[s],
		    s == 2 ? 1 : periods[s]);

		batch_observe(b, cpu, BEGIN, 1);
		for (int i = s; i < PATHS; i++)
			batch_add_profile(b, cpu, BEGIN, path_node(b, i),
			    s == 2 ? 1000 + i : 1 + i);
	}
	rig_append(r, b, BEGIN);
}

/* Of the paths below a node: {samples, units without}. */
static void
naive_counts(const char *prefix, int64_t counts[2])
{
	counts[0] = counts[1] = 0;
	for (int i = 0; i < PATHS; i++) {
		int path = i, d = 0;

		for (; prefix[d] != '\0' && d < 2 + i % 2; d++, path /= 3)
			if (prefix[d] != '0' + path % 3)
				break;
		if (prefix[d] != '\0')
			continue;
		counts[0] += 1 + i + (i >= 1 ? 1 + i : 0);
		counts[1] += i >= 2 ? 1000 + i : 0;
	}
}

static void
check_counts(const struct profile *p)
{
	struct profile_samples s;
	char path[8] = "";
	int64_t counts[2], rest[2] = {0, 0};

	for (size_t i = 0; i < p->n_nodes; i++) {
		const struct profile_node *n = &p->nodes[i];

		CHECK(profile_samples(p, i, &s));
		rest[0] += (int64_t)s.self;
		rest[1] += (int64_t)s.self_unknown;
		if (p->cut != NULL && p->cut[i] != 0)
			continue;
		if (n->depth > 0)
			path[n->depth - 1] = n->name[0];
		path[n->depth] = '\0';
		naive_counts(path, counts);
		CHECK_INT(s.total, counts[0]);
		CHECK_INT(s.total_unknown, counts[1]);
	}
	naive_counts("", counts);
	CHECK_INT(rest[0], counts[0]); /* the selfs are the whole */
	CHECK_INT(rest[1], counts[1]);
}

TEST(what_is_known_of_samples_is_counted)
{
	static const char *const orders[][3] = {{"a", "b", "c"},
	    {"a", "c", "b"}, {"b", "c", "a"}};

	for (size_t k = 0; k < 3; k++) {
		struct rig *r = malloc(sizeof(*r));
		struct profile_samples s;
		struct profile *p;
		char only[40];

		rig_init(r);
		rig_fill_unknown(r, orders[k]);
		for (size_t limit = 0; limit < 14; limit++) {
			p = rig_ask(r, "cpu", BEGIN * SLOT,
			    (BEGIN + 1) * SLOT, limit);
			check_counts(p);
			profile_free(p);
		}
		snprintf(only, sizeof(only), "cpu{service=\"%s\"}",
		    orders[k][2]);
		p = rig_ask(r, only, BEGIN * SLOT, (BEGIN + 1) * SLOT, 0);
		CHECK(!profile_samples(p, 0, &s)); /* nothing is known */
		profile_free(p);
		rig_fini(r);
		free(r);
	}
}

/* That nothing was looked at is no count of 0 samples. */
TEST(no_data_is_no_count_of_samples)
{
	struct rig *r = malloc(sizeof(*r));
	struct profile_samples samples;
	struct profile *p;

	rig_init(r);
	for (uint64_t k = 0; k < SLOTS; k++) { /* the first are sealed */
		struct batch *b = batch_new(SLOT);

		if (k == 1) {
			batch_free(b);
			continue;
		}
		batch_observe(b, rig_series(b, SERIES_FLOW, "app",
		    periods[0]), BEGIN + k, 1);
		rig_append(r, b, BEGIN + k);
	}
	for (int64_t seen = 0; seen < 2; seen++) {
		p = rig_ask(r, "cpu", (BEGIN + 1 - seen) * SLOT,
		    (BEGIN + 2) * SLOT, 0);
		CHECK_INT(p->slots, seen);
		CHECK_INT(profile_samples(p, 0, &samples), seen);
		profile_free(p);
	}
	rig_fini(r);
	free(r);
}

/* ---- stocks ---- */

/* One observation of what is held below some paths. */
static void
rig_hold(struct rig *r, const char *service, int slot, const int64_t *held)
{
	struct batch *b = batch_new(SLOT);
	uint32_t series = rig_series(b, SERIES_STOCK, service, 1);

	batch_observe(b, series, (uint64_t)(BEGIN + slot), 1);
	for (int i = 0; i < PATHS; i++)
		if (held[i] > 0)
			batch_add_profile(b, series, (uint64_t)(BEGIN + slot),
			    path_node(b, i), held[i]);
	rig_append(r, b, (uint64_t)(BEGIN + slot));
}

static int64_t
rig_held(struct rig *r, const char *query, int64_t from_ns, int64_t until_ns,
    uint64_t *stacks)
{
	struct profile *p = rig_ask(r, query, from_ns, until_ns, 0);
	struct profile_samples s;
	int64_t total = (int64_t)p->nodes[0].total;

	CHECK(!profile_samples(p, 0, &s));
	*stacks = p->stacks;
	profile_free(p);
	return total;
}

TEST(a_mean_is_the_nearest)
{
	static const int64_t held[3][PATHS] = {{13}, {17}, {17}};
	static const int64_t alone[3][PATHS] = {{1}, {0, 1}, {0, 0, 1}};
	static const int64_t none[PATHS] = {0};
	struct rig *r = malloc(sizeof(*r));
	int64_t from = BEGIN * SLOT;
	uint64_t stacks;

	rig_init(r);
	for (int k = 0; k < 3; k++) {
		rig_hold(r, "a", k, held[k]);
		rig_hold(r, "b", k, alone[k]);
		rig_hold(r, "c", k, k == 0 ? alone[0] : none);
	}
	CHECK_INT(rig_held(r, "held{service=\"a\"}", from, from + 3 * SLOT,
	    &stacks), 16);
	CHECK_INT(rig_held(r, "held{service=\"b\"}", from, from + 3 * SLOT,
	    &stacks), 1);
	CHECK_INT(stacks, 3);
	/* a third is nearer to nothing, and was seen all the same */
	CHECK_INT(rig_held(r, "held{service=\"c\"}", from, from + 3 * SLOT,
	    &stacks), 0);
	CHECK_INT(stacks, 1);
	CHECK_INT(rig_held(r, "held{service=\"c\"}", from + SLOT,
	    from + 3 * SLOT, &stacks), 0);
	CHECK_INT(stacks, 0);
	/* 47 / 3 + 1 + 1 / 3 is 17, not 16 + 1 + 0 or what floors leave */
	CHECK_INT(rig_held(r, "held", from, from + 3 * SLOT, &stacks), 17);
	/* half of a slot has seen all of what was there */
	CHECK_INT(rig_held(r, "held{service=\"a\"}", from, from + SLOT / 2,
	    &stacks), 13);
	rig_fini(r);
	free(r);
}

/* The exact mean of what is below a node, by its path of names. */
static double
naive_mean(int64_t held[2][SLOTS][PATHS], const int *observed,
    const char *prefix)
{
	double sum = 0;

	for (int s = 0; s < 2; s++)
		for (int k = 0; k < observed[s]; k++)
			for (int i = 0; i < PATHS; i++) {
				int path = i, d = 0;

				for (; prefix[d] != '\0' && d < 2 + i % 2;
				     d++, path /= 3)
					if (prefix[d] != '0' + path % 3)
						break;
				if (prefix[d] == '\0')
					sum += (double)held[s][k][i] /
					    observed[s];
			}
	return sum;
}

static void
check_means(const struct profile *p, int64_t held[2][SLOTS][PATHS],
    const int *observed)
{
	char path[8] = "";
	double off;

	for (size_t i = 0; i < p->n_nodes; i++) {
		const struct profile_node *n = &p->nodes[i];

		if (n->depth > 0)
			path[n->depth - 1] = n->name[0];
		path[n->depth] = '\0';
		off = (double)n->total - naive_mean(held, observed, path);
		CHECK(off < (i == 0 ? 0.5000001 : 1) &&
		    off > (i == 0 ? -0.5000001 : -1));
		CHECK(n->self >= 0);
	}
}

/* The same over one step, without stacks. */
static int64_t
rig_totals(struct rig *r, const char *query, int64_t from_ns, int64_t until_ns)
{
	struct totals_query q = {.from_ns = from_ns, .until_ns = until_ns,
	    .step_ns = until_ns - from_ns};
	struct selector *sel;
	struct totals *t;
	int64_t sum;

	CHECK_OK(selector_parse(query, &sel));
	q.selector = sel;
	CHECK_OK(store_query_totals(r->s, &q, &t));
	sum = t->n_groups == 1 ? (int64_t)t->groups[0].steps[0].sum : -1;
	totals_free(t);
	selector_free(sel);
	return sum;
}

TEST(each_node_is_less_than_one_from_its_mean)
{
	static const int lengths[][2] = {{7, 3}, {9, 9}, {64, 49}, {1, 97}};
	static int64_t held[2][SLOTS][PATHS];

	for (size_t c = 0; c < 4; c++) {
		struct rig *r = malloc(sizeof(*r));
		int64_t from = BEGIN * SLOT, until = from + 100 * SLOT;
		struct profile *p;

		rig_init(r);
		for (int s = 0; s < 2; s++)
			for (int k = 0; k < lengths[c][s]; k++) {
				for (int i = 0; i < PATHS; i++)
					held[s][k][i] = test_roll(&r->seed, 2)
					    * test_roll(&r->seed, 5);
				rig_hold(r, s ? "x" : "y", k, held[s][k]);
			}
		p = rig_ask(r, "held", from, until, 0);
		check_means(p, held, lengths[c]);
		CHECK_INT(rig_totals(r, "held", from, until),
		    p->nodes[0].total);
		profile_free(p);
		rig_fini(r);
		free(r);
	}
}

TEST(fractions_of_one_denominator)
{
	uint64_t d = 1;

	CHECK_INT(mean_denominator(4, 6), 12);
	CHECK_INT(mean_part(5, 6, 12), 10);
	CHECK_INT(mean_round(6, 12), 1); /* of two the larger */
	CHECK_INT(mean_round(5, 12), 0);
	for (uint64_t n = 1; n < 300; n++) {
		uint64_t next = mean_denominator(d, n);

		CHECK(next % d == 0 && next <= MEAN_DENOMINATOR_MAX);
		d = next;
	}
	/* too many to be exact: near enough */
	CHECK(d > MEAN_DENOMINATOR_MAX / 2);
	CHECK_INT(mean_round(mean_part(298 * 7, 298, d), d), 7);
	CHECK_INT(mean_round(3 * mean_part(1, 293, d), d), 0);
}

/* A store of before has the units of its clients: one answer, in one. */
TEST(units_of_before_add_up)
{
	static const struct {
		const char *unit, *service;
		int64_t period;
	} said[] = {{"nanoseconds", "a", 1}, {"milliseconds", "b", 1},
	    {"seconds", "c", 1}};
	struct rig r;
	struct batch *b;
	struct profile *p;

	rig_init(&r);
	b = batch_new(SLOT);
	for (size_t i = 0; i < 3; i++) {
		struct label l = {"service", said[i].service};
		struct series_desc d = {SERIES_FLOW, "cpu", said[i].unit,
		    said[i].period, 0, &l, 1};
		uint32_t cpu = batch_series(b, &d);

		batch_observe(b, cpu, BEGIN, 1);
		batch_add_profile(b, cpu, BEGIN, path_node(b, 1), 7);
	}
	rig_append(&r, b, BEGIN);
	p = rig_ask(&r, "cpu", BEGIN * SLOT, (BEGIN + 1) * SLOT, 100);
	CHECK_STR(p->unit, "nanoseconds");
	CHECK_INT(p->nodes[0].total, 7007000007);
	profile_free(p);
	p = rig_ask(&r, "cpu{service=\"b\"}", BEGIN * SLOT,
	    (BEGIN + 1) * SLOT, 100);
	CHECK_STR(p->unit, "nanoseconds");
	CHECK_INT(p->nodes[0].total, 7000000);
	profile_free(p);
	rig_fini(&r);
}

int
main(void)
{
	RUN(one_unit_whatever_the_range);
	RUN(partitions_add_up_in_units_and_in_samples);
	RUN(what_is_known_of_samples_is_counted);
	RUN(no_data_is_no_count_of_samples);
	RUN(a_mean_is_the_nearest);
	RUN(each_node_is_less_than_one_from_its_mean);
	RUN(units_of_before_add_up);
	RUN(fractions_of_one_denominator);
	return test_done();
}
