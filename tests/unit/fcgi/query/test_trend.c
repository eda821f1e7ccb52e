/*
 * Theil and Sen's slope against a naive median, its interval by how often it
 * holds the truth, what is a plateau, and how often it is mistaken about
 * series whose growth is known.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
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

/* Of all of them, or of the last half or third where those differ. */
static bool
is_median_of_some(const struct trend_point *p, size_t n, double slope)
{
	bool is = imbalance(p, n, slope) <= 1;

	for (size_t part = 2; part <= 3; part++) {
		size_t last = n / part < TREND_POINTS_MIN ? TREND_POINTS_MIN
		    : n / part;

		is |= imbalance(p + n - last, last, slope) <= 1;
	}
	return is;
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
		CHECK(is_median_of_some(p, n, trend_of(p, n, 0).slope));
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
		t = trend_of(p, 40, 0);
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
	return trend_of(p, (size_t)n, 0).state;
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

/*
 * Series of which is known whether they grow, and how fast at their end, with
 * noise of about 0.6 times `noisy`, whole and with a fifth of the points
 * missing; of 400 each how many may be taken for something else.
 */
static double wander; /* of what resembles what it was */

static double late(int i) { return i < 32 ? 100 : 100 + 6 * (i - 32); }
static double later(int i) { return i < 38 ? 100 : 100 + 6 * (i - 38); }
static double collected(int i) { return 100 + i * 7 % 20 * 10; }
static double collected_leak(int i) { return collected(i) + 4 * i; }
static double restarted(int i) { return i < 24 ? 200 : 50; }
static double restarted_leak(int i) { return 100 + 10 * (i % 24); }
static double step(int i) { return i < 24 ? 100 : 300; }
static double doubling(int i) { return 64 << i / 8; }
static double full(int i) { return i < 15 ? 12 * i : 180; }
static double slower(int i) { return i < 24 ? 8 * i : 192 + 2 * (i - 24); }
/* a cache that fills, a leak, and bursts */
static double filled_leak(int i)
{
	return full(i) + 4 * i + (i % 3 == 2 ? 30 : 0);
}
static double flat(int i) { return 0 * i + 1000; }
static double slow(int i) { return 1000 + 0.6 * i; }
static double wanders(int i)
{
	return wander = 0.9 * (i > 0 ? wander : 0) + noise();
}

static const struct known {
	double (*fn)(int);
	double noisy;
	bool grows;
	double slope; /* of late, a point; 0: not looked at */
	int wrong;    /* at most, of 400 */
} known[] = {
    {late, 3, true, 6, 4}, {later, 3, true, 0, 170},
    {collected, 1, false, 0, 4}, {collected_leak, 1, true, 4, 4},
    {restarted, 1, false, 0, 4}, {restarted_leak, 1, true, 10, 4},
    {step, 1, false, 0, 4}, {doubling, 1, true, 0, 4},
    {full, 4, false, 0, 8}, {slower, 1, true, 2, 4},
    {filled_leak, 1, true, 4, 8},
    {flat, 10, false, 0, 8}, {slow, 10, true, 0.6, 20},
    {wanders, 0, false, 0, 12}};

static void
count_wrong(const struct known *k, bool gaps, int *wrong, double *slope)
{
	*wrong = 0;
	*slope = 0;
	for (int round = 0; round < 400; round++) {
		struct trend_point p[48];
		struct trend t;
		size_t n = 0;

		for (int i = 0; i < 48; i++) {
			double y = k->fn(i) + k->noisy * noise();

			if (!gaps || noise() < 0.5)
				p[n++] = (struct trend_point){i, y};
		}
		t = trend_of(p, n, 0);
		*wrong += (t.state == TREND_GROWING) != k->grows;
		*slope += t.slope / 400;
	}
}

TEST(what_grows_is_told_from_what_does_not)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		for (int gaps = 0; gaps < 2; gaps++) {
			const struct known *k = &known[i];
			double slope;
			int wrong;

			count_wrong(k, gaps, &wrong, &slope);
			if (wrong > k->wrong)
				fprintf(stderr, "series %zu: %d of 400\n", i,
				    wrong);
			CHECK(wrong <= k->wrong);
			CHECK(k->slope == 0 ||
			    fabs(slope / k->slope - 1) < 0.15);
		}
}

