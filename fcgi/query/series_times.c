/*
 * Where a part has data in all readings of a step those are all; else the step
 * is looked at in short ones.
 */
#include "fcgi/query/series_times.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/query/measure.h"
#include "fcgi/query/series_sum.h"
#include "fcgi/query/step.h"
#include "store/base/err.h"

#define TOGETHER "memlens_instance_"

static uint64_t
times_of(const struct metric_series *m, size_t i)
{
	return m->desc.kind == SERIES_COUNTER ? m->points[i].slots
	                                      : m->points[i].count;
}

/* The most of any part in a step. */
static uint64_t
times_most(const struct series_sum *sum, size_t i)
{
	uint64_t most = 0;

	for (size_t k = 0; k < sum->n; k++)
		if (times_of(sum->members[k], i) > most)
			most = times_of(sum->members[k], i);
	return most;
}

static uint64_t
times_all(const struct series_sum *sum, size_t i)
{
	uint64_t all = 0;

	for (size_t k = 0; k < sum->n; k++)
		all += times_of(sum->members[k], i);
	return all;
}

/* May there be readings in step i that the part with most data has not?
 * `full`: as many as a step has. */
static bool
times_is_open(const struct series_sum *sum, size_t i, uint64_t full)
{
	uint64_t most = times_most(sum, i), least = most;

	for (size_t k = 0; k < sum->n; k++)
		if (times_of(sum->members[k], i) > 0 &&
		    times_of(sum->members[k], i) < least)
			least = times_of(sum->members[k], i);
	return most < full && times_all(sum, i) > most &&
	    (least < most || 2 * most <= full);
}

/* Readings of a sum in a step, by those of short ones. */
static uint64_t
times_fine(const struct series_sum *sum, const struct series_over *over,
    const struct metric_series *fine, size_t n)
{
	uint64_t all = 0, most;

	for (size_t i = 0; n > 0 && i < fine->n_points; i++) {
		most = 0;
		for (size_t k = 0; k < n; k++)
			if (times_of(&fine[k], i) > most &&
			    series_sum_takes(sum, &fine[k].desc, over))
				most = times_of(&fine[k], i);
		all += most;
	}
	return all;
}

/* Looks at step i in short ones, for all sums at once. */
static const struct err *
times_look(const struct step_page *page, struct store *s,
    const struct series_over *over, struct series_sum *sums, size_t n,
    size_t i)
{
	int64_t from = page->from_ns + (int64_t)i * page->step_ns;
	int64_t until = from + page->step_ns < page->until_ns
	    ? from + page->step_ns : page->until_ns;
	int64_t slots = page->step_ns / page->slot_ns;
	struct metric_query q = {page->selector, from, until,
	    (slots + SERIES_TIMES_FINE - 1) / SERIES_TIMES_FINE *
	    page->slot_ns, MEASURE_SERIES_MAX, false};
	struct metric_series *fine;
	size_t n_fine;
	const struct err *e = store_query_metric(s, &q, &fine, &n_fine);

	if (e != NULL)
		return e;
	for (size_t k = 0; k < n; k++) {
		uint64_t times;

		if (sums[k].times == NULL)
			continue;
		times = times_fine(&sums[k], over, fine, n_fine);
		if (times > sums[k].times[i])
			sums[k].times[i] = times;
	}
	metric_series_free(fine, n_fine);
	return NULL;
}

static const struct err *
times_begin(struct series_sum *sum, uint64_t *full)
{
	size_t n = sum->members[0]->n_points;

	*full = 0;
	if (sum->n < 2 || strncmp(sum->members[0]->desc.name, TOGETHER,
	    strlen(TOGETHER)) != 0)
		return NULL;
	sum->times = calloc(n + 1, sizeof(*sum->times));
	if (sum->times == NULL)
		return err_nomem();
	for (size_t i = 0; i < n; i++) {
		sum->times[i] = times_most(sum, i);
		if (sum->times[i] > *full)
			*full = sum->times[i];
	}
	return NULL;
}

const struct err *
series_times(const struct step_page *page, struct store *s,
    const struct series_over *over, struct series_sum *sums, size_t n)
{
	uint64_t *full = calloc(n + 1, sizeof(*full));
	const struct err *e = full == NULL ? err_nomem() : NULL;
	size_t looked = 0, points = n > 0 ? sums->members[0]->n_points : 0;

	for (size_t k = 0; k < n && e == NULL; k++)
		e = times_begin(&sums[k], &full[k]);
	for (size_t i = 0; i < points && e == NULL &&
	     looked < SERIES_TIMES_STEPS && page->step_ns > page->slot_ns;
	     i++) {
		bool open = false;

		for (size_t k = 0; k < n; k++)
			open |= sums[k].times != NULL &&
			    times_is_open(&sums[k], i, full[k]);
		looked += open;
		if (open)
			e = times_look(page, s, over, sums, n, i);
	}
	free(full);
	return e;
}
