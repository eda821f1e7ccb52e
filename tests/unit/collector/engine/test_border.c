/*
 * The room for events of later slots.
 */
#include "collector/engine/border.h"
#include "tests/unit/test.h"

static void
count(void *arg, const struct sample_event *e, size_t size)
{
	unsigned *n = arg;

	CHECK_INT(size, (sizeof(*e) + 7) & ~(size_t)7);
	n[(e->flags & EVENT_WAIT) != 0]++;
}

/* As many waits as there are leave room to the samples of a clock. */
TEST(waits_leave_room_to_a_clock)
{
	static struct sample_event wait = {.flags = EVENT_WAIT}, sample;
	unsigned n[2] = {0}, waits = 0, samples = 0;
	struct border b = {.slot_ns = 1};

	while (border_hold(&b, &wait, sizeof(wait)))
		waits++;
	while (border_hold(&b, &sample, sizeof(sample)))
		samples++;
	CHECK(waits > 0 && samples >= waits);
	CHECK(!border_hold(&b, &wait, sizeof(wait)));
	border_release(&b, count, n);
	CHECK_INT(n[1], waits);
	CHECK_INT(n[0], samples);
	CHECK(border_hold(&b, &wait, sizeof(wait)));
	border_fini(&b);
}

/* Half of their room is for all waits, the rest for longer and longer ones. */
TEST(pressure_grows_with_waits)
{
	static struct sample_event wait = {.flags = EVENT_WAIT};
	struct border b = {.slot_ns = 1};
	unsigned before, now = 0, n = 0, calm = 0;

	do {
		before = now;
		now = border_pressure(&b);
		CHECK(now == before || now == before + 1);
		calm += now == 0;
		n++;
	} while (border_hold(&b, &wait, sizeof(wait)));
	CHECK(calm > n * 9 / 20 && calm < n * 11 / 20);
	CHECK(now >= 8);
	border_fini(&b);
	CHECK_INT(border_pressure(&b), 0);
}

int
main(void)
{
	RUN(waits_leave_room_to_a_clock);
	RUN(pressure_grows_with_waits);
	return test_done();
}
