/*
 * What goes by its age, and what a wrong clock must not take.
 */
#include <stdlib.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(10000000000)
#define SPAN INT64_C(4096)
#define FIRST (2 * SPAN)
#define YEARS (3 * INT64_C(3153600)) /* three, in slots */

static char dir[64];
static struct store_writer *writer;
static struct store_options options;

static void
start(int64_t retain_fine, int64_t retain)
{
	options = (struct store_options){.slot_ns = SLOT, .no_thread = true,
	    .retain_fine_ns = retain_fine * SLOT, .retain_ns = retain * SLOT};
	CHECK_OK(store_writer_open(&writer, dir, &options));
	if (writer == NULL)
		exit(1);
}

static void
begin(int64_t retain_fine, int64_t retain)
{
	snprintf(dir, sizeof(dir), "%s/test-retain-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(dir) == NULL)
		abort();
	start(retain_fine, retain);
}

static void
end(void)
{
	char command[128];

	CHECK_OK(store_writer_close(writer));
	writer = NULL;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0);
}

static void
put(int64_t slot)
{
	struct label l = {"service", "kv"};
	struct series_desc d = {SERIES_GAUGE, "load", "", 0, 0, &l, 1};
	struct batch *b = batch_new((uint64_t)SLOT);

	batch_add_gauge(b, batch_series(b, &d), (uint64_t)slot, slot * SLOT,
	    1);
	CHECK_OK(store_append(writer, b));
	batch_free(b);
}

/* One value a slot; the clock goes on with them. */
static void
run(int64_t from, int64_t until)
{
	for (int64_t slot = from; slot < until; slot++) {
		put(slot);
		CHECK_OK(store_tick(writer, (slot + 1) * SLOT));
	}
}

static struct store_writer_stats
stats(void)
{
	struct store_writer_stats s;

	store_writer_stats(writer, &s);
	return s;
}

/* Values of [from, until) that are there, slot by slot where `fine`. */
static uint64_t
count(int64_t from, int64_t until, bool fine)
{
	struct metric_query q = {.from_ns = from * SLOT,
	    .until_ns = until * SLOT, .max_series = 10,
	    .step_ns = fine ? 16 * SLOT : (until - from) * SLOT};
	struct metric_series *m = NULL;
	struct selector *sel;
	struct store *s = NULL;
	uint64_t sum = 0;
	size_t n = 0;

	CHECK_OK(store_open(&s, dir, 0));
	CHECK_OK(selector_parse("load", &sel));
	q.selector = sel;
	CHECK_OK(store_query_metric(s, &q, &m, &n));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < m[i].n_points; k++)
			sum += m[i].points[k].count;
	metric_series_free(m, n);
	selector_free(sel);
	store_close(s);
	return sum;
}

TEST(a_clock_three_years_ahead_takes_nothing)
{
	int64_t now = FIRST + 5 * SPAN;

	begin(6 * SPAN, 20 * SPAN);
	run(FIRST, now);
	CHECK_INT(stats().held_ns, 0);
	for (int i = 0; i < 6; i++) { /* its own slots come with it */
		put(now + YEARS + i);
		CHECK_OK(store_tick(writer, (now + YEARS + i + 1) * SLOT));
	}
	CHECK_INT(stats().held_ns, (YEARS + 1) * SLOT);
	run(now, now + 200);
	CHECK_INT(stats().held_ns, 0); /* nothing is too old any more */
	CHECK_INT(stats().removed, 0);
	CHECK_INT(count(FIRST, now + 200, true), 5 * SPAN + 200);
	end();
}

TEST(a_clock_that_was_far_back_is_not_believed_at_once)
{
	int64_t now = FIRST + 5 * SPAN;

	begin(0, 0);
	run(FIRST, now);
	CHECK_OK(store_writer_close(writer));
	start(SPAN, 0);
	for (int i = 0; i < 400; i++) /* no battery: it is 1970 */
		CHECK_OK(store_tick(writer, (100 + i) * SLOT));
	CHECK_OK(store_tick(writer, now * SLOT));
	CHECK(stats().held_ns > 0);
	CHECK_INT(stats().removed, 0);
	run(now, now + 350);
	CHECK_INT(stats().removed, 0);
	run(now + 350, now + 400); /* an hour has passed */
	CHECK(stats().removed > 0);
	CHECK_INT(stats().held_ns, 0);
	CHECK_INT(count(FIRST, FIRST + 4 * SPAN, false), 4 * SPAN);
	end();
}

TEST(data_is_not_old_before_newer_has_come)
{
	int64_t now = FIRST + 2 * SPAN;

	begin(SPAN + 64, 3 * SPAN);
	run(FIRST, now);
	CHECK_INT(stats().removed, 0);
	for (int64_t t = now; t < now + 20 * SPAN; t += 50)
		CHECK_OK(store_tick(writer, t * SLOT));
	CHECK_INT(count(FIRST, now, false), 2 * SPAN);
	CHECK_INT(stats().removed, 0);
	end();
}

TEST(only_so_much_goes_in_an_hour)
{
	int64_t now = FIRST + 8 * SPAN;
	uint64_t before;

	begin(0, 0);
	run(FIRST, now);
	CHECK_OK(store_writer_close(writer));
	start(100, 0); /* a slip in the configuration, or a clock */
	run(now, now + 5);
	before = stats().removed;
	CHECK_INT(before, 4);
	CHECK_INT(stats().removed_until, FIRST + 4 * SPAN);
	run(now + 5, now + 80);
	CHECK_INT(stats().removed, 4);
	run(now + 80, now + 360);
	CHECK(stats().removed > 4 && stats().removed <= 8);
	CHECK_INT(count(FIRST, FIRST + 8 * SPAN, false), 8 * SPAN);
	end();
}

TEST(what_is_old_goes)
{
	begin(SPAN, 4 * SPAN);
	run(FIRST, FIRST + 9 * SPAN);
	CHECK(stats().removed >= 7);
	CHECK_INT(count(FIRST, FIRST + 3 * SPAN, false), 0);
	CHECK_INT(count(FIRST + 6 * SPAN, FIRST + 9 * SPAN, false), 3 * SPAN);
	end();
}

int
main(void)
{
	RUN(a_clock_three_years_ahead_takes_nothing);
	RUN(a_clock_that_was_far_back_is_not_believed_at_once);
	RUN(data_is_not_old_before_newer_has_come);
	RUN(only_so_much_goes_in_an_hour);
	RUN(what_is_old_goes);
	return test_done();
}
