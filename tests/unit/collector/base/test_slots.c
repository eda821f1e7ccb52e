/*
 * The clock of slots: closing in time, jumps, and against a naive model a
 * random walk in which no slot may be closed twice.
 */
#include <stdlib.h>

#include "collector/base/slots.h"
#include "tests/unit/test.h"

#define S INT64_C(1000000000)
#define MS INT64_C(1000000)
#define T0 (INT64_C(1795000000) * S) /* a multiple of 10 s */

/* The slots that are closed at this time, as text relative to T0. */
static const char *
closed(struct slots *s, int64_t wall, int64_t mono)
{
	static char text[2000];
	uint64_t slot;
	size_t n = 0;

	text[0] = '\0';
	slots_update(s, wall, mono);
	while (slots_next(s, &slot) && n < sizeof(text) - 20)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%lld ",
		    (long long)(slot - (uint64_t)(T0 / s->slot_ns)));
	return text;
}

TEST(in_time)
{
	struct slots s;

	slots_init(&s, 10 * S, T0 + 3 * S, 0);
	CHECK_STR(closed(&s, T0 + 9 * S, 6 * S), "");
	CHECK_STR(closed(&s, T0 + 10 * S, 7 * S), "");
	CHECK_STR(closed(&s, T0 + 10 * S + 199 * MS, 7199 * MS), "");
	CHECK_INT(slots_due_ns(&s), T0 + 10 * S + 200 * MS);
	CHECK_STR(closed(&s, T0 + 10 * S + 200 * MS, 7200 * MS), "0 ");
	CHECK_STR(closed(&s, T0 + 11 * S, 8 * S), "");
	CHECK_STR(closed(&s, T0 + 41 * S, 38 * S), "1 2 3 ");
	CHECK_INT(s.skipped, 0);
}

TEST(short_slots_have_a_short_grace)
{
	struct slots s;

	slots_init(&s, 20 * MS, T0, 0);
	CHECK_STR(closed(&s, T0 + 24 * MS, 24 * MS), "");
	CHECK_STR(closed(&s, T0 + 25 * MS, 25 * MS), "0 ");
}

/* What the last 200 ms had brought for the next slot was lost at an end
 * within its grace. */
TEST(the_last_slot_waits_for_nothing)
{
	struct slots s;

	slots_init(&s, 10 * S, T0 + 3 * S, 0);
	slots_hurry(&s);
	CHECK_STR(closed(&s, T0 + 10 * S + 100 * MS, 7100 * MS), "0 ");
	CHECK_INT(s.open, T0 / (10 * S) + 1);
	/* after a reload the grace holds again */
	CHECK_STR(closed(&s, T0 + 20 * S + 100 * MS, 17100 * MS), "");
	CHECK_STR(closed(&s, T0 + 20 * S + 200 * MS, 17200 * MS), "1 ");
}

TEST(suspend_is_a_gap)
{
	struct slots s;

	slots_init(&s, 10 * S, T0, 0);
	CHECK_STR(closed(&s, T0 + 5 * S, 5 * S), "");
	CHECK_STR(closed(&s, T0 + 3600 * S, 6 * S), "0 ");
	CHECK_INT(s.open - (uint64_t)(T0 / (10 * S)), 360);
	CHECK_INT(s.skipped, 359);
	CHECK_STR(closed(&s, T0 + 3611 * S, 17 * S), "360 ");
}

TEST(long_stall_is_a_gap)
{
	struct slots s;

	slots_init(&s, S, T0, 0);
	CHECK_STR(closed(&s, T0 + 100 * S, 100 * S), "0 ");
	CHECK_INT(s.skipped, 99);
}

TEST(small_step_back_waits)
{
	struct slots s;

	slots_init(&s, 10 * S, T0, 0);
	CHECK_STR(closed(&s, T0 + 11 * S, 11 * S), "0 ");
	CHECK_INT(slots_update(&s, T0 - 20 * S, 12 * S), SLOTS_BACK);
	CHECK_STR(closed(&s, T0 - 9 * S, 23 * S), "");
	CHECK_STR(closed(&s, T0 + 11 * S, 43 * S), "");
	CHECK_STR(closed(&s, T0 + 21 * S, 53 * S), "1 ");
}

TEST(large_step_back_is_believed)
{
	struct slots s;

	slots_init(&s, 10 * S, T0, 0);
	CHECK_INT(slots_update(&s, T0 - 86400 * S, S), SLOTS_RESET);
	CHECK_STR(closed(&s, T0 - 86400 * S, S), "0 ");
	CHECK_STR(closed(&s, T0 - 86400 * S + 11 * S, 12 * S), "-8640 ");
}

TEST(jump_within_the_open_slot)
{
	struct slots s;

	slots_init(&s, 10 * S, T0, 0);
	CHECK_INT(slots_update(&s, T0 + 8 * S, S), SLOTS_FORWARD);
	CHECK_STR(closed(&s, T0 + 9 * S, 2 * S), "");
	CHECK_STR(closed(&s, T0 + 11 * S, 4 * S), "0 ");
}

/* Steps forward and small steps back: strictly rising, never early. */
/* What is read every 3 s is read at the end of a slot of 10 s, too. */
TEST(a_slot_ends_a_period)
{
	int64_t before = slots_period(T0 - 1, 10 * S, 3 * S);
	char at[100] = "";

	for (int64_t i = 0; i < 20 * S; i += 500 * MS) {
		int64_t now = slots_period(T0 + i, 10 * S, 3 * S);
		size_t n = strlen(at);

		if (now != before)
			snprintf(at + n, sizeof(at) - n, "%.1f ",
			    (double)i / 1e9);
		before = now;
	}
	CHECK_STR(at, "0.0 2.0 5.0 8.0 10.0 11.0 14.0 17.0 ");
}

TEST(random_walk)
{
	int64_t wall = T0, mono = 0;
	uint64_t slot, last = 0;
	struct slots s;
	int closes = 0;

	srandom(1);
	slots_init(&s, S, wall, mono);
	for (int i = 0; i < 200000; i++) {
		int64_t step = random() % (300 * MS);

		wall += step;
		mono += step;
		if (random() % 500 == 0)
			wall += (random() % 200 - 60) * S;
		slots_update(&s, wall, mono);
		while (slots_next(&s, &slot)) {
			if (closes > 0 && slot <= last)
				test_bad++;
			last = slot;
			closes++;
		}
		if (s.open > (uint64_t)(wall / S) + 64)
			test_bad++;
		if (s.open + 1 < (uint64_t)((wall - 250 * MS) / S))
			test_bad++;
	}
	CHECK(closes > 1000);
}

int
main(void)
{
	RUN(in_time);
	RUN(short_slots_have_a_short_grace);
	RUN(the_last_slot_waits_for_nothing);
	RUN(suspend_is_a_gap);
	RUN(long_stall_is_a_gap);
	RUN(small_step_back_waits);
	RUN(large_step_back_is_believed);
	RUN(jump_within_the_open_slot);
	RUN(a_slot_ends_a_period);
	RUN(random_walk);
	return test_done();
}
