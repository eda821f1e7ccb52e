/*
 * The governor with a usage that the test makes up: spans of 10 s, a budget
 * of 1 %.
 */
#include "collector/base/governor.h"
#include "tests/unit/test.h"

#define SPAN INT64_C(10000000000)
#define MINUTE 6

/* n spans in which so many hundredths of a percent of a CPU are used; returns
 * how often the rate changed. */
static int
spans(struct governor *g, int n, int64_t with, int64_t beside)
{
	struct governor_used used = {SPAN, SPAN / 10000 * with,
	    SPAN / 10000 * beside};
	int changes = 0;

	while (n-- > 0)
		changes += governor_step(g, &used);
	return changes;
}

/* What follows what: rows are run one after the other, from a new governor
 * where `hz` of the row before is 0. */
static const struct {
	const char *what; /* for the reader */
	int n;
	int64_t with, beside;
	int64_t hz; /* then; 0: a new governor */
	int changes;
} table[] = {
    {"within the budget nothing changes", 1000, 99, 0, 99, 0},
    {"nor when nothing is used", 1000, 0, 0, 99, 0},
    {"a short peak changes nothing", 2, 500, 0, 99, 0},
    {"if it ends", 1, 5, 0, 99, 0},
    {"and comes again", 2, 500, 0, 99, 0},
    {"", 0, 0, 0, 0, 0},
    {"three in a row do", 3, 101, 0, 49, 1},
    {"and three more", 3, 101, 0, 19, 1},
    {"there is nothing below", 100, 101, 0, 19, 0},
    {"half of 0.36 % is too much for 99 Hz, not for 49", 2, 31, 0, 49, 1},
    {"0.39 at 49 Hz would be 0.78 at 99", 2, 39, 0, 99, 1},
    {"", 0, 0, 0, 0, 0},
    {"from a fifth to all of it at once", 6, 300, 0, 19, 2},
    {"in calm", 2, 15, 0, 99, 1},
    {"", 0, 0, 0, 0, 0},
    {"in the middle it stays", 3, 300, 0, 49, 1},
    {"for ever", 1000, 60, 0, 49, 0},
    {"", 0, 0, 0, 0, 0},
    {"a start: names cost what they cost", 100, 40, 900, 99, 0},
    {"as on a host that compiles", 100, 62, 95, 99, 0},
    {"it leaves three quarters of the budget", 3, 76, 900, 49, 1},
    {"and gives it back", 5, 30, 10, 99, 1},
    {"the rate has what is left", 3, 81, 20, 49, 1},
};

TEST(rows_of_the_table)
{
	struct governor g;

	governor_init(&g, &governor_rates, 10000);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int changes = spans(&g, table[i].n, table[i].with,
		    table[i].beside);

		if (table[i].hz == 0) {
			governor_init(&g, &governor_rates, 10000);
			continue;
		}
		CHECK_INT(changes, table[i].changes);
		CHECK_INT(governor_hz(&g, 99), table[i].hz);
	}
}

/* A host whose cost follows the rate, as far as `fixed` lets it. */
static int
host(struct governor *g, int n, int64_t per_hz, int64_t fixed, int64_t beside)
{
	int changes = 0;

	while (n-- > 0)
		changes += spans(g, 1, fixed + per_hz * governor_hz(g, 100) /
		    100, beside);
	return changes;
}

/* Whatever a steady load costs: two changes at most until it is settled, none
 * after that, and the highest rate that it allows. */
TEST(a_steady_load_settles)
{
	for (int64_t cost = 0; cost < 1000; cost += 7) {
		for (int64_t beside = 0; beside < 200; beside += 33) {
			int64_t share = beside < 25 ? 100 - beside : 75;
			struct governor g;

			governor_init(&g, &governor_rates, 10000);
			CHECK(host(&g, 20, cost, 0, beside) <= 2);
			CHECK_INT(host(&g, 1000, cost, 0, beside), 0);
			CHECK_INT(g.level, cost <= share ? 0 :
			    cost / 2 <= share ? 1 : 2);
		}
	}
}

/* The rate is back within a minute of calm, whatever there was before. */
TEST(back_within_a_minute)
{
	struct governor g;

	governor_init(&g, &governor_rates, 10000);
	for (int round = 0; round < 50; round++) {
		host(&g, 3 + round * 7 % 40, 300 + round * 11, 0, round * 3);
		CHECK(g.level > 0);
		host(&g, MINUTE, 50, 0, 10);
		CHECK_INT(g.level, 0);
	}
}

/* A cost that does not follow the rate is not seen before: then it is tried
 * less often, and after a long rest as soon as at first. */
TEST(relapses_are_remembered)
{
	struct governor g;

	governor_init(&g, &governor_rates, 10000);
	spans(&g, 3, 200, 0);
	for (int i = 0; i < 5; i++) {
		unsigned patience = g.patience;

		CHECK_INT(spans(&g, (int)patience - 1, 30, 0), 0);
		CHECK_INT(spans(&g, 1, 30, 0), 1);
		CHECK_INT(spans(&g, 3, 150, 0), 1);
		CHECK(g.patience > patience ||
		    patience == GOVERNOR_PATIENCE_MAX);
	}
	CHECK_INT(g.patience, GOVERNOR_PATIENCE_MAX);
	spans(&g, GOVERNOR_PATIENCE_MAX + GOVERNOR_RELAPSE, 5, 0);
	CHECK_INT(governor_hz(&g, 99), 99);
	CHECK_INT(g.patience, GOVERNOR_PATIENCE);
}

TEST(odd_rates_and_no_budget)
{
	struct governor_used nothing = {0};
	struct governor g;

	governor_init(&g, &governor_rates, 10000);
	spans(&g, 100, 5000, 0);
	CHECK_INT(governor_hz(&g, 2), 1);
	CHECK_INT(governor_period(&g, 100), 500);
	governor_init(&g, &governor_rates, 0);
	CHECK_INT(spans(&g, 100, 9000, 0), 0);
	governor_init(&g, &governor_rates, 10000);
	for (int i = 0; i < 10; i++)
		CHECK(!governor_step(&g, &nothing));
}

TEST(windows_are_of_ten_seconds_or_a_slot)
{
	const int64_t second = 1000000000;
	struct governor_used sums = {5 * second, 700, 30}, used;
	struct governor_window w;

	governor_window_begin(&w, second, &sums);
	CHECK(!governor_window_is_over(&w, 14 * second - 1));
	CHECK(governor_window_is_over(&w, 14 * second));
	sums = (struct governor_used){15 * second, 700 + 2 * second,
	    30 + second};
	used = governor_window_next(&w, &sums);
	CHECK_INT(used.span_ns, 10 * second);
	CHECK_INT(used.with_ns, 2 * second);
	CHECK_INT(used.beside_ns, second);
	CHECK_INT(w.ratio * 1000, 300);
	CHECK(!governor_window_is_over(&w, 23 * second));
	governor_window_begin(&w, 60 * second, &sums);
	CHECK(!governor_window_is_over(&w, (15 + 53) * second));
	CHECK(governor_window_is_over(&w, (15 + 54) * second));
}

int
main(void)
{
	RUN(rows_of_the_table);
	RUN(a_steady_load_settles);
	RUN(back_within_a_minute);
	RUN(relapses_are_remembered);
	RUN(odd_rates_and_no_budget);
	RUN(windows_are_of_ten_seconds_or_a_slot);
	return test_done();
}
