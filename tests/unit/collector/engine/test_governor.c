/*
 * The governor with a usage that the test makes up: slots of 10 s, a budget
 * of 1 %.
 */
#include "collector/engine/governor.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(10000000000)

/* n slots in which so many thousandths of a CPU are used; returns how often
 * the rate changed. */
static int
slots(struct governor *g, int n, int64_t permille)
{
	int changes = 0;

	while (n-- > 0)
		changes += governor_step(g, SLOT / 1000 * permille, SLOT);
	return changes;
}

TEST(within_the_budget_nothing_changes)
{
	struct governor g;

	governor_init(&g, 10000);
	CHECK_INT(slots(&g, 1000, 10), 0);
	CHECK_INT(slots(&g, 1000, 0), 0);
	CHECK_INT(governor_hz(&g, 99), 99);
}

TEST(a_short_peak_changes_nothing)
{
	struct governor g;

	governor_init(&g, 10000);
	for (int i = 0; i < 100; i++) {
		CHECK_INT(slots(&g, GOVERNOR_OVER - 1, 500), 0);
		CHECK_INT(slots(&g, 1, 5), 0);
	}
	CHECK_INT(governor_hz(&g, 99), 99);
}

TEST(down_to_a_fifth_and_no_further)
{
	struct governor g;

	governor_init(&g, 10000);
	CHECK_INT(slots(&g, GOVERNOR_OVER, 11), 1);
	CHECK_INT(governor_hz(&g, 99), 49);
	CHECK_INT(slots(&g, GOVERNOR_OVER, 11), 1);
	CHECK_INT(governor_hz(&g, 99), 19);
	CHECK_INT(slots(&g, 100, 11), 0);
	CHECK_INT(governor_hz(&g, 99), 19);
}

/* Between three quarters of the budget and the budget it stays. */
TEST(up_when_calm)
{
	struct governor g;

	governor_init(&g, 10000);
	slots(&g, 2 * GOVERNOR_OVER, 20);
	CHECK_INT(slots(&g, 100, 8), 0);
	CHECK_INT(slots(&g, GOVERNOR_PATIENCE, 7), 1);
	CHECK_INT(governor_hz(&g, 99), 49);
	CHECK_INT(slots(&g, GOVERNOR_PATIENCE, 7), 1);
	CHECK_INT(governor_hz(&g, 99), 99);
	CHECK_INT(slots(&g, 1000, 7), 0);
}

/* A load that the higher rate cannot bear: it is tried less and less often,
 * and as soon as before when it has gone for good. */
TEST(relapses_are_remembered)
{
	unsigned patience = GOVERNOR_PATIENCE, last = 0;
	struct governor g;

	governor_init(&g, 10000);
	slots(&g, GOVERNOR_OVER, 20);
	for (int i = 0; i < 8; i++) {
		CHECK_INT(slots(&g, (int)patience - 1, 5), 0);
		CHECK_INT(slots(&g, 1, 5), 1);
		CHECK_INT(governor_hz(&g, 99), 99);
		CHECK_INT(slots(&g, GOVERNOR_OVER, 15), 1);
		CHECK_INT(governor_hz(&g, 99), 49);
		last = patience;
		patience = g.patience;
		CHECK(patience >= last);
	}
	CHECK_INT(patience, GOVERNOR_PATIENCE_MAX);
	slots(&g, 4000, 5);
	CHECK_INT(governor_hz(&g, 99), 99);
	CHECK_INT(g.patience, GOVERNOR_PATIENCE);
}

TEST(odd_rates_and_no_budget)
{
	struct governor g;

	governor_init(&g, 10000);
	slots(&g, 100, 500);
	CHECK_INT(governor_hz(&g, 2), 1);
	CHECK_INT(governor_period(&g, 100), 500);
	governor_init(&g, 0);
	CHECK_INT(slots(&g, 100, 900), 0);
	governor_init(&g, 10000);
	for (int i = 0; i < 10; i++)
		CHECK(!governor_step(&g, 0, 0));
}

int
main(void)
{
	RUN(within_the_budget_nothing_changes);
	RUN(a_short_peak_changes_nothing);
	RUN(down_to_a_fifth_and_no_further);
	RUN(up_when_calm);
	RUN(relapses_are_remembered);
	RUN(odd_rates_and_no_budget);
	return test_done();
}
