/*
 * Percentiles against a plain list of all values: every quantile within 1 %,
 * count, sum, min and max exact; in the journal, sealed, merged, with late
 * data, after a restart; and bounds of what may be asked.
 */
#include <stdlib.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/model/histogram.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(1000000000)
#define FIRST 4000
#define SLOTS 700
#define EACH 20
#define SERIES 2

/* values[series][slot][i], 0 to n - 1. */
static struct {
	int64_t values[SERIES][SLOTS][EACH * 2];
	unsigned n[SERIES][SLOTS];
} model;

static char dir[64];
static unsigned seed = 5;

static int64_t
random_value(void)
{
	/* from 1 us to beyond 100 s, in ns, each decade as often */
	int64_t v = 1000;

	for (int n = rand_r(&seed) % 9; n > 0; n--)
		v *= 10;
	return v +
	    (int64_t)(((uint64_t)rand_r(&seed) << 16) % (uint64_t)(v * 9));
}

static uint32_t
series_of(struct batch *b, int i)
{
	struct label l = {"op", i ? "get" : "put"};
	struct series_desc d = {SERIES_HISTOGRAM, "kv_latency_seconds",
	    "seconds", 0, 9, &l, 1};

	return batch_series(b, &d);
}

static void
put(struct store_writer *w, unsigned slot, unsigned n)
{
	struct batch *b = batch_new((uint64_t)SLOT);

	for (int s = 0; s < SERIES; s++) {
		uint32_t series = series_of(b, s);

		for (unsigned i = 0; i < n; i++) {
			int64_t v = random_value();

			model.values[s][slot][model.n[s][slot]++] = v;
			batch_add_histogram(b, series, FIRST + slot, v, 1);
		}
	}
	CHECK_OK(store_append(w, b));
	batch_free(b);
}

static int
compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void
check_point(const struct histogram_point *p, int s, unsigned from,
    unsigned until)
{
	static int64_t all[SLOTS * EACH * 2];
	size_t n = 0;
	int128 sum = 0;

	for (unsigned i = from; i < until && i < SLOTS; i++) {
		for (unsigned k = 0; k < model.n[s][i]; k++)
			sum += all[n++] = model.values[s][i][k];
	}
	CHECK_INT(p->count, n);
	if (n == 0)
		return;
	qsort(all, n, sizeof(*all), compare);
	CHECK(p->sum == sum);
	CHECK_INT(p->min, all[0]);
	CHECK_INT(p->max, all[n - 1]);
	for (int k = 0; k < HISTOGRAM_QUANTILES; k++) {
		int64_t want = all[(n * histogram_permille[k] + 999) / 1000 -
		    1];
		int64_t off = llabs(p->values[k] - want);

		CHECK(off * 100 <= want);
	}
}

static const struct err *
ask(struct store *s, unsigned from, unsigned until, unsigned step,
    struct histogram_series **out, size_t *n)
{
	struct histogram_query q = {NULL, (int64_t)(FIRST + from) * SLOT,
	    (int64_t)(FIRST + until) * SLOT, step * SLOT, 0, false};
	struct selector *selector;
	const struct err *e;

	CHECK_OK(selector_parse("kv_latency_seconds", &selector));
	q.selector = selector;
	e = store_query_histogram(s, &q, out, n);
	selector_free(selector);
	return e;
}

static void
check(unsigned until)
{
	struct store *s = NULL;

	CHECK_OK(store_open(&s, dir, 0));
	for (int i = 0; i < 30 && s != NULL; i++) {
		unsigned from = (unsigned)rand_r(&seed) % until;
		unsigned to = from + 1 + (unsigned)rand_r(&seed) % until;
		unsigned step = 1 + (unsigned)rand_r(&seed) % until;
		struct histogram_series *out;
		size_t n;

		CHECK_OK(ask(s, from, to, step, &out, &n));
		CHECK(n == SERIES || until < 3);
		for (size_t k = 0; k < n; k++) {
			CHECK_STR(out[k].desc.labels[0].value,
			    k ? "put" : "get");
			for (size_t p = 0; p < out[k].n_points; p++) {
				unsigned a = from + (unsigned)p * step;
				unsigned b = a + step < to ? a + step : to;

				check_point(&out[k].points[p], k == 0, a, b);
			}
		}
		histogram_series_free(out, n);
	}
	store_close(s);
}

