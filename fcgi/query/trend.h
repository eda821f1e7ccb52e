/*
 * How a series grows: Theil and Sen's slope, the median of the slopes of all
 * pairs of points, which a third of wild points does not move, with the 95 %
 * interval by Kendall's variance (Sen 1968), made wider where a point
 * resembles the one before it.  And whether it still does: what does not grow
 * in the last third of its points has come to an end, and so has what was given
 * back, nearly all of it, and fills as fast as before.  What wanders without a
 * direction is called growing in less than one of 20 cases of 48 points, and
 * in one of 16 where there are fewer.
 *
 * An amount that is known by samples errs, and a sample that stays errs on
 * alike: a growth of G that is of samples of `grain` each has a standard error
 * of sqrt(grain * G), which points beside each other do not show.  It is in the
 * interval, and what it may come to by chance is no slope of late.  Nor
 * has a growth stopped of which the last third has some samples, and may have
 * had no more by chance.
 *
 *	bytes          ______          plateau: a cache that is full
 *	         _____/                growing: ____/~~~~/, from when it began
 */
#ifndef FCGI_TREND_H
#define FCGI_TREND_H

#include <stdbool.h>
#include <stddef.h>

#define TREND_POINTS_MIN 6  /* of fewer nothing is said */
#define TREND_POINTS_MAX 96

struct trend_point {
	double x, y; /* x rises */
};

enum trend_state {
	TREND_UNKNOWN, /* too few points */
	TREND_STEADY,  /* it falls, or may have come so far by chance */
	TREND_PLATEAU, /* it has grown, and does no longer */
	TREND_LOAD,    /* it grows as the load does, and not beside it */
	TREND_GROWING
};

struct trend {
	enum trend_state state;
	double slope, low, high; /* y for each x; of late, where that differs */
};

/* "growing", ...; what follows the load is "load" */
const char *trend_state_name(enum trend_state state);

/* What the samples of objects come to whose size, and the mean amount between
 * two samples, are so many: the variance over the amount.  All of size 0 are
 * smaller than anything; what is far larger than the mean is seen anyway. */
double trend_grain(double size, double mean);

/* At most TREND_POINTS_MAX points; those beyond are not looked at.  The grain
 * is 0 where nothing is sampled. */
struct trend trend_of(const struct trend_point *points, size_t n, double grain);

/*
 * The same over restarts: where anew[i] (anew NULL: nowhere), point i is the
 * first of a new program, which has nothing of what the one before it held.
 * Each program's points are judged by themselves, and the last one's say it,
 *
 *	growing    /| /| /    with the one before: as long as it has too few
 *	          / |/ |/     points, or does not contradict that one's slope
 *	plateau     __   _    while it fills what one before held, who did not
 *	          _/  |_/     grow any more
 *
 * but that programs of too few points before it say nothing.
 */
struct trend trend_parts(const struct trend_point *points, const bool *anew,
    size_t n, double grain);

/* trend_parts() where load[i] is how busy it was at point i: what follows the
 * load is taken away, by the slope of steps over steps of the load, which a
 * leak does not have even where both grow; what grows no longer then is
 * TREND_LOAD, with the slope over time that it had. */
struct trend trend_beside(const struct trend_point *points,
    const double *load, const bool *anew, size_t n, double grain);

#endif
