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

int
main(void)
{
	RUN(numbers_of_each_function);
	RUN(no_data_is_no_point);
	RUN(the_default_is_what_the_kind_is);
	return test_done();
}
