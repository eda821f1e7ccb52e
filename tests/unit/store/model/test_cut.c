/*
 * The cut of a value over a length, against its formula in whole numbers.
 */
#include <stdint.h>

#include "store/model/cut.h"
#include "tests/unit/test.h"

/* Partitions add up, and no part is further from its share than 1. */
TEST(parts_add_up_whatever_the_borders)
{
	const int64_t length = 10000000000;
	uint64_t seed = 7;

	for (int round = 0; round < 2000; round++) {
		int128 v, sum = 0;
		int64_t at = 0;
		uint64_t hash;

		seed = hash64_u64(seed, (uint64_t)round);
		hash = seed;
		v = (int128)(seed >> (round % 64)) << (round % 26);
		while (at < length) {
			int64_t to = at + 1 + (int64_t)(seed % 3000000000);
			int128 part, share;

			to = to < length ? to : length;
			part = cut_at(v, to, length, hash) -
			    cut_at(v, at, length, hash);
			share = v * (to - at) / length;
			CHECK(part >= share - 1 && part <= share + 2);
			sum += part;
			at = to;
			seed = hash64_u64(seed, 1);
		}
		CHECK(sum == v);
		CHECK(cut_at(v, 0, length, hash) == 0);
	}
}

/* The hash is what has to be missing: 1/2 and less round up from it. */
TEST(the_hash_is_added_before_the_floor)
{
	CHECK_INT(cut_at(1, 5, 10, UINT64_C(1) << 63), 1);
	CHECK_INT(cut_at(1, 5, 10, (UINT64_C(1) << 63) - 1), 0);
	CHECK_INT(cut_at(7, 3, 10, 0), 2);
	CHECK_INT(cut_at(7, 3, 10, UINT64_MAX), 3);
	CHECK_INT(cut_at(7, 10, 10, UINT64_MAX), 7);
}

int
main(void)
{
	RUN(parts_add_up_whatever_the_borders);
	RUN(the_hash_is_added_before_the_floor);
	return test_done();
}
