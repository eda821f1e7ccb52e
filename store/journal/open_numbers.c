/*
 * Differences wrap, so that every number comes back.
 */
#include "store/journal/open_numbers.h"

#include "store/batch/batch.h"

static int64_t
numbers_apart(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t
numbers_from(int64_t a, uint64_t more)
{
	return (int64_t)((uint64_t)a + more);
}

/* What the sum is where all observations are `last`. */
static uint128
numbers_even(const struct batch_block *k)
{
	return (uint128)k->count * (uint128)(int128)k->last;
}

static void
gauge_put(struct buf *out, const struct batch_block *k, int64_t before)
{
	bool even = k->min == k->last && k->max == k->last &&
	    (uint128)k->sum == numbers_even(k);

	buf_put_varint128(out, (uint128)k->count * 2 + even);
	buf_put_zigzag(out, numbers_apart(k->last, before));
	if (even)
		return;
	buf_put_varint(out, (uint64_t)numbers_apart(k->last, k->min));
	buf_put_varint(out, (uint64_t)numbers_apart(k->max, k->min));
	buf_put_zigzag128(out, (int128)((uint128)k->sum - numbers_even(k)));
}

static void
gauge_take(struct cur *c, struct batch_block *k, int64_t before)
{
	uint128 head = cur_varint128(c);

	k->count = (uint64_t)(head >> 1);
	k->last = numbers_from(before, (uint64_t)cur_zigzag(c));
	k->min = k->max = k->last;
	if ((head & 1) == 0) {
		k->min = numbers_from(k->last, -cur_varint(c));
		k->max = numbers_from(k->min, cur_varint(c));
		k->sum = cur_zigzag128(c);
	}
	k->sum = (int128)((uint128)k->sum + numbers_even(k));
}

void
open_numbers_put(struct buf *out, const struct batch_block *k,
    int64_t before)
{
	if (k->kind == SERIES_GAUGE) {
		gauge_put(out, k, before);
	} else {
		buf_put_varint(out, (uint64_t)k->increase);
		buf_put_varint(out, k->count);
		buf_put_zigzag(out, numbers_apart(k->last,
		    numbers_from(before, (uint64_t)k->increase)));
	}
	buf_put_zigzag(out, k->last_ns);
}

void
open_numbers_take(struct cur *c, struct batch_block *k, int64_t before)
{
	if (k->kind == SERIES_GAUGE) {
		gauge_take(c, k, before);
	} else {
		k->increase = (int64_t)cur_varint(c);
		k->count = cur_varint(c);
		k->last = numbers_from(numbers_from(before,
		    (uint64_t)k->increase), (uint64_t)cur_zigzag(c));
	}
	k->last_ns = cur_zigzag(c);
}
