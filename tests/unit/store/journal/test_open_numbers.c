/*
 * Numbers of gauges and counters: what comes back is what was put, of any
 * numbers; usual ones take a sixth of what the journal takes.
 */
#include <stdlib.h>

#include "store/batch/batch.h"
#include "store/batch/batch_private.h"
#include "store/journal/open_numbers.h"
#include "tests/unit/test.h"

/* Small ones, and those at the ends of what there is. */
static int64_t
any(void)
{
	static const int64_t ends[] = {0, 1, -1, INT64_MAX, INT64_MIN,
	    INT64_MAX - 1, INT64_MIN + 1};
	uint64_t r = (uint64_t)random() << 33 ^ (uint64_t)random() << 2 ^
	    (uint64_t)random();

	if (random() % 4 == 0)
		return ends[random() % 7];
	return (int64_t)r >> random() % 64;
}

static void
check_back(const struct batch_block *k)
{
	struct batch_block got = {.kind = k->kind};
	struct buf b = {0};
	struct cur c;
	int64_t before = any();

	open_numbers_put(&b, k, before);
	CHECK(!b.failed);
	c = cur_of(b.data, b.len);
	open_numbers_take(&c, &got, before);
	CHECK(!c.bad && cur_left(&c) == 0);
	CHECK(got.count == k->count && got.last == k->last &&
	    got.last_ns == k->last_ns);
	if (k->kind == SERIES_GAUGE)
		CHECK(got.min == k->min && got.max == k->max &&
		    got.sum == k->sum);
	else
		CHECK(got.increase == k->increase);
	buf_fini(&b);
}

TEST(what_comes_back_is_what_was_put)
{
	srandom(7);
	for (int i = 0; i < 200000; i++) {
		int64_t v = any();
		struct batch_block k = {
		    .kind = i % 2 ? SERIES_GAUGE : SERIES_COUNTER,
		    .count = (uint64_t)any(), .increase = any(),
		    .last = v, .last_ns = any(), .min = v, .max = v};

		k.sum = (int128)((uint128)k.count * (uint128)(int128)v);
		if (i % 3 == 0)
			k.sum += any();
		if (i % 5 == 0)
			k.min = any();
		if (i % 7 == 0)
			k.max = any();
		if (i % 11 == 0)
			k.sum = (int128)((uint128)any() << 64 |
			    (uint64_t)any());
		check_back(&k);
	}
}

TEST(usual_ones_are_small)
{
	struct batch_block k = {.kind = SERIES_GAUGE, .count = 10,
	    .min = 123456789, .max = 123456789, .last = 123456789,
	    .sum = 1234567890, .last_ns = 3};
	struct buf b = {0}, of_journal = {0};

	open_numbers_put(&b, &k, 123456780);
	k.last_ns = 9123456789;
	batch_put_numbers(&k, &of_journal);
	CHECK_INT(b.len, 1 + 1 + 1);
	CHECK(of_journal.len >= 6 * b.len);
	buf_fini(&b);
	buf_fini(&of_journal);
}

int
main(void)
{
	RUN(what_comes_back_is_what_was_put);
	RUN(usual_ones_are_small);
	return test_done();
}
