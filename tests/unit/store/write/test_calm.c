/*
 * A clock that went on while nobody asked has not jumped.
 */
#include "store/write/calm.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(10)
#define FAR (SLOT * (CALM_JUMP + 1))

static struct calm c;

static void
begin(void)
{
	c = (struct calm){0};
	calm_tick(&c, SLOT, 100000, 500, 100000);
}

TEST(a_stall_is_no_jump)
{
	begin();
	calm_tick(&c, SLOT, 100000 + FAR, 500 + FAR, 100000);
	CHECK(calm_is(&c, SLOT));
	CHECK_INT(c.jump_ns, 0);
}

TEST(a_jump_is_one)
{
	begin();
	calm_tick(&c, SLOT, 100000 + FAR, 501, 100000);
	CHECK(!calm_is(&c, SLOT) && c.seen);
	CHECK_INT(c.jump_ns, FAR);
	begin();
	calm_tick(&c, SLOT, 100000 - FAR, 501, 100000);
	CHECK(!calm_is(&c, SLOT));
	CHECK_INT(c.jump_ns, -FAR);
}

TEST(so_is_one_within_a_stall)
{
	begin();
	calm_tick(&c, SLOT, 100000 + 3 * FAR, 500 + FAR, 100000);
	CHECK(!calm_is(&c, SLOT));
}

int
main(void)
{
	RUN(a_stall_is_no_jump);
	RUN(a_jump_is_one);
	RUN(so_is_one_within_a_stall);
	return test_done();
}