TEST(percentiles_equal_the_list)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};
	struct store_writer *w;

	CHECK_OK(store_writer_open(&w, dir, &o));
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		CHECK_OK(store_tick(w, (int64_t)(FIRST + slot) * SLOT + 1));
		if (slot % 50 != 49)
			put(w, slot, slot % 7 ? EACH : 1);
		if (slot % 90 == 89)
			put(w, slot - 80, 5); /* late */
		if (slot % 100 == 99)
			check(slot);
	}
	CHECK_OK(store_writer_close(w));
	CHECK_OK(store_writer_open(&w, dir, &o));
	CHECK_OK(store_tick(w, (int64_t)(FIRST + SLOTS + 200) * SLOT));
	check(SLOTS);
	CHECK_OK(store_writer_close(w));
	check(SLOTS);
}

TEST(what_may_be_asked)
{
	struct histogram_series *out;
	struct store *s = NULL;
	size_t n;

	CHECK_OK(store_open(&s, dir, 0));
	CHECK_OK(ask(s, 5000, 6000, 10, &out, &n));
	CHECK_INT(n, 0);
	histogram_series_free(out, n);
	CHECK(ask(s, 0, 10, 0, &out, &n) != NULL);
	CHECK(ask(s, 0, 9000000, 1, &out, &n) != NULL);
	store_close(s);
}

/* More buckets than an answer may have, but of slots that are one step; and
 * too many of them. */
TEST(buckets_of_slots_of_one_step_are_one)
{
	enum { from = FIRST + 10000, slots = 143 };
	struct histogram_query q = {.from_ns = from * SLOT,
	    .until_ns = (from + slots) * SLOT, .merge = true};
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};
	struct selector *selector;
	struct histogram_series *out = NULL;
	struct store_writer *w;
	struct store *s = NULL;
	size_t n = 0;

	CHECK_OK(store_writer_open(&w, dir, &o));
	for (int64_t slot = from; slot < from + slots; slot++) {
		struct batch *b = batch_new((uint64_t)SLOT);
		uint32_t series = series_of(b, 0);

		for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
			batch_add_histogram(b, series, (uint64_t)slot,
			    histogram_low(i), 1);
		CHECK_OK(store_append(w, b));
		batch_free(b);
	}
	CHECK_OK(store_open(&s, dir, 0));
	CHECK_OK(selector_parse("kv_latency_seconds", &selector));
	q.selector = selector;
	q.step_ns = slots * SLOT;
	CHECK_OK(store_query_histogram(s, &q, &out, &n));
	CHECK(n == 1 && out[0].n_cells == HISTOGRAM_BUCKETS);
	for (size_t i = 0; n == 1 && i < out[0].n_cells; i++)
		CHECK(out[0].cells[i].bucket == i && out[0].cells[i].count ==
		    slots && out[0].cells[i].step == 0);
	histogram_series_free(out, n);
	q.step_ns = SLOT;
	CHECK(store_query_histogram(s, &q, &out, &n) != NULL);
	selector_free(selector);
	store_close(s);
	CHECK_OK(store_writer_close(w));
}

int
main(void)
{
	char command[96];

	snprintf(dir, sizeof(dir), "%s/test-histogram-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(dir) == NULL)
		return 1;
	RUN(percentiles_equal_the_list);
	RUN(what_may_be_asked);
	RUN(buckets_of_slots_of_one_step_are_one);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) != 0 || test_done();
}
