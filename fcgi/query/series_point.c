/*
 * Numbers of points as fractions, exact until they are written.
 */
#include "fcgi/query/series_point.h"

#include <string.h>

#include "fcgi/query/measure.h"

enum series_fn
series_point_default(const struct series_desc *d)
{
	if (d->kind == SERIES_COUNTER)
		return FN_RATE;
	return measure_is_quantile(d) ? FN_MAX : FN_MEAN;
}

void
series_point_term(enum series_fn fn, const struct metric_point *p, int128 *num,
    uint128 *den)
{
	*den = fn == FN_RATE ? p->slots : fn == FN_MEAN ? p->count : 1;
	switch (fn) {
	case FN_RATE:
	case FN_INCREASE:
		*num = p->increase;
		break;
	case FN_LAST:
		*num = p->last;
		break;
	case FN_MIN:
		*num = p->min;
		break;
	case FN_MAX:
		*num = p->max;
		break;
	case FN_COUNT:
		*num = p->count;
		break;
	default:
		*num = p->sum;
		break;
	}
}

/* Is it less in the step than it was? */
static bool
point_falls(const struct metric_point *p, bool known, int64_t before)
{
	return (known && p->min < before) || p->max > p->last;
}

bool
series_point_grow(struct metric_series *m)
{
	bool known = false, falls; /* what it was before this step */
	int64_t before = 0, last, most;

	for (size_t i = 0; i < m->n_points; i++) {
		struct metric_point *p = &m->points[i];

		if (p->count == 0) {
			known = false;
			continue;
		}
		last = p->last;
		most = known && before > p->max ? before : p->max;
		falls = point_falls(p, known, before);
		if (falls && (p->min < 0 || p->min >= most / 2))
			return false;
		if (known && !falls)
			p->increase = (int128)last - before;
		else
			*p = (struct metric_point){0};
		before = last;
		known = true;
	}
	return true;
}

const struct metric_point *
series_point_only(const struct metric_series *m)
{
	return m->n_points > 0 && m->points->count > 0 ? m->points : NULL;
}

const struct metric_point *
series_point_of(const struct metric_series *m, const char *name,
    const char *source)
{
	return strcmp(m->desc.name, name) == 0 &&
	    strcmp(measure_label(m, "source"), source) == 0
	    ? series_point_only(m) : NULL;
}
