/*
 * Steps of random lengths over random ranges, beside the plain list of what
 * was written: gaps, counters that begin anew, slots that come late, what
 * retention has left of old ones, the open journal.  Both kinds of sums of
 * profiles are asked for, the one that looks at stacks and the one that need
 * not.
 */
#include <stdlib.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/model/histogram.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(1000000000)
#define FIRST 4096
#define SLOTS 5800
#define FINE 1024 /* slots that are kept one by one */
#define LATE 150 /* slots that some come later */
#define THREADS 3
#define MOST 4 /* of a gauge and a histogram in a slot */
#define QUESTIONS 200
#define PERIOD 10

/* What a slot holds; seen is 0 where nobody wrote. */
static struct slot {
	unsigned seen;
	int64_t threads[THREADS]; /* counts of the profile */
	unsigned n;               /* of each of these: */
	int64_t values[MOST], at[MOST];
	int64_t increase, raw;    /* of the counter, at at[0] */
} slots[SLOTS];

static char dir[64];
static uint64_t seed;
static int64_t first, step, until; /* the question at hand, in slots */

static void
put_profile(struct batch *b, uint64_t at, const struct slot *x)
{
	struct label service = {"service", "kv"};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", PERIOD, 0,
	    &service, 1};
	uint32_t series = batch_series(b, &d), top;
	char name[] = "t0", function[16];

	batch_observe(b, series, at, 1);
	for (unsigned i = 0; i < THREADS; i++) {
		struct label thread = {"thread", name};
		struct frame f = {FRAME_NATIVE, function, "kv", "", 0};

		name[1] = (char)('0' + i);
		top = batch_node(b, 0, batch_labels(b, &thread, 1));
		for (int64_t left = x->threads[i]; left > 0; left /= 2) {
			snprintf(function, sizeof(function), "f%lld",
			    (long long)left % 50);
			batch_add_profile(b, series, at,
			    batch_node(b, top, batch_frame(b, &f)),
			    left - left / 2);
		}
	}
}

static void
put_numbers(struct batch *b, uint64_t at, const struct slot *x)
{
	struct series_desc gauge = {.kind = SERIES_GAUGE, .name = "load"};
	struct series_desc counter = {.kind = SERIES_COUNTER, .name = "n"};
	struct series_desc times = {.kind = SERIES_HISTOGRAM, .name = "took"};
	struct label half[2] = {{"half", "0"}, {"half", "1"}};
	struct series_desc halves[2] = {
	    {.kind = SERIES_HISTOGRAM, .name = "halves", .labels = half,
	        .n_labels = 1},
	    {.kind = SERIES_HISTOGRAM, .name = "halves", .labels = half + 1,
	        .n_labels = 1}};
	uint32_t series[] = {batch_series(b, &gauge),
	    batch_series(b, &counter), batch_series(b, &times),
	    batch_series(b, &halves[0]), batch_series(b, &halves[1])};

	for (unsigned i = 0; i < x->n; i++) {
		batch_add_gauge(b, series[0], at, x->at[i], x->values[i]);
		batch_add_histogram(b, series[2], at, x->values[i], 1);
		batch_add_histogram(b, series[3 + i % 2], at, x->values[i], 1);
	}
	if (x->n > 0)
		batch_add_counter(b, series[1], at, x->at[0], x->increase,
		    x->raw);
}

static void
put(struct store_writer *w, unsigned i)
{
	struct batch *b = batch_new((uint64_t)SLOT);

	put_profile(b, FIRST + i, &slots[i]);
	put_numbers(b, FIRST + i, &slots[i]);
	CHECK_OK(store_append(w, b));
	batch_free(b);
}

static void
roll_slot(unsigned i, int64_t *raw)
{
	struct slot *x = &slots[i];
	int64_t start = (int64_t)(FIRST + i) * SLOT;

	x->seen = 1;
	for (unsigned k = 0; k < THREADS; k++)
		x->threads[k] = test_roll(&seed, 3) == 0 ? 0
		    : 1 + (int64_t)test_roll(&seed, i % 100 == 7 ? 90000 : 40);
	x->n = test_roll(&seed, MOST + 1);
	for (unsigned k = 0; k < x->n; k++) {
		x->values[k] = (int64_t)test_roll(&seed, 100000) - 500;
		x->values[k] *= x->values[k] < 0 ? -1 : 1;
		x->at[k] = start + k * SLOT / MOST;
	}
	if (x->n > 0) {
		x->increase = test_roll(&seed, 1000);
		*raw = test_roll(&seed, 40) == 0 ? x->increase
						 : *raw + x->increase;
		x->raw = *raw;
	}
}