/*
 * Walks without a direction, whose steps are of a bell, some of them six times
 * as wide, or mostly none: of 2,000 each one of 20 may be called growing, by
 * three standard errors.
 */
static double plain_step(void) { return noise(); }
static double wide_step(void) { return noise() * (noise() > 0.7 ? 6 : 1); }
static double rare_step(void)
{
	return noise() < 0.4 ? 0 : noise() > 0 ? 1 : -1;
}

/* A cache that is cleared, seen in two of its cycles: it fills as it did. */
TEST(what_fills_again_does_not_grow)
{
	struct trend_point p[48];
	struct trend t;
	int grown = 0;

	for (size_t begin = 0; begin < 15; begin++) {
		for (size_t i = 0; i < 30; i++)
			p[i] = (struct trend_point){(double)i, (double)((begin +
			    i) % 16) * 7 + 1 + noise()};
		grown += trend_of(p, 30, 0).state == TREND_GROWING;
	}
	CHECK_INT(grown, 0);
	/* A start that gives back, with a leak that is slower, is one. */
	for (size_t i = 0; i < 48; i++)
		p[i] = (struct trend_point){(double)i, i < 8 ? 20 *
		    (double)i : 5 + (double)i + noise() / 4};
	t = trend_of(p, 48, 0);
	CHECK_STR(trend_state_name(t.state), "growing");
	CHECK(t.slope > 0.9 && t.slope < 1.1);
	/* And so is what goes far beyond what was given back. */
	for (size_t i = 0; i < 48; i++)
		p[i] = (struct trend_point){(double)i, i < 8 ? 3 + (double)i :
		    (double)(i - 8) + noise() / 4};
	CHECK_STR(trend_state_name(trend_of(p, 48, 0).state), "growing");
}

TEST(a_walk_is_not_called_growth)
{
	static double (*const steps[])(void) = {plain_step, wide_step,
	    rare_step};
	struct trend_point p[48];

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int wrong = 0;

		for (int round = 0; round < 2000; round++) {
			double y = 1000;

			for (int j = 0; j < 48; j++)
				p[j] = (struct trend_point){j,
				    y += steps[i]()};
			wrong += trend_of(p, 48, 0).state == TREND_GROWING;
		}
		if (wrong > 100)
			fprintf(stderr, "walk %zu: %d of 2000\n", i, wrong);
		CHECK(wrong <= 100);
	}
}

/* One that goes up all the time by uneven steps, and one of steps that go up
 * by more than they vary, which is seen in 19 of 20. */
TEST(a_walk_with_a_direction_is_found)
{
	struct trend_point up[48], drift[48];
	int found = 0;

	for (int round = 0; round < 500; round++) {
		double y = 0, z = 0;

		for (int j = 0; j < 48; j++) {
			up[j] = (struct trend_point){j, y};
			drift[j] = (struct trend_point){j, z};
			y += fabs(noise());
			z += 0.6 + noise();
		}
		CHECK_INT(trend_of(up, 48, 0).state, TREND_GROWING);
		found += trend_of(drift, 48, 0).state == TREND_GROWING;
	}
	CHECK(found >= 475);
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
		CHECK_INT(trend_beside(p, load, NULL, 48, 0).state, want);
	}
	/* always as busy: nothing follows */
	for (int i = 0; i < 48; i++)
		load[i] = 7;
	CHECK_INT(trend_beside(p, load, NULL, 48, 0).state, TREND_GROWING);
}

/* ---- a leak that is known by samples ---- */

#define MEAN 524288.0

