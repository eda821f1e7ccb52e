/*
 * How many slots of a range have data, and how much time that is.
 */
#include "tests/unit/store/store_damage.h"

/* Pushes of one service: two a slot, at another rate each, in every third
 * slot; from the middle on of another host. */
static void
put_gaps(uint64_t from, uint64_t until)
{
	for (uint64_t slot = from; slot < until; slot++) {
		CHECK_OK(store_tick(writer, (int64_t)slot * SLOT));
		for (int64_t k = 1; slot % 3 == 0 && k <= 2; k++) {
			struct batch *b = batch_new((uint64_t)SLOT);
			struct label l[] = {{"host", slot < (from + until) / 2
				? "a" : "b"}, {"service", "kv"}};
			struct series_desc d = {SERIES_FLOW, "cpu",
			    "nanoseconds", k * 1000, 0, l, 2};

			batch_add_profile(b, batch_series(b, &d), slot,
			    stack_of(b, 1), 1);
			CHECK_OK(store_append(writer, b));
			batch_free(b);
		}
	}
	CHECK_OK(store_tick(writer, (int64_t)until * SLOT));
}

static uint64_t
slots_of(int64_t from_ns, int64_t until_ns, int64_t *seen_ns)
{
	struct profile_query q = {NULL, from_ns, until_ns, NULL, false};
	struct profile *p = NULL;
	struct selector *selector;
	struct store *s = NULL;
	uint64_t slots = 0;

	CHECK_OK(store_open(&s, dir, 0));
	CHECK_OK(selector_parse("cpu", &selector));
	q.selector = selector;
	CHECK_OK(store_query_profile(s, &q, &p));
	if (p != NULL) {
		CHECK(!p->slots_about);
		slots = p->slots;
		*seen_ns = p->seen_ns;
	}
	profile_free(p);
	selector_free(selector);
	store_close(s);
	return slots;
}

/* FIRST is one of three that has data less 2: 8192 = 3 * 2730 + 2. */
TEST(a_slot_with_data_counts_once)
{
	const uint64_t last = FIRST + 600;
	int64_t ns = 0;

	begin();
	put_gaps(FIRST, last);
	for (int round = 0; round < 2; round++) {
		for (uint64_t n = 3; n <= 600; n += 33) {
			CHECK_INT(slots_of(FIRST * SLOT,
			    (int64_t)(FIRST + n) * SLOT, &ns), n / 3);
			CHECK_INT(ns, (int64_t)(n / 3) * SLOT);
			CHECK_INT(slots_of((int64_t)(last - n) * SLOT,
			    (int64_t)(last + 100) * SLOT, &ns), n / 3);
			CHECK_INT(ns, (int64_t)(n / 3) * SLOT);
		}
		restart();
	}
	end();
}

/* Of slots that the range cuts, what lies within; nothing beyond the data. */
TEST(time_with_data_ends_with_the_range)
{
	int64_t ns = 0;

	begin();
	put_gaps(FIRST, FIRST + 100);
	CHECK_INT(slots_of(FIRST * SLOT + 1, (FIRST + 200) * SLOT + 1, &ns),
	    33);
	CHECK_INT(ns, 33 * SLOT);
	CHECK_INT(slots_of((FIRST + 1) * SLOT + SLOT / 4,
	    (FIRST + 4) * SLOT + SLOT / 2, &ns), 2);
	CHECK_INT(ns, SLOT - SLOT / 4 + SLOT / 2);
	CHECK_INT(slots_of((FIRST + 1) * SLOT + SLOT / 4,
	    (FIRST + 1) * SLOT + SLOT / 2, &ns), 1);
	CHECK_INT(ns, SLOT / 4);
	end();
}

int
main(void)
{
	RUN(a_slot_with_data_counts_once);
	RUN(time_with_data_ends_with_the_range);
	return test_done();
}
