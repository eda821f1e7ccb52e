/*
 * Steps of metrics: what a step says does not depend on the blocks that it is
 * read from, a whole one of the tree or its parts.
 */
#include <stdlib.h>

#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(1000000000)
#define FIRST 4096
#define SLOTS 256

static char dir[64];

/* Every third slot has nothing. */
static bool
has(unsigned slot)
{
	return slot % 3 != 2;
}

static void
fill(void)
{
	struct series_desc d = {.kind = SERIES_COUNTER, .name = "n_total"};
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};
	struct store_writer *w;

	snprintf(dir, sizeof(dir), "/tmp/memlens-test-steps-XXXXXX");
	CHECK(mkdtemp(dir) != NULL);
	CHECK_OK(store_writer_open(&w, dir, &o));
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		struct batch *b = batch_new((uint64_t)SLOT);
		int64_t at = (int64_t)(FIRST + slot) * SLOT;

		if (has(slot))
			batch_add_counter(b, batch_series(b, &d), FIRST + slot,
			    at, 7, 7 * (int64_t)slot);
		CHECK_OK(store_append(w, b));
		CHECK_OK(store_tick(w, at + SLOT));
		batch_free(b);
	}
	CHECK_OK(store_writer_close(w));
}

static void
check_step(struct store *s, unsigned from, unsigned until)
{
	struct metric_query q = {NULL, (FIRST + (int64_t)from) * SLOT,
	    (FIRST + (int64_t)until) * SLOT, (int64_t)(until - from) * SLOT,
	    10, false};
	struct metric_series *m = NULL;
	struct selector *sel;
	size_t n = 0, want = 0;

	CHECK_OK(selector_parse("n_total", &sel));
	q.selector = sel;
	CHECK_OK(store_query_metric(s, &q, &m, &n));
	selector_free(sel);
	for (unsigned slot = from; slot < until; slot++)
		want += has(slot);
	CHECK_INT(n, 1);
	if (n == 1) {
		CHECK_INT(m[0].points[0].slots, want);
		CHECK_INT(m[0].points[0].increase, 7 * (int64_t)want);
	}
	metric_series_free(m, n);
}

/* A rate was over all slots of the blocks that it was read from. */
TEST(a_rate_is_over_the_slots_that_have_data)
{
	struct store *s;

	fill();
	CHECK_OK(store_open(&s, dir, 0));
	for (unsigned from = 0; from < 20; from++)
		for (unsigned until = from + 2; until < SLOTS; until += 13)
			check_step(s, from, until);
	store_close(s);
}

/* A source that begins anew within a slot tells of it twice: half of its rate
 * was shown there until the slot was sealed. */
TEST(a_slot_that_was_begun_twice_is_one)
{
	char twice[] = "/tmp/memlens-test-twice-XXXXXX", command[100];
	struct series_desc d = {.kind = SERIES_COUNTER, .name = "n_total"};
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};
	struct metric_query q = {NULL, FIRST * SLOT, (FIRST + 3) * SLOT, SLOT,
	    10, false};
	struct metric_series *m = NULL;
	struct store_writer *w;
	struct selector *sel;
	struct store *s;
	size_t n = 0;

	CHECK(mkdtemp(twice) != NULL);
	CHECK_OK(store_writer_open(&w, twice, &o));
	for (unsigned i = 0; i < 4; i++) { /* slots 0, 1, 1, 2 */
		struct batch *b = batch_new((uint64_t)SLOT);
		unsigned slot = i < 2 ? i : i - 1;

		batch_add_counter(b, batch_series(b, &d), FIRST + slot,
		    (FIRST + (int64_t)slot) * SLOT + i, 7, 7 * (int64_t)i);
		CHECK_OK(store_append(w, b));
		batch_free(b);
	}
	CHECK_OK(store_open(&s, twice, 0));
	CHECK_OK(selector_parse("n_total", &sel));
	q.selector = sel;
	CHECK_OK(store_query_metric(s, &q, &m, &n));
	CHECK_INT(n, 1);
	for (size_t i = 0; n == 1 && i < 3; i++) {
		CHECK_INT(m[0].points[i].slots, 1);
		CHECK_INT(m[0].points[i].increase, i == 1 ? 14 : 7);
	}
	metric_series_free(m, n);
	selector_free(sel);
	store_close(s);
	CHECK_OK(store_writer_close(w));
	snprintf(command, sizeof(command), "rm -rf '%s'", twice);
	CHECK_INT(system(command), 0);
}

int
main(void)
{
	char command[100];

	RUN(a_rate_is_over_the_slots_that_have_data);
	RUN(a_slot_that_was_begun_twice_is_one);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	CHECK_INT(system(command), 0);
	return test_done();
}
