/*
 * One point of a series: which number it is, and that of no data there is
 * none.
 */
#include "fcgi/query/series_point.h"
#include "tests/unit/test.h"

static struct metric_point point = {.count = 4, .min = 1, .max = 9, .sum = 20,
    .increase = 30, .last = 7, .slots = 3};
static struct label labels[] = {{"source", "cpu"}};
static struct metric_series series = {.desc = {.kind = SERIES_GAUGE,
    .name = "x", .unit = "", .labels = labels, .n_labels = 1},
    .points = &point, .n_points = 1};

TEST(numbers_of_each_function)
{
	static const int64_t want[][2] = {[FN_MEAN] = {20, 4},
	    [FN_RATE] = {30, 3}, [FN_INCREASE] = {30, 1}, [FN_LAST] = {7, 1},
	    [FN_MIN] = {1, 1}, [FN_MAX] = {9, 1}, [FN_COUNT] = {4, 1}};
	int128 num;
	uint128 den;

	for (enum series_fn fn = FN_MEAN; fn <= FN_COUNT; fn++) {
		series_point_term(fn, &point, &num, &den);
		CHECK_INT(num, want[fn][0]);
		CHECK_INT(den, want[fn][1]);
	}
}

TEST(no_data_is_no_point)
{
	CHECK(series_point_only(&series) == &point);
	CHECK(series_point_of(&series, "x", "cpu") == &point);
	CHECK(series_point_of(&series, "y", "cpu") == NULL);
	CHECK(series_point_of(&series, "x", "io") == NULL);
	point.count = 0;
	CHECK(series_point_only(&series) == NULL);
	point.count = 4;
	series.n_points = 0;
	CHECK(series_point_of(&series, "x", "cpu") == NULL);
	series.n_points = 1;
}

TEST(the_default_is_what_the_kind_is)
{
	struct series_desc d = series.desc;

	CHECK_INT(series_point_default(&d), FN_MEAN);
	d.kind = SERIES_COUNTER;
	CHECK_INT(series_point_default(&d), FN_RATE);
}

/* Points of one observation each; -1: none. */
static bool
grow(struct metric_point *points, const int64_t *values, size_t n)
{
	struct metric_series m = series;

	for (size_t i = 0; i < n; i++)
		points[i] = values[i] < 0 ? (struct metric_point){0} :
		    (struct metric_point){.count = 1, .slots = 1,
		    .min = values[i], .max = values[i], .last = values[i]};
	m.points = points;
	m.n_points = n;
	return series_point_grow(&m);
}

TEST(a_gauge_that_only_grows_is_a_counter)
{
	struct metric_point p[8];

	CHECK(grow(p, (const int64_t[]){100, 130, 130, -1, 150, 160, 4, 9},
	    8));
	CHECK(p[0].count == 0); /* before it nothing is known */
	CHECK(p[1].count == 1 && p[1].increase == 30);
	CHECK(p[2].count == 1 && p[2].increase == 0);
	CHECK(p[3].count == 0 && p[4].count == 0);
	CHECK(p[5].increase == 10);
	CHECK(p[6].count == 0); /* it began anew */
	CHECK(p[7].count == 1 && p[7].increase == 5);
}

TEST(a_gauge_that_falls_is_none)
{
	struct metric_point p[4], within = {.count = 3, .slots = 1, .min = 90,
	    .max = 120, .last = 110};
	struct metric_series m = series;

	CHECK(!grow(p, (const int64_t[]){100, 130, 110, 140}, 4));
	CHECK(!grow(p, (const int64_t[]){1009, 1000}, 2));
	m.points = &within;
	CHECK(!series_point_grow(&m));
	within.min = 3;
	CHECK(series_point_grow(&m) && within.count == 0);
}

int
main(void)
{
	RUN(numbers_of_each_function);
	RUN(no_data_is_no_point);
	RUN(the_default_is_what_the_kind_is);
	RUN(a_gauge_that_only_grows_is_a_counter);
	RUN(a_gauge_that_falls_is_none);
	return test_done();
}
