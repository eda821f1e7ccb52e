/*
 * Few points: all pairs are looked at.
 */
#include "fcgi/query/trend.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define Z95 1.959964
/* Growth is said where it is this sure, one of 400 by chance: hundreds of
 * stacks are looked at.  Six points that all rise come to 2.82. */
#define Z_SURE 2.8
/* What may be a walk without a direction: a point is so much like the one
 * before it, in fewer points less; it has come no further than so many times
 * what its steps come to by chance, of few points more; and it has fallen by
 * more of its way than what only rises, which is said of so many points. */
#define WALK_LIKE 0.4
#define WALK_LIKE_FEW 6.0
#define WALK_SURE 2.2
#define WALK_SURE_FEW 4.0
#define WALK_FALL 0.1
#define WALK_RISES 10
#define PAIRS_MAX (TREND_POINTS_MAX * (TREND_POINTS_MAX - 1) / 2)
/* residuals so small a part of all there is are rounding */
#define ROUNDING 1e-9
#define TREND_PARTS 3
#define SPREADS 4
#define SURER 2
/* what grows so much slower than it did has come to its end */
#define LATE_PART 0.1
#define LIVES_MAX (TREND_POINTS_MAX / TREND_POINTS_MIN + 1)
/* Of few points a rise is one where it has so much of its rate. */
#define FEW_PART 0.5
/* The variance of a walk's slope by all pairs, over that by its two ends. */
#define WALK_PAIRS 1.2
/* What has fallen to this part of what it was has given it back; it fills again
 * where it rises at this part of the rate that it had, to no more than this
 * part beyond. */
#define FALL_PART 0.25
#define AGAIN_PART 0.33
#define AGAIN_MORE 1.25

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

/* ---- how sure ---- */

/* What is left of the points beside a slope; false where that is nothing. */
static bool
trend_rests(const struct trend_point *p, size_t n, double slope, double *rest)
{
	double least = INFINITY, most = -INFINITY, all = 0;

	for (size_t i = 0; i < n; i++) {
		rest[i] = p[i].y - slope * (p[i].x - p[0].x);
		least = fmin(least, rest[i]);
		most = fmax(most, rest[i]);
		all = fmax(all, fabs(p[i].y));
	}
	return most - least > all * ROUNDING;
}

/* Their ranks, from 0 in the middle; what is equal shares one. */
static void
trend_ranks(const double *rest, size_t n, double *rank)
{
	for (size_t i = 0; i < n; i++) {
		rank[i] = 0;
		for (size_t j = 0; j < n; j++)
			rank[i] += (rest[j] < rest[i]) - (rest[j] > rest[i]);
	}
}

/* By how much Kendall's variance grows where a point resembles the one before
 * (Hamed and Rao 1998): memory wanders, and a way up is no growth yet. */
static double
trend_widening(const struct trend_point *p, size_t n, double slope)
{
	double rest[TREND_POINTS_MAX], rank[TREND_POINTS_MAX];
	double square = 0, more = 0, count = (double)n;

	if (!trend_rests(p, n, slope, rest))
		return 1;
	trend_ranks(rest, n, rank);
	for (size_t i = 0; i < n; i++)
		square += rank[i] * rank[i];
	for (size_t lag = 1; square > 0 && lag + 2 < n; lag++) {
		double left = (double)(n - lag), r = 0;

		for (size_t i = lag; i < n; i++)
			r += rank[i] * rank[i - lag] / square;
		if (fabs(r) > Z95 / sqrt(count))
			more += left * (left - 1) * (left - 2) * r;
	}
	more = 1 + 2 * more / (count * (count - 1) * (count - 2));
	return fmax(more, 1);
}

/* How much a point's rank beside the slope is that of the one before it. */
static double
trend_likeness(const struct trend_point *p, size_t n, double slope)
{
	double rest[TREND_POINTS_MAX], rank[TREND_POINTS_MAX];
	double square = 0, next = 0;

	if (!trend_rests(p, n, slope, rest))
		return 0;
	trend_ranks(rest, n, rank);
	for (size_t i = 0; i < n; i++) {
		square += rank[i] * rank[i];
		next += i > 0 ? rank[i] * rank[i - 1] : 0;
	}
	return square > 0 ? next / square : 0;
}

/* By how much it has been below what it had already been at. */
static double
trend_fall(const struct trend_point *p, size_t n)
{
	double most = p[0].y, fall = 0;

	for (size_t i = 1; i < n; i++) {
		most = fmax(most, p[i].y);
		fall = fmax(fall, most - p[i].y);
	}
	return fall;
}