/* Gaps; one slot in ten comes when its span may be sealed already. */
static void
fill(void)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true,
	    .retain_fine_ns = FINE * SLOT};
	bool late[SLOTS] = {false};
	struct store_writer *w;
	int64_t raw = 0;

	snprintf(dir, sizeof(dir), "%s/memlens-test-steps-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	CHECK(mkdtemp(dir) != NULL);
	CHECK_OK(store_writer_open(&w, dir, &o));
	for (unsigned i = 0; i < SLOTS; i++) {
		if (i % 400 < 350 && test_roll(&seed, 8) != 0)
			roll_slot(i, &raw);
		late[i] = slots[i].seen && i > SLOTS - FINE &&
		    i + LATE < SLOTS && test_roll(&seed, 10) == 0;
		if (slots[i].seen && !late[i])
			put(w, i);
		if (i >= LATE && late[i - LATE])
			put(w, i - LATE);
		CHECK_OK(store_tick(w, (int64_t)(FIRST + i + 1) * SLOT));
	}
	CHECK_OK(store_writer_close(w));
}

static const struct slot *
slot_at(int64_t slot)
{
	static const struct slot none;

	return slot < FIRST || slot >= FIRST + SLOTS ? &none
						      : &slots[slot - FIRST];
}

static int64_t
step_end(size_t i)
{
	int64_t end = first + (int64_t)(i + 1) * step;

	return end < until ? end : until;
}

/* A question as the store can answer it. */
static void
roll_question(struct store *s)
{
	int64_t from_ns, until_ns, step_ns;

	first = FIRST - 20 + test_roll(&seed, SLOTS);
	until = first + 1 + test_roll(&seed, test_roll(&seed, 2) ? 64 : SLOTS);
	step = 1 + test_roll(&seed, test_roll(&seed, 2) ? 20 : 300);
	from_ns = first * SLOT;
	until_ns = until * SLOT;
	step_ns = step * SLOT;
	store_kept_steps(s, &from_ns, &until_ns, &step_ns);
	first = from_ns / SLOT;
	until = until_ns / SLOT;
	step = step_ns / SLOT;
}

/* ---- profiles ---- */

static void
check_total(const struct totals_group *g, size_t i, unsigned threads)
{
	int64_t sum = 0, count = 0;

	for (int64_t at = first + (int64_t)i * step; at < step_end(i); at++) {
		count += slot_at(at)->seen;
		for (unsigned k = 0; k < THREADS; k++)
			if (threads & 1u << k)
				sum += slot_at(at)->threads[k];
	}
	/* of several, one that has no stack is not observed */
	if (threads != (1u << THREADS) - 1 && sum == 0)
		count = 0;
	CHECK_INT(g->steps[i].sum, sum * PERIOD);
	CHECK_INT(g->steps[i].count, count);
}

/* `split` by threads, or one that is asked for, or all. */
static void
check_totals(struct store *s, const char *text, bool split)
{
	const char *by = "thread";
	struct totals_query q = {.from_ns = first * SLOT,
	    .until_ns = until * SLOT, .step_ns = step * SLOT, .split = &by,
	    .n_split = split};
	struct selector *selector;
	struct totals *t = NULL;
	unsigned threads;

	CHECK_OK(selector_parse(text, &selector));
	q.selector = selector;
	CHECK_OK(store_query_totals(s, &q, &t));
	for (size_t g = 0; t != NULL && g < t->n_groups; g++) {
		threads = (1u << THREADS) - 1;
		if (t->groups[g].n_labels > 0)
			threads = 1u << (t->groups[g].labels[0].value[1] - '0');
		for (size_t i = 0; i < t->n_steps; i++)
			check_total(&t->groups[g], i, threads);
	}
	totals_free(t);
	selector_free(selector);
}

/* ---- numbers ---- */

static void
check_gauge(const struct metric_point *p, size_t i)
{
	struct metric_point want = {0};

	for (int64_t at = first + (int64_t)i * step; at < step_end(i); at++) {
		const struct slot *x = slot_at(at);

		for (unsigned k = 0; k < x->n; k++) {
			if (want.count == 0 || x->values[k] < want.min)
				want.min = x->values[k];
			if (want.count == 0 || x->values[k] > want.max)
				want.max = x->values[k];
			want.count++;
			want.sum += x->values[k];
			want.last = x->values[k];
			want.last_ns = x->at[k];
		}
	}
	CHECK_INT(p->count, want.count);
	CHECK_INT(p->min, want.min);
	CHECK_INT(p->max, want.max);
	CHECK_INT(p->sum, want.sum);
	CHECK_INT(p->last, want.last);
	CHECK_INT(p->last_ns, want.last_ns);
}

static void
check_counter(const struct metric_point *p, size_t i)
{
	struct metric_point want = {0};

	for (int64_t at = first + (int64_t)i * step; at < step_end(i); at++) {
		const struct slot *x = slot_at(at);

		if (x->n == 0)
			continue;
		want.count++;
		want.increase += x->increase;
		want.last = x->raw;
		want.last_ns = x->at[0];
	}
	CHECK_INT(p->count, want.count);
	CHECK_INT(p->slots, want.count);
	CHECK_INT(p->increase, want.increase);
	CHECK_INT(p->last, want.last);
	CHECK_INT(p->last_ns, want.last_ns);
}