/* From 0 to 1, never either. */
static double
even(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

/* So many bytes of objects of one size a second, each picked as the allocator's
 * library picks: the estimate of what is held, as it is after a slot. */
struct leaky {
	double rate, size;
	double left, held;
};

static double
leaky_wait(struct leaky *s, double seconds)
{
	double picked = -expm1(-s->size / MEAN);

	for (s->left += s->rate * seconds; s->left >= s->size;
	    s->left -= s->size)
		s->held += even() < picked ? s->size / picked : 0;
	return s->held;
}

/* A cache of 64 MB that is full: for what it takes it gives something back, so
 * that of its places, each of two samples at most, some change in a slot. */
#define PLACES 120
struct full {
	double places[PLACES];
	bool is;
};

static double
full_wait(struct full *b, int changes)
{
	double sum = 0;

	for (int i = 0; b->is && i < changes; i++)
		b->places[(int)(even() * PLACES)] = even() < 0.5 ? 0
		    : 2 * MEAN;
	for (int i = 0; i < PLACES; i++)
		sum += b->places[i];
	return sum;
}

struct tally {
	int rounds, held, growing;
	double slope; /* the sum of parts of the truth */
};

/* Slots of 10 s in at most 48 steps, as the page about leaks asks. */
static void
leak_once(struct tally *of, struct leaky s, int seconds, bool beside)
{
	int slots = seconds / 10, per = (slots + 47) / 48, n = 0;
	struct full b = {.is = beside};
	struct trend_point p[TREND_POINTS_MAX];
	struct trend t;

	full_wait(&b, 10 * PLACES);
	for (int i = 0; i < slots; i += per, n++) {
		double sum = 0;

		for (int k = 0; k < per; k++)
			sum += leaky_wait(&s, 10) + full_wait(&b, 2);
		p[n] = (struct trend_point){n * per * 10, sum / per};
	}
	t = trend_of(p, (size_t)n, trend_grain(s.size, MEAN));
	of->rounds++;
	of->slope += t.slope / s.rate;
	of->held += t.low <= s.rate && s.rate <= t.high;
	of->growing += t.state == TREND_GROWING;
}

/*
 * Of leaks of so many bytes a second, from 24 samples in three minutes to
 * 27,000 in an hour, alone and beside a cache that is full but never still:
 * the interval, and the mean of the slopes.
 */
TEST(the_interval_of_a_sampled_leak_holds_the_truth)
{
	static const struct leaky leaks[] = {{68700, 4096, 0, 0},
	    {300e3, 16384, 0, 0}, {1e6, 65536, 0, 0}, {4e6, 1 << 20, 0, 0}};
	static const int windows[] = {180, 300, 600, 1800, 3600};
	struct tally all[2] = {{0, 0, 0, 0}, {0, 0, 0, 0}};

	for (int i = 0; i < 2 * 4 * 5; i++) {
		struct tally of = {0, 0, 0, 0};
		bool beside = i % 2;

		while (of.rounds < 300)
			leak_once(&of, leaks[i / 2 % 4], windows[i / 8],
			    beside);
		if (of.held < 270 || fabs(of.slope / 300 - 1) > 0.03)
			printf("# leak %d, %d s, beside %d: in %d of 300, "
			    "slope %g\n", i / 2 % 4, windows[i / 8], beside,
			    of.held, of.slope / 300);
		CHECK(of.held >= 270); /* 285, by four standard errors */
		/* beside what goes up and down by a third of it, that of one
		 * leak is known to a few hundredths by so many of them */
		CHECK(beside || of.growing >= 270);
		CHECK(beside || fabs(of.slope / 300 - 1) < 0.03);
		all[beside].slope += of.slope;
		all[beside].held += of.held;
		all[beside].rounds += of.rounds;
	}
	for (int i = 0; i < 2; i++) {
		printf("# beside %d: %d of %d\n", i, all[i].held,
		    all[i].rounds);
		CHECK(fabs(all[i].slope / all[i].rounds - 1) < 0.03);
		CHECK(all[i].held >= all[i].rounds * 0.94);
		CHECK(all[i].held <= all[i].rounds * 0.98);
	}
}

/* Of 1 MB a minute a third of ten minutes has seven samples, or three. */
TEST(a_leak_of_few_samples_has_not_stopped)
{
	struct tally of = {0, 0, 0, 0};

	while (of.rounds < 1000)
		leak_once(&of, (struct leaky){MEAN / 30, 4096, 0, 0}, 600,
		    false);
	printf("# %d of %d\n", of.growing, of.rounds);
	CHECK(of.growing >= 970); /* 910 where the last third alone says it */
}

/* What is far smaller than the mean counts as much as it, what is far larger
 * is not left to chance. */
TEST(a_grain_is_the_variance_over_the_amount)
{
	CHECK(trend_grain(0, MEAN) == MEAN);
	CHECK(fabs(trend_grain(1, MEAN) / MEAN - 1) < 1e-5);
	CHECK(fabs(trend_grain(MEAN, MEAN) / MEAN - 0.581977) < 1e-6);
	CHECK(trend_grain(100 * MEAN, MEAN) < 1e-30);
}

/* ---- over restarts ---- */

/* A stock of a program that was restarted at points `at` (-1: was not), by its
 * age in points, and whether it grows. */
static double leaks_on(int age) { return 10 * age; }
static double fills_up(int age) { return age < 8 ? 25 * age : 200; }
static double fills_leaking(int age)
{
	return (age < 8 ? 25 * age : 200) + 6 * age;
}
static double stands(int age) { return age > 0 ? 60 : 50; }

static const struct lives {
	double (*fn)(int age);
	int at[3];
	bool grows;
	double slope; /* 0: not looked at */
} over[] = {
    /* in the first part, in the middle, in the last part */
    {leaks_on, {3, -1, -1}, true, 10},
    {leaks_on, {8, -1, -1}, true, 10},
    {leaks_on, {16, -1, -1}, true, 10},
    {leaks_on, {24, -1, -1}, true, 10},
    {leaks_on, {32, -1, -1}, true, 10},
    {leaks_on, {40, -1, -1}, true, 10},
    {leaks_on, {45, -1, -1}, true, 10},
    {leaks_on, {47, -1, -1}, true, 10},
    {leaks_on, {16, 32, -1}, true, 10},
    {leaks_on, {30, 44, -1}, true, 10},
    {leaks_on, {12, 24, 36}, true, 10},
    /* which fills after each of them */
    {fills_up, {20, -1, -1}, false, 0},
    {fills_up, {41, -1, -1}, false, 0}, /* fills now */
    {fills_up, {45, -1, -1}, false, 0},
    {fills_up, {15, 30, -1}, false, 0},
    {fills_up, {30, 42, -1}, false, 0},
    {fills_up, {26, 33, 41}, false, 0}, /* was not full again */
    /* and one beside a leak */
    {fills_leaking, {16, -1, -1}, true, 6},
    {fills_leaking, {28, -1, -1}, true, 6},
    {stands, {24, -1, -1}, false, 0},
    {stands, {44, -1, -1}, false, 0}};

static size_t
live(const struct lives *k, struct trend_point *p, bool *anew)
{
	int born = 0;

	for (int i = 0; i < 48; i++) {
		anew[i] = i == k->at[0] || i == k->at[1] || i == k->at[2];
		if (anew[i])
			born = i;
		p[i] = (struct trend_point){i, k->fn(i - born) +
		    0.5 * noise()};
	}
	return 48;
}

TEST(what_grows_does_so_over_restarts)
{
	for (size_t i = 0; i < sizeof(over) / sizeof(over[0]); i++) {
		int wrong = 0;
		double slope = 0;

		for (int round = 0; round < 100; round++) {
			struct trend_point p[48];
			bool anew[48];
			struct trend t = trend_parts(p, anew,
			    live(&over[i], p, anew), 0);

			wrong += (t.state == TREND_GROWING) !=
			    over[i].grows;
			slope += t.slope / 100;
		}
		if (wrong > 2)
			fprintf(stderr, "lives %zu: %d of 100\n", i, wrong);
		CHECK(wrong <= 2);
		CHECK(over[i].slope == 0 ||
		    fabs(slope / over[i].slope - 1) < 0.15);
	}
}

/* A new program without the leak, one whose cache is larger, one that grows
 * before its cache is full as it always did, and what nobody can tell. */
TEST(a_new_program_may_be_another)
{
	struct trend_point p[48];
	bool anew[48];

	for (int i = 0; i < 48; i++) {
		anew[i] = i == 30;
		p[i] = (struct trend_point){i, i < 30 ? 10 * i : 40 +
		    0.1 * noise()};
	}
	CHECK_INT(trend_parts(p, anew, 48, 0).state, TREND_PLATEAU);
	CHECK_INT(trend_parts(p, anew, 33, 0).state, TREND_PLATEAU);
	CHECK_INT(trend_parts(p, anew, 31, 0).state, TREND_GROWING);
	for (int i = 0; i < 48; i++)
		p[i].y = (i < 30 ? fills_up(i) : 25 * (i - 30)) + noise();
	CHECK_INT(trend_parts(p, anew, 37, 0).state, TREND_PLATEAU);
	CHECK_INT(trend_parts(p, anew, 48, 0).state, TREND_GROWING);
	for (int i = 0; i < 48; i++)
		anew[i] = i % 4 == 0;
	CHECK_INT(trend_parts(p, anew, 48, 0).state, TREND_UNKNOWN);
	CHECK_INT(trend_parts(p, anew, 0, 0).state, TREND_UNKNOWN);
}

/* Without a restart it is trend_of(). */
TEST(one_program_is_all)
{
	static const bool never[48];
	struct trend_point p[48];

	for (int round = 0; round < 50; round++) {
		struct trend a, b;

		for (int i = 0; i < 48; i++)
			p[i] = (struct trend_point){i, round % 5 * i +
			    40 * noise()};
		a = trend_of(p, 48, 3);
		b = trend_parts(p, round % 2 ? never : NULL, 48, 3);
		CHECK(a.state == b.state && a.slope == b.slope &&
		    a.low == b.low && a.high == b.high);
	}
}

/* A step over a restart is none of the load's. */
TEST(what_follows_the_load_does_so_over_restarts)
{
	struct trend_point p[48];
	bool anew[48];
	double load[48];

	for (int round = 0; round < 50; round++) {
		double leaks = round % 2;

		for (int i = 0; i < 48; i++) {
			anew[i] = i == 20;
			load[i] = 100 + 2 * (i % 20) + 3 * noise();
			p[i] = (struct trend_point){i, leaks * 10 * (i < 20 ? i
			    : i - 20) + 3 * (load[i] - 100) +
			    0.01 * noise()};
		}
		CHECK_INT(trend_beside(p, load, anew, 40, 0).state, leaks > 0
		    ? TREND_GROWING : TREND_LOAD);
	}
}

int
main(void)
{
	RUN(the_slope_is_the_median_of_all_pairs);
	RUN(the_interval_holds_the_truth_as_often_as_it_says);
	RUN(a_plateau_is_no_growth);
	RUN(what_grows_is_told_from_what_does_not);
	RUN(a_walk_is_not_called_growth);
	RUN(a_walk_with_a_direction_is_found);
	RUN(what_follows_the_load_is_told_from_what_leaks);
	RUN(the_interval_of_a_sampled_leak_holds_the_truth);
	RUN(a_leak_of_few_samples_has_not_stopped);
	RUN(a_grain_is_the_variance_over_the_amount);
	RUN(what_grows_does_so_over_restarts);
	RUN(a_new_program_may_be_another);
	RUN(one_program_is_all);
	RUN(what_follows_the_load_does_so_over_restarts);
	RUN(what_fills_again_does_not_grow);
	return test_done();
}
