/*
 * A type that nobody stores is the sum of its parts: to the unit, over random
 * ranges that cut slots, as a tree and over steps, and only of services whose
 * first part has data in the range; of one that has pushed it, what it pushed.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(1000000000)
#define FIRST 1000
#define SLOTS 200 /* more than a sealed file has */
#define SERVICES 4

/* 0: both parts; 1: waits from the middle on; 2: CPU time alone; 3: both, and
 * its own wall until the middle. */
static const char *const services[SERVICES] = {"both", "late", "alone",
    "own"};
static unsigned seed = 7;

static void
put(struct batch *b, uint64_t slot, const char *type, const char *service,
    int64_t period)
{
	struct label l = {"service", service};
	struct series_desc d = {SERIES_FLOW, type, "nanoseconds", period, 0,
	    &l, 1};
	struct frame main = {FRAME_NATIVE, "main", "prog", "", 0},
	    leaf = {FRAME_NATIVE, rand_r(&seed) % 2 ? "work" : "wait", "prog",
	    "", 0};
	uint32_t series = batch_series(b, &d);
	uint32_t node = batch_node(b, 0, batch_labels(b, NULL, 0));

	node = batch_node(b, node, batch_frame(b, &main));
	node = batch_node(b, node, batch_frame(b, &leaf));
	batch_observe(b, series, slot, 1);
	batch_add_profile(b, series, slot, node, 1 + rand_r(&seed) % 1000);
}

static void
fill(const char *dir)
{
	struct store_options options = {.slot_ns = SLOT, .no_thread = true};
	struct store_writer *w;

	CHECK_OK(store_writer_open(&w, dir, &options));
	for (uint64_t slot = FIRST; slot < FIRST + SLOTS; slot++) {
		struct batch *b = batch_new(SLOT);
		bool late = slot >= FIRST + SLOTS / 2;

		for (int i = 0; i < SERVICES; i++) {
			put(b, slot, "cpu", services[i],
			    slot % 3 == 0 ? 20408163 : 10101010);
			if (i != 2 && (i != 1 || late))
				put(b, slot, "offcpu", services[i], 1);
		}
		if (!late)
			put(b, slot, "wall", "own", 10000000);
		CHECK_OK(store_append(w, b));
		batch_free(b);
		CHECK_OK(store_tick(w, (int64_t)(slot + 1) * SLOT));
	}
	CHECK_OK(store_writer_close(w));
}

/* The total of a type of a service, and how much of it is no sample's. */
static int128
ask(struct store *s, const char *type, const char *service, int64_t from,
    int64_t until, int128 *unknown, bool *any)
{
	struct profile_query q = {.from_ns = from, .until_ns = until};
	struct profile_samples samples;
	struct selector *selector;
	struct profile *p;
	char text[100];
	int128 total;

	snprintf(text, sizeof(text), "%s{service=~\"%s\"}", type, service);
	CHECK_OK(selector_parse(text, &selector));
	q.selector = selector;
	CHECK_OK(store_query_profile(s, &q, &p));
	total = p->nodes[0].total;
	profile_samples(p, 0, &samples);
	*unknown = samples.total_unknown;
	*any = p->slots > 0;
	profile_free(p);
	selector_free(selector);
	return total;
}

static int128
ask_steps(struct store *s, const char *service, int64_t from, int64_t until)
{
	struct totals_query q = {.from_ns = from, .until_ns = until,
	    .step_ns = 7 * SLOT};
	struct selector *selector;
	struct totals *t;
	int128 sum = 0;
	char text[100];

	snprintf(text, sizeof(text), "wall{service=~\"%s\"}", service);
	CHECK_OK(selector_parse(text, &selector));
	q.selector = selector;
	CHECK_OK(store_query_totals(s, &q, &t));
	for (size_t g = 0; g < t->n_groups; g++)
		for (size_t i = 0; i < t->n_steps; i++)
			sum += t->groups[g].steps[i].sum;
	totals_free(t);
	selector_free(selector);
	return sum;
}

/* What the rule says, from the parts alone. */
static int128
model(struct store *s, int i, int64_t from, int64_t until, int128 *waits)
{
	int128 none, cpu, off;
	bool any;

	cpu = ask(s, "cpu", services[i], from, until, &none, &any);
	off = ask(s, "offcpu", services[i], from, until, &none, &any);
	*waits = off;
	return any ? cpu + off : 0;
}

/* The same of each step alone: what is not covered in a step is no data. */
static int128
model_steps(struct store *s, int i, int64_t from, int64_t until)
{
	int128 sum = 0, waits;
	int64_t to;

	for (; from < until; from = to) {
		to = from + 7 * SLOT < until ? from + 7 * SLOT : until;
		sum += model(s, i, from, to, &waits);
	}
	return sum;
}

static void
check_range(struct store *s, int64_t from, int64_t until)
{
	int128 sum = 0, waits = 0, unknown, wall, off, is;
	bool any;

	for (int i = 0; i < SERVICES; i++) {
		if (i == 3)
			continue;
		is = model(s, i, from, until, &off);
		wall = ask(s, "wall", services[i], from, until, &unknown,
		    &any);
		CHECK(wall == is);
		CHECK(unknown == off);
		CHECK(any == (is > 0));
		if (from % SLOT == 0 && until % SLOT == 0)
			CHECK(ask_steps(s, services[i], from, until) ==
			    model_steps(s, i, from, until));
		sum += is;
		waits += off;
	}
	wall = ask(s, "wall", "both|late|alone", from, until, &unknown, &any);
	CHECK(wall == sum);
	CHECK(unknown == waits);
}

static struct store *store;

TEST(a_sum_of_types_is_exact_over_any_range)
{
	int64_t first = FIRST * SLOT;

	check_range(store, first, first + SLOTS * SLOT);
	for (int i = 0; i < 40; i++) {
		int64_t unit = i % 2 ? 1 : SLOT;
		int64_t span = SLOTS * SLOT / unit;
		int64_t a = rand_r(&seed) * INT64_C(1000003) % span;
		int64_t b = a + 1 +
		    rand_r(&seed) * INT64_C(1000003) % (span - a);

		check_range(store, first + a * unit, first + b * unit);
	}
}

TEST(what_was_pushed_stays_as_it_is)
{
	int64_t first = FIRST * SLOT, middle = (FIRST + SLOTS / 2) * SLOT;
	int128 wall, off, unknown;
	bool any;

	wall = ask(store, "wall", "own", first, middle, &unknown, &any);
	CHECK(wall % 10000000 == 0 && wall > 0);
	wall = ask(store, "wall", "own", middle, middle + 50 * SLOT, &unknown,
	    &any);
	CHECK(wall == model(store, 3, middle, middle + 50 * SLOT, &off));
	CHECK(unknown == off);
}

int
main(void)
{
	char dir[] = "/tmp/memlens-made.XXXXXX", command[100];

	if (mkdtemp(dir) == NULL)
		return 1;
	fill(dir);
	CHECK_OK(store_open(&store, dir, 0));
	CHECK_OK(store_refresh(store));
	RUN(a_sum_of_types_is_exact_over_any_range);
	RUN(what_was_pushed_stays_as_it_is);
	store_close(store);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) != 0 || test_done();
}