/*
 * May it have come so far without a direction, as the sum of its steps?  Of a
 * walk a point is like the one before, it falls as it rises, and it ends up as
 * far as the root of the sum of its steps' squares, further where they go in
 * runs.
 */
static bool
trend_may_walk(const struct trend_point *p, size_t n, double slope)
{
	double few = 1 / (double)n, steps = (double)(n - 1);
	double way = p[n - 1].y - p[0].y, square = 0, runs = 0, last = 0;

	if (trend_likeness(p, n, slope) < WALK_LIKE - WALK_LIKE_FEW * few ||
	    (n >= WALK_RISES && trend_fall(p, n) <= way * WALK_FALL))
		return false;
	for (size_t i = 1; i < n; i++) {
		double step = p[i].y - p[i - 1].y - way / steps;

		square += step * step;
		runs += step * last;
		last = step;
	}
	square = (square + 2 * fmax(runs, 0)) * steps / (steps - 1);
	return way < WALK_SURE * (1 + WALK_SURE_FEW * few) * sqrt(square);
}

static struct trend
trend_slope(const struct trend_point *p, size_t n)
{
	double slopes[PAIRS_MAX]; /* 36 KB */
	double plain, deviation, middle, count = (double)n;
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
	middle = (double)k / 2;
	plain = sqrt(count * (count - 1) * (2 * count + 5) / 18) / 2;
	deviation = plain * sqrt(trend_widening(p, n, t.slope));
	t.low = trend_at(slopes, k, floor(middle - Z95 * deviation));
	t.high = trend_at(slopes, k, ceil(middle + Z95 * deviation));
	/* of what has only wandered up it is not said that it grows */
	t.state = trend_at(slopes, k, floor(middle - Z_SURE * deviation)) > 0 &&
	    !trend_may_walk(p, n, t.slope)
	    ? TREND_GROWING
	    : trend_at(slopes, k, floor(middle - Z_SURE * plain)) > 0
	    ? TREND_PLATEAU : TREND_STEADY;
	return t;
}

/* How far the middle half of points lies apart beside their slope. */
static double
trend_spread(const struct trend_point *p, size_t n)
{
	double rest[TREND_POINTS_MAX];

	if (n < TREND_POINTS_MIN || !trend_rests(p, n,
	    trend_slope(p, n).slope, rest))
		return 0;
	qsort(rest, n, sizeof(*rest), trend_order);
	return rest[n - 1 - n / 4] - rest[n / 4];
}

/* How many the last part of them are. */
static size_t
trend_count(size_t n, size_t part)
{
	return n / part < TREND_POINTS_MIN ? TREND_POINTS_MIN : n / part;
}

/* ---- what is sampled ---- */

double
trend_grain(double size, double mean)
{
	return size > 0 ? size / expm1(size / mean) : mean;
}

/* The variance of a time unit's steps beside the slope, as far as they do not
 * undo each other. */
static double
trend_steps(const struct trend_point *p, size_t n, double slope)
{
	double sum = 0, last = 0;

	for (size_t i = 1; i < n; i++) {
		double step = p[i].y - p[i - 1].y -
		    slope * (p[i].x - p[i - 1].x);

		sum += step * step + 2 * step * last;
		last = step;
	}
	return fmax(sum, 0) / (p[n - 1].x - p[0].x);
}

/* The interval with what samples err by: those true slopes from which this one
 * is no further than Z95 of their own errors; and with what the steps wander
 * beyond that, as of samples that come and go. */
static struct trend
trend_sampled(struct trend t, const struct trend_point *p, size_t n,
    double grain)
{
	double span = p[n - 1].x - p[0].x, slope = fmax(t.slope, 0);
	double unit, own, root, more;

	if (grain <= 0 || span <= 0)
		return t;
	unit = Z95 * Z95 * WALK_PAIRS / span;
	own = unit * grain;
	root = sqrt(slope * own + own * own / 4);
	more = sqrt(unit * fmax(trend_steps(p, n, t.slope) - grain * slope,
	    0));
	t.low = t.slope - hypot(hypot(t.slope - t.low, root - own / 2), more);
	t.high = t.slope + hypot(hypot(t.high - t.slope, root + own / 2),
	    more);
	return t;
}

/* A part of the points by itself, with what samples err by, and whether it is
 * beyond what came before it. */
struct trend_part {
	struct trend own, wide;
	bool beyond;
};

