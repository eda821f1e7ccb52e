/*
 * What programs that sum histograms share with the daemon: buckets are the
 * store's, and each moment is of one slot.
 */
#include <stdint.h>

#include "collector/bpf/sums.h"
#include "store/model/histogram.h"
#include "tests/unit/test.h"

static void
same_bucket(uint64_t value)
{
	int64_t v = value > INT64_MAX ? INT64_MAX : (int64_t)value;
	__u64 above;
	uint32_t bucket = sums_split(value, &above);

	CHECK_INT(bucket, histogram_bucket(v));
	CHECK_INT((int64_t)above, v - histogram_low(bucket));
}

TEST(buckets_are_the_stores)
{
	uint64_t random = 88172645463325252u;

	for (uint64_t v = 0; v < 70000; v++)
		same_bucket(v);
	for (int bit = 8; bit < 64; bit++)
		for (int d = -2; d <= 2; d++)
			same_bucket((UINT64_C(1) << bit) + (uint64_t)d);
	for (int i = 0; i < 100000; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		same_bucket(random >> (i & 63));
	}
}

TEST(a_moment_is_of_one_slot)
{
	uint64_t slot = 1000, end = 50000;

	CHECK_INT(sums_side(end | 1, end - 1), 1);
	CHECK_INT(sums_side(end | 1, end), 0);
	/* The daemon comes later, and sets the next border. */
	CHECK_INT(sums_side(end + slot, end), 0);
	CHECK_INT(sums_side(end + slot, end + slot - 1), 0);
	CHECK_INT(sums_side(end + slot, end + slot), 1);
	/* Nobody comes for long: still the one that is to be closed next. */
	CHECK_INT(sums_side(end + slot, end + 9 * slot), 1);
}

int
main(void)
{
	RUN(buckets_are_the_stores);
	RUN(a_moment_is_of_one_slot);
	return test_done();
}
