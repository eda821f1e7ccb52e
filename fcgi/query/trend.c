/*
 * Few points: all pairs are looked at.
 */
#include "fcgi/query/trend.h"

#include <math.h>
#include <stdlib.h>

#define Z95 1.959964
#define PAIRS_MAX (TREND_POINTS_MAX * (TREND_POINTS_MAX - 1) / 2)
/* what grows so much slower than it did has come to its end */
#define LATE_PART 0.1

const char *
trend_state_name(enum trend_state state)
{
	static const char *const names[] = {[TREND_UNKNOWN] = "unknown",
	    [TREND_STEADY] = "steady", [TREND_PLATEAU] = "plateau",
	    [TREND_LOAD] = "load",
	    [TREND_GROWING] = "growing"};

	return names[state];
}

static int
trend_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
trend_at(const double *sorted, size_t n, double i)
{
	if (i < 0)
		i = 0;
	if (i > (double)(n - 1))
		i = (double)(n - 1);
	return sorted[(size_t)i];
}

static struct trend
trend_slope(const struct trend_point *p, size_t n)
{
	double slopes[PAIRS_MAX]; /* 36 KB */
	double half, count;
	struct trend t;
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			if (p[j].x > p[i].x) /* loads may be alike */
				slopes[k++] = (p[j].y - p[i].y) /
				    (p[j].x - p[i].x);
	if (k == 0)
		return (struct trend){TREND_STEADY, 0, 0, 0};
	qsort(slopes, k, sizeof(*slopes), trend_order);
	t.slope = k % 2 == 1 ? slopes[k / 2]
	    : (slopes[k / 2 - 1] + slopes[k / 2]) / 2;
	count = (double)n;
	half = Z95 * sqrt(count * (count - 1) * (2 * count + 5) / 18) / 2;
	t.low = trend_at(slopes, k, floor((double)k / 2 - half));
	t.high = trend_at(slopes, k, ceil((double)k / 2 + half));
	t.state = t.low > 0 ? TREND_GROWING : TREND_STEADY;
	return t;
}

struct trend
trend_of(const struct trend_point *points, size_t n)
{
	struct trend t = {TREND_UNKNOWN, 0, 0, 0}, late;
	size_t last;

	if (n < TREND_POINTS_MIN)
		return t;
	if (n > TREND_POINTS_MAX)
		n = TREND_POINTS_MAX;
	t = trend_slope(points, n);
	if (t.state != TREND_GROWING)
		return t;
	last = n / 3 < TREND_POINTS_MIN ? TREND_POINTS_MIN : n / 3;
	late = trend_slope(points + n - last, last);
	if (late.slope <= t.slope * LATE_PART)
		t.state = TREND_PLATEAU;
	return t;
}

static int
trend_by_x(const void *a, const void *b)
{
	const struct trend_point *p = a, *q = b;

	return (p->x > q->x) - (p->x < q->x);
}

struct trend
trend_beside(const struct trend_point *points, const double *load, size_t n)
{
	struct trend t = trend_of(points, n), over;
	struct trend_point p[TREND_POINTS_MAX];

	if (t.state != TREND_GROWING)
		return t;
	if (n > TREND_POINTS_MAX)
		n = TREND_POINTS_MAX;
	for (size_t i = 1; i < n; i++)
		p[i - 1] = (struct trend_point){load[i] - load[i - 1],
		    points[i].y - points[i - 1].y};
	qsort(p, n - 1, sizeof(*p), trend_by_x);
	over = trend_slope(p, n - 1);
	if (over.state != TREND_GROWING)
		return t; /* it takes no part in what the load does */
	for (size_t i = 0; i < n; i++)
		p[i] = (struct trend_point){points[i].x,
		    points[i].y - over.slope * load[i]};
	/* what is left of a growth by the load alone is noise */
	if (trend_of(p, n).slope <= t.slope * LATE_PART)
		t.state = TREND_LOAD;
	return t;
}
