/*
 * Theil and Sen's slope against a naive median, its interval by how often it
 * holds the truth, and what is a plateau.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "fcgi/query/trend.h"
#include "tests/unit/test.h"

static uint64_t state = 12345;

/* Sum of four: about normal, of variance 1/3. */
static double
noise(void)
{
	double sum = 0;

	for (int i = 0; i < 4; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		sum += (double)(state >> 11) / 9007199254740992.0 - 0.5;
	}
	return sum;
}

/* How many slopes of pairs are below or above: of the median, as many. */
static int
imbalance(const struct trend_point *p, size_t n, double slope)
{
	int side = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++) {
			double v = (p[i].y - p[j].y) / (p[i].x - p[j].x);

			side += (v > slope) - (v < slope);
		}
	return abs(side);
}

TEST(the_slope_is_the_median_of_all_pairs)
{
	struct trend_point p[TREND_POINTS_MAX];

	for (int round = 0; round < 200; round++) {
		size_t n = TREND_POINTS_MIN + (size_t)round %
		    (TREND_POINTS_MAX - TREND_POINTS_MIN + 1);

		for (size_t i = 0; i < n; i++)
			p[i] = (struct trend_point){(double)(i * 3),
			    (double)i * (round % 7 - 3) + 20 * noise()};
		CHECK(imbalance(p, n, trend_of(p, n).slope) <= 1);
	}
}

TEST(the_interval_holds_the_truth_as_often_as_it_says)
{
	struct trend_point p[40];
	int held = 0, rounds = 1000;

	for (int round = 0; round < rounds; round++) {
		struct trend t;

		for (int i = 0; i < 40; i++)
			p[i] = (struct trend_point){i, 5 * i + 30 * noise()};
		t = trend_of(p, 40);
		held += t.low <= 5 && 5 <= t.high;
	}
	/* 950, by three standard errors */
	CHECK(held > 929 && held < 991);
}

static enum trend_state
state_of(double (*fn)(int), int n)
{
	struct trend_point p[TREND_POINTS_MAX];

	for (int i = 0; i < n; i++)
		p[i] = (struct trend_point){i * 10, fn(i) + 0.5 * noise()};
	return trend_of(p, (size_t)n).state;
}

static double leak(int i) { return i; }
static double burst(int i) { return i == 20 ? 1000 : 7; }
static double cache(int i) { return i < 24 ? i * 8 : 200; }
static double fall(int i) { return -i; }
static double wild(int i) { return i % 9 == 8 ? 500 : i; }

TEST(a_plateau_is_no_growth)
{
	CHECK_INT(state_of(leak, 48), TREND_GROWING);
	CHECK_INT(state_of(burst, 48), TREND_STEADY);
	CHECK_INT(state_of(cache, 48), TREND_PLATEAU);
	CHECK_INT(state_of(cache, 24), TREND_GROWING);
	CHECK_INT(state_of(fall, 48), TREND_STEADY);
	CHECK_INT(state_of(wild, 48), TREND_GROWING);
	CHECK_INT(state_of(leak, TREND_POINTS_MIN - 1), TREND_UNKNOWN);
}

/* A load that grows, up and down, and what is made of it. */
TEST(what_follows_the_load_is_told_from_what_leaks)
{
	struct trend_point p[48];
	double load[48];

	for (int round = 0; round < 100; round++) {
		double leaks = round % 2, held = round % 3 || !leaks ? 3 : 0;
		enum trend_state want = leaks > 0 ? TREND_GROWING
		    : TREND_LOAD;

		for (int i = 0; i < 48; i++) {
			load[i] = 100 + 2 * i + 10 * noise();
			p[i] = (struct trend_point){i, 500 + leaks * 10 * i +
			    held * load[i] + 0.01 * noise()};
		}
		CHECK_INT(trend_beside(p, load, 48).state, want);
	}
	/* always as busy: nothing follows */
	for (int i = 0; i < 48; i++)
		load[i] = 7;
	CHECK_INT(trend_beside(p, load, 48).state, TREND_GROWING);
}

int
main(void)
{
	RUN(the_slope_is_the_median_of_all_pairs);
	RUN(the_interval_holds_the_truth_as_often_as_it_says);
	RUN(a_plateau_is_no_growth);
	RUN(what_follows_the_load_is_told_from_what_leaks);
	return test_done();
}