/* What is read for the newest number alone tells it as all does. */
static void
check_newest(struct store *s, struct metric_query q,
    const struct metric_series *all, size_t n_all)
{
	struct metric_series *m = NULL;
	size_t n = 0, i;

	q.newest = true;
	CHECK_OK(store_query_metric(s, &q, &m, &n));
	CHECK_INT(n, n_all);
	for (i = n > 0 ? m[0].n_points : 0; i > 0 &&
	     all[0].points[i - 1].count == 0; i--)
		CHECK_INT(m[0].points[i - 1].count, 0);
	if (i > 0) {
		CHECK_INT(m[0].points[i - 1].last, all[0].points[i - 1].last);
		CHECK_INT(m[0].points[i - 1].last_ns,
		    all[0].points[i - 1].last_ns);
	}
	metric_series_free(m, n);
}

static void
check_metric(struct store *s, const char *text)
{
	struct metric_query q = {NULL, first * SLOT, until * SLOT,
	    step * SLOT, 1, false};
	struct metric_series *m = NULL;
	struct selector *selector;
	size_t n = 0;

	CHECK_OK(selector_parse(text, &selector));
	q.selector = selector;
	CHECK_OK(store_query_metric(s, &q, &m, &n));
	for (size_t i = 0; n > 0 && i < m[0].n_points; i++)
		(m[0].desc.kind == SERIES_GAUGE ? check_gauge
		    : check_counter)(&m[0].points[i], i);
	check_newest(s, q, m, n);
	metric_series_free(m, n);
	selector_free(selector);
}

static int
by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void
check_times(const struct histogram_point *p, size_t i)
{
	static int64_t all[SLOTS * MOST];
	int128 sum = 0;
	size_t n = 0;

	for (int64_t at = first + (int64_t)i * step; at < step_end(i); at++) {
		for (unsigned k = 0; k < slot_at(at)->n; k++)
			sum += all[n++] = slot_at(at)->values[k];
	}
	qsort(all, n, sizeof(*all), by_value);
	CHECK_INT(p->count, n);
	CHECK_INT(p->sum, sum);
	CHECK_INT(p->min, n > 0 ? all[0] : 0);
	CHECK_INT(p->max, n > 0 ? all[n - 1] : 0);
	for (int k = 0; k < HISTOGRAM_QUANTILES && n > 0; k++) {
		size_t rank = (n * histogram_permille[k] + 999) / 1000;

		CHECK_INT(histogram_bucket(p->values[k]),
		    histogram_bucket(all[rank - 1]));
	}
}

/* Each bucket of each step once, in order, with as many as there are. */
static void
check_cells(const struct histogram_series *h)
{
	static int64_t want[HISTOGRAM_BUCKETS];
	size_t c = 0;

	for (size_t i = 0; i < h->n_points; i++) {
		memset(want, 0, sizeof(want));
		for (int64_t at = first + (int64_t)i * step; at < step_end(i);
		     at++)
			for (unsigned k = 0; k < slot_at(at)->n; k++)
				want[histogram_bucket(
				    slot_at(at)->values[k])]++;
		for (uint32_t b = 0; b < HISTOGRAM_BUCKETS; b++) {
			if (want[b] == 0)
				continue;
			CHECK(c < h->n_cells && h->cells[c].step == i &&
			    h->cells[c].bucket == b &&
			    h->cells[c].count == want[b]);
			c++;
		}
	}
	CHECK_INT(c, h->n_cells);
}

static void
check_histogram(struct store *s, const char *name, bool merge)
{
	struct histogram_query q = {NULL, first * SLOT, until * SLOT,
	    step * SLOT, 1, merge};
	struct histogram_series *h = NULL;
	struct selector *selector;
	size_t n = 0;

	CHECK_OK(selector_parse(name, &selector));
	q.selector = selector;
	CHECK_OK(store_query_histogram(s, &q, &h, &n));
	for (size_t i = 0; n > 0 && i < h[0].n_points; i++)
		check_times(&h[0].points[i], i);
	if (n > 0 && merge)
		check_cells(&h[0]);
	histogram_series_free(h, n);
	selector_free(selector);
}

TEST(steps_are_the_sums_of_their_slots)
{
	char command[128];
	struct store *s;
	int64_t from_ns = FIRST * SLOT, until_ns = from_ns + SLOT;

	seed = 1;
	fill();
	CHECK_OK(store_open(&s, dir, 0));
	CHECK(store_kept_range(s, &from_ns, &until_ns)); /* fine files went */
	for (int i = 0; i < QUESTIONS && test_bad == 0; i++) {
		roll_question(s);
		check_totals(s, "cpu{service=\"kv\"}", false);
		check_totals(s, "cpu{thread=~\"t.\"}", false);
		check_totals(s, "cpu", true);
		check_metric(s, "load");
		check_metric(s, "n");
		check_histogram(s, "took", false);
		check_histogram(s, "halves", true);
		if (test_bad > 0)
			printf("# slots %" PRId64 " to %" PRId64
			       " by %" PRId64 "\n", first, until, step);
	}
	store_close(s);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0);
}

int
main(void)
{
	RUN(steps_are_the_sums_of_their_slots);
	return test_done();
}
