/*
 * The cap on the directory: the oldest files go, and what is gone for good
 * is counted.
 */
#include <stdlib.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/counts.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(10000000000)
#define FIRST 8192u
#define SLOTS 640
#define CAP 80000

/* A slot with one count in each of some stacks of its own. */
static struct batch *
one_slot(uint64_t slot)
{
	struct label l = {"service", "kv"};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10101010,
	    0, &l, 1};
	struct batch *b = batch_new((uint64_t)SLOT);
	uint32_t top = batch_node(b, 0, batch_labels(b, NULL, 0));
	uint32_t series = batch_series(b, &d);
	char name[64];
	struct frame f = {FRAME_NATIVE, name, "kv", "", 0};

	for (unsigned i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "a_long_name_of_slot_%" PRIu64
		    "_and_of_stack_%u", slot, i);
		batch_add_profile(b, series, slot, batch_node(b, top,
		    batch_frame(b, &f)), 1);
	}
	return b;
}

static int64_t
everything(const char *dir)
{
	struct profile_query q = {NULL, 0, (FIRST + 20000) * SLOT, NULL, false};
	struct selector *selector;
	struct profile *p = NULL;
	struct store *s = NULL;
	int64_t sum;

	CHECK_OK(store_open(&s, dir, 0));
	CHECK_OK(selector_parse("cpu", &selector));
	q.selector = selector;
	CHECK_OK(store_query_profile(s, &q, &p));
	sum = p == NULL ? -1 : (int64_t)counts_of(p, 0).total;
	profile_free(p);
	selector_free(selector);
	store_close(s);
	return sum;
}

TEST(what_the_cap_takes_is_counted)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true,
	    .max_bytes = CAP};
	char dir[] = "/tmp/test-cap-XXXXXX", command[100];
	struct store_writer_stats stats;
	struct store_writer *w = NULL;

	if (mkdtemp(dir) == NULL)
		abort();
	CHECK_OK(store_writer_open(&w, dir, &o));
	for (uint64_t slot = FIRST; slot < FIRST + SLOTS; slot++) {
		struct batch *b = one_slot(slot);

		CHECK_OK(store_append(w, b));
		batch_free(b);
		CHECK_OK(store_tick(w, (int64_t)(slot + 1) * SLOT));
	}
	store_writer_stats(w, &stats);
	CHECK(stats.lost_slots > 0 && stats.lost_slots < SLOTS);
	CHECK_INT(everything(dir) + 10 * (int64_t)stats.lost_slots,
	    10 * SLOTS);
	CHECK_OK(store_writer_close(w));
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0);
}

int
main(void)
{
	if (getenv("LOUD") == NULL && freopen("/dev/null", "w", stderr) == NULL)
		return 1;
	RUN(what_the_cap_takes_is_counted);
	return test_done();
}