static struct trend_part
trend_part(const struct trend_point *p, size_t n, size_t part, double grain)
{
	size_t last = trend_count(n, part), before = n - last;
	struct trend_part of = {.own = trend_slope(p + before, last)};

	of.wide = trend_sampled(of.own, p + before, last, grain);
	of.beyond = of.own.state == TREND_GROWING &&
	    of.own.slope * (p[n - 1].x - p[before].x) >=
	    SPREADS * trend_spread(p, before);
	return of;
}

static bool
trend_within(const struct trend *t, const struct trend *in)
{
	return t->state == TREND_GROWING && t->slope >= in->low &&
	    t->slope <= in->high;
}

/* The longest of what grows, and the last does not contradict, or one that is
 * far surer: a part in which a cache has filled is not.  NULL: none. */
static const struct trend *
trend_surest(const struct trend_part of[TREND_PARTS])
{
	const struct trend *best = NULL;

	for (size_t i = 0; i < TREND_PARTS; i++) {
		const struct trend *t = &of[i].wide;

		if (trend_within(t, &of[TREND_PARTS - 1].wide) &&
		    (best == NULL ? of[i].beyond
		    : t->high - t->low < (best->high - best->low) / SURER))
			best = t;
	}
	return best;
}

/* Where it was least and most before it gave all that back the last time, and
 * where it had. */
struct trend_fall {
	size_t least, most, fallen;
};

static bool
trend_falls(const struct trend_point *p, size_t n, struct trend_fall *out)
{
	struct trend_fall at = {0, 0, 0};
	bool falls = false;

	for (size_t i = 1; i < n; i++) {
		if (p[i].y <= FALL_PART * p[at.most].y) {
			at.fallen = i;
			*out = at;
			falls = true;
			at = (struct trend_fall){i, i, i};
		} else if (p[i].y < p[at.least].y) {
			at.least = at.most = i;
		} else if (p[i].y > p[at.most].y) {
			at.most = i;
		}
	}
	return falls;
}

/* A cache that is cleared, and fills as fast as it did before. */
static bool
trend_fills_again(const struct trend_point *p, size_t n)
{
	const struct trend_point *end = p + n - 1;
	struct trend_fall at;
	double rate;

	if (!trend_falls(p, n, &at) || at.most == at.least)
		return false;
	rate = (p[at.most].y - p[at.least].y) / (p[at.most].x -
	    p[at.least].x);
	return end->y <= AGAIN_MORE * p[at.most].y &&
	    end->y - p[at.fallen].y >= AGAIN_PART * rate * (end->x -
	    p[at.fallen].x);
}

/* Few samples may come late by chance: has the last third some, and no fewer
 * than it may have at the slope of all? */
static bool
trend_is_by_few(const struct trend_point *p, size_t n, double slope,
    double grain)
{
	size_t from = n - trend_count(n, TREND_PARTS);
	double came = p[n - 1].y - p[from].y;
	double should = fmax(slope * (p[n - 1].x - p[from].x), 0);

	return grain > 0 && came >= grain / 2 &&
	    should - came <= Z95 * sqrt(grain * should);
}

/*
 * In all, of the last half and of the last third: a leak that begins late is
 * one, and what has grown and does no longer is none.  The slope is that of
 * the longest of them which the last third does not contradict.
 */
static struct trend
trend_by_parts(const struct trend_point *points, size_t n, double grain)
{
	const size_t last = TREND_PARTS - 1;
	struct trend_part of[TREND_PARTS];
	const struct trend *best;
	bool grew = false, grows;

	for (size_t i = 0; i < TREND_PARTS; i++) {
		of[i] = trend_part(points, n, i + 1, grain);
		grew |= of[i].beyond;
	}
	grows = grew && of[last].own.low > 0;
	for (size_t i = 0; grew && i < TREND_PARTS; i++)
		grows |= trend_within(&of[i].own, &of[last].own);
	if (grows && (best = trend_surest(of)) != NULL)
		return *best;
	if (!grows && of[0].beyond && of[0].wide.low > 0 &&
	    trend_is_by_few(points, n, of[0].wide.slope, grain))
		return of[0].wide;
	if (grew)
		of[0].wide.state = TREND_PLATEAU;
	if (!grows || of[last].wide.low <= 0)
		return of[0].wide; /* or it may have come by its samples */
	of[last].wide.state = TREND_GROWING;
	return of[last].wide;
}

struct trend
trend_of(const struct trend_point *points, size_t n, double grain)
{
	struct trend t;

	if (n < TREND_POINTS_MIN)
		return (struct trend){TREND_UNKNOWN, 0, 0, 0};
	if (n > TREND_POINTS_MAX)
		n = TREND_POINTS_MAX;
	t = trend_by_parts(points, n, grain);
	if (t.state == TREND_GROWING && trend_fills_again(points, n))
		t.state = TREND_PLATEAU;
	return t;
}

