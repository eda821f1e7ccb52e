/*
 * What waits for its slot, and what is due.
 */
#include "collector/pbft/pbft_slots.h"
#include "tests/unit/test.h"

static struct pbft_slots slots;
static uint64_t counts, sums;

static void
add(uint32_t member, uint64_t slot, uint64_t count)
{
	struct sums_key key = {.device = (uint32_t)slot, .what = 1,
	    .bucket = 100};

	CHECK(pbft_slots_add(&slots, member, &key, count, count));
}

static void
seen(void *arg, uint32_t member, uint32_t what, const struct bin *bin)
{
	(void)arg;
	CHECK_INT(what, 1);
	counts += bin->count << 16 * member;
	sums += bin->sum;
}

static uint64_t
take(uint64_t slot, uint64_t present)
{
	counts = sums = 0;
	pbft_slots_take(&slots, slot, present, seen, NULL);
	return counts;
}

TEST(each_waits_for_its_slot)
{
	add(0, 10, 3);
	add(0, 11, 5);
	add(1, 12, 7);
	CHECK_INT((int64_t)take(10, 13), 3);
	CHECK_INT((int64_t)sums, 3 * 100 + 3);
	CHECK(pbft_slots_wait(&slots, 0) && pbft_slots_wait(&slots, 1));
	add(0, 11, 2);
	CHECK_INT((int64_t)take(11, 13), 7);
	CHECK_INT((int64_t)sums, 7 * 100 + 7);
	CHECK(!pbft_slots_wait(&slots, 0) && pbft_slots_wait(&slots, 1));
	CHECK_INT((int64_t)take(12, 13), 7 << 16);
	CHECK_INT((int64_t)take(13, 13), 0);
}

TEST(what_comes_late_is_not_lost)
{
	add(0, 9, 2);
	CHECK_INT((int64_t)take(12, 13), 2);
}

TEST(nor_is_what_the_clock_has_left)
{
	add(0, 5000, 2);
	CHECK_INT((int64_t)take(12, 13), 2);
}

TEST(slots_have_more_than_32_bits)
{
	uint64_t slot = UINT64_C(0x3ffffffff);

	add(0, slot, 2);
	add(0, slot + 1, 4);
	CHECK_INT((int64_t)take(slot, slot + 2), 2);
	CHECK_INT((int64_t)take(slot + 1, slot + 2), 4);
	pbft_slots_fini(&slots);
}

TEST(a_loss_is_of_its_slot)
{
	__u64 lost[PBFT_LOST_SLOTS] = {0};

	CHECK(!pbft_slots_lost(lost, 0) && !pbft_slots_lost(lost, 12));
	lost[12] = UINT64_C(12) << 32 | 5;
	lost[13] = UINT64_C(13) << 32 | 7;
	lost[14] = UINT64_C(9000) << 32 | 1; /* the clock was there */
	CHECK(!pbft_slots_lost(lost, 11) && pbft_slots_lost(lost, 12));
	CHECK(pbft_slots_lost(lost, 13) && !pbft_slots_lost(lost, 15));
	CHECK_INT((int64_t)pbft_slots_lost_later(lost, 11, 20), 12);
	CHECK_INT((int64_t)pbft_slots_lost_later(lost, 12, 20), 7);
	CHECK_INT((int64_t)pbft_slots_lost_later(lost, 13, 20), 0);
	/* 128 slots later nobody has lost any, and of long ago nobody knows */
	CHECK(!pbft_slots_lost(lost, 12 + PBFT_LOST_SLOTS));
	lost[12] = (__u64)(12 + PBFT_LOST_SLOTS) << 32 | 1;
	CHECK(pbft_slots_lost(lost, 12));
}

int
main(void)
{
	RUN(each_waits_for_its_slot);
	RUN(what_comes_late_is_not_lost);
	RUN(nor_is_what_the_clock_has_left);
	RUN(slots_have_more_than_32_bits);
	RUN(a_loss_is_of_its_slot);
	return test_done();
}