/* ---- over restarts ---- */

/* The points of one program. */
struct trend_life {
	const struct trend_point *p;
	size_t n;
	struct trend is;
};

/* The last one, and those before it that have enough points, by time. */
static size_t
trend_lives(const struct trend_point *p, const bool *anew, size_t n,
    double grain, struct trend_life out[LIVES_MAX])
{
	size_t lives = 0, from = 0;

	for (size_t i = 1; i <= n; i++) {
		if (i < n && !anew[i])
			continue;
		if (i == n || i - from >= TREND_POINTS_MIN)
			out[lives++] = (struct trend_life){p + from, i - from,
			    trend_of(p + from, i - from, grain)};
		from = i;
	}
	return lives;
}

/* Is it on its way to what one before held, who did not grow so any more? */
static bool
trend_refills(const struct trend_life *now, const struct trend_life *before,
    double grain)
{
	size_t late = trend_count(before->n, TREND_PARTS);
	double most = 0;

	if (before->is.state == TREND_GROWING)
		return false;
	for (size_t i = before->n - late; i < before->n; i++)
		most = fmax(most, before->p[i].y);
	return now->p[now->n - 1].y <= most && now->is.slope >
	    trend_part(before->p, before->n, TREND_PARTS, grain).wide.high;
}

/* May it grow on as one before did? */
static bool
trend_goes_on(const struct trend_life *now, const struct trend *before)
{
	const struct trend_point *p = now->p, *end = p + now->n - 1;

	if (before->state != TREND_GROWING)
		return false;
	if (now->n < TREND_POINTS_MIN)
		return end->y - p->y >=
		    before->low * (end->x - p->x) * FEW_PART;
	return now->is.state == TREND_STEADY &&
	    before->slope >= now->is.low && before->slope <= now->is.high;
}

struct trend
trend_parts(const struct trend_point *points, const bool *anew, size_t n,
    double grain)
{
	struct trend_life lives[LIVES_MAX];
	const struct trend_life *last;
	const struct trend *before;
	struct trend t;
	size_t k;

	if (n > TREND_POINTS_MAX)
		n = TREND_POINTS_MAX;
	if (anew == NULL || n == 0)
		return trend_of(points, n, grain);
	k = trend_lives(points, anew, n, grain, lives);
	last = &lives[k - 1];
	t = last->is;
	if (k == 1)
		return t;
	for (size_t i = 0; t.state == TREND_GROWING && i + 1 < k; i++)
		if (trend_refills(last, &lives[i], grain))
			t.state = TREND_PLATEAU;
	before = &lives[k - 2].is;
	if (t.state == TREND_GROWING || t.state == TREND_PLATEAU)
		return t;
	if (trend_goes_on(last, before))
		return *before;
	if (t.state == TREND_UNKNOWN)
		t = *before;
	t.state = before->state == TREND_STEADY ? TREND_STEADY
	    : TREND_PLATEAU;
	return t;
}

/* ---- beside the load ---- */

static int
trend_by_x(const void *a, const void *b)
{
	const struct trend_point *p = a, *q = b;

	return (p->x > q->x) - (p->x < q->x);
}

struct trend
trend_beside(const struct trend_point *points, const double *load,
    const bool *anew, size_t n, double grain)
{
	struct trend t = trend_parts(points, anew, n, grain), over;
	struct trend_point p[TREND_POINTS_MAX];
	size_t steps = 0;

	if (t.state != TREND_GROWING)
		return t;
	if (n > TREND_POINTS_MAX)
		n = TREND_POINTS_MAX;
	for (size_t i = 1; i < n; i++)
		if (anew == NULL || !anew[i])
			p[steps++] = (struct trend_point){
			    load[i] - load[i - 1],
			    points[i].y - points[i - 1].y};
	qsort(p, steps, sizeof(*p), trend_by_x);
	over = trend_slope(p, steps);
	if (over.state != TREND_GROWING)
		return t; /* it takes no part in what the load does */
	for (size_t i = 0; i < n; i++)
		p[i] = (struct trend_point){points[i].x,
		    points[i].y - over.slope * load[i]};
	/* what is left of a growth by the load alone is noise */
	if (trend_parts(p, anew, n, grain).slope <= t.slope * LATE_PART)
		t.state = TREND_LOAD;
	return t;
}
