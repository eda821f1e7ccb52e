/*
 * Two passes: the ends of the range say which stacks have grown, the steps
 * between how.
 */
#include "fcgi/api/leaks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/query/stack_list.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/intern.h"

/* What the daemon calls all that lived before it (memlensd(8)). */
#define BEFORE "[before MemLens started]"

void
leaks_steps(struct leaks *l, int64_t from_ns, int64_t until_ns,
    int64_t slot_ns)
{
	int64_t slots;

	l->from_ns = from_ns - from_ns % slot_ns;
	slots = (until_ns - l->from_ns + slot_ns - 1) / slot_ns;
	l->step_ns = (slots + LEAKS_STEPS - 1) / LEAKS_STEPS * slot_ns;
	if (l->step_ns < slot_ns)
		l->step_ns = slot_ns;
	l->n_steps = (size_t)((slots * slot_ns + l->step_ns - 1) /
	    l->step_ns);
	l->until_ns = l->from_ns + (int64_t)l->n_steps * l->step_ns;
}

void
leaks_fini(struct leaks *l)
{
	free(l->all);
	profile_free(l->last);
	l->all = NULL;
	l->last = NULL;
	l->n = 0;
}

static const struct err *
leaks_profile(const struct leaks *l, struct store *s,
    const struct selector *selector, size_t step, struct profile **p)
{
	struct profile_query q = {.selector = selector,
	    .from_ns = l->from_ns + (int64_t)step * l->step_ns};

	q.until_ns = q.from_ns + l->step_ns;
	return store_query_profile(s, &q, p);
}

/* ---- which stacks ---- */

struct leaks_pick {
	double grown;
	uint32_t node;
};

static int
leaks_by_growth(const void *a, const void *b)
{
	const struct leaks_pick *x = a, *y = b;

	return (y->grown > x->grown) - (y->grown < x->grown);
}

/* What a stack of the last profile has more than in the first; of a flow,
 * all it has. */
static double
leaks_grown(const struct leaks *l, const struct profile *first,
    const struct map64 *had, const uint64_t *hashes, uint32_t node)
{
	uint32_t k = first->kind == SERIES_STOCK ? map64_get(had,
	    hashes[node]) : INTERN_NONE;

	return (double)l->last->nodes[node].self -
	    (k == INTERN_NONE ? 0 : (double)first->nodes[k].self);
}

/* Those of the last profile that have grown, most first. */
static const struct err *
leaks_choose(struct leaks *l, const struct profile *first,
    const uint64_t *hashes)
{
	struct leaks_pick *picks = malloc(l->last->n_nodes * sizeof(*picks));
	uint64_t *before = stack_list_hashes(first);
	struct map64 had = {0};
	bool good = before != NULL && picks != NULL;
	size_t n = 0;

	for (uint32_t i = 0; good && i < first->n_nodes; i++)
		if (first->nodes[i].self != 0 &&
		    map64_get(&had, before[i]) == INTERN_NONE)
			good = map64_add(&had, before[i], i);
	for (uint32_t i = 0; good && i < l->last->n_nodes; i++) {
		double grown = leaks_grown(l, first, &had, hashes, i);

		if (grown > 0)
			picks[n++] = (struct leaks_pick){grown, i};
	}
	if (good && n > 0)
		qsort(picks, n, sizeof(*picks), leaks_by_growth);
	l->n = n < LEAKS_STACKS ? n : LEAKS_STACKS;
	l->all = calloc(l->n + 1, sizeof(*l->all));
	good = good && l->all != NULL;
	for (size_t i = 0; good && i < l->n; i++)
		l->all[i] = (struct leak){.hash = hashes[picks[i].node],
		    .node = picks[i].node};
	map64_fini(&had);
	free(before);
	free(picks);
	return good ? NULL : err_nomem();
}

/* The profile of a range's end that has data; of a flow, all of the range. */
static const struct err *
leaks_end(struct leaks *l, struct store *s, const struct selector *selector,
    bool last, struct profile **p)
{
	const struct err *e = NULL;

	*p = NULL;
	for (size_t i = 0; e == NULL && i < l->n_steps; i++) {
		e = leaks_profile(l, s, selector, last ? l->n_steps - 1 - i
		    : i, p);
		if (e != NULL || (*p)->slots > 0)
			return e;
		profile_free(*p);
		*p = NULL;
	}
	return e;
}

/* ---- since when ---- */

static double
leaks_before(const struct profile *p)
{
	double sum = 0;

	for (size_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].kind == FRAME_MARK &&
		    strcmp(p->nodes[i].name, BEFORE) == 0)
			sum += (double)p->nodes[i].self;
	return sum;
}

/* Where the daemon has begun within the range, all that lived is one stack
 * since, and that only shrinks: after the last step by which it has grown,
 * stacks are as good as new.  *first becomes what they were then. */
static const struct err *
leaks_find_anew(struct leaks *l, struct store *s,
    const struct selector *selector, struct profile **first)
{
	double later = leaks_before(l->last);
	size_t at = l->n_steps;
	const struct err *e = NULL;

	if (later <= leaks_before(*first))
		return NULL; /* nearly always: nothing more is read */
	for (size_t i = l->n_steps; e == NULL && i-- > 0;) {
		struct profile *p = NULL;
		double before;

		e = leaks_profile(l, s, selector, i, &p);
		if (e != NULL || p->slots == 0) {
			profile_free(p);
			continue;
		}
		before = leaks_before(p);
		if (before < later && at < l->n_steps) {
			l->anew = at;
			profile_free(p);
			break;
		}
		profile_free(*first);
		*first = p;
		later = before;
		at = i;
	}
	return e;
}

/* ---- by what they err ---- */

/* By the mean size of the objects of each, where their count is known. */
static const struct err *
leaks_weigh(struct leaks *l, const struct profile *counts)
{
	uint64_t *hashes = stack_list_hashes(counts);
	struct map64 at = {0};
	bool good = hashes != NULL;

	for (uint32_t i = 0; good && i < counts->n_nodes; i++)
		if (counts->nodes[i].self > 0 &&
		    map64_get(&at, hashes[i]) == INTERN_NONE)
			good = map64_add(&at, hashes[i], i);
	for (size_t i = 0; good && i < l->n; i++) {
		struct leak *k = &l->all[i];
		uint32_t node = map64_get(&at, k->hash);

		k->grain = trend_grain(node == INTERN_NONE ? 0
		    : (double)l->last->nodes[k->node].self /
		    (double)counts->nodes[node].self, l->mean);
	}
	l->grain = trend_grain(counts->nodes[0].total <= 0 ? 0
	    : (double)l->last->nodes[0].total /
	    (double)counts->nodes[0].total, l->mean);
	map64_fini(&at);
	free(hashes);
	return good ? NULL : err_nomem();
}

static const struct err *
leaks_sizes(struct leaks *l, struct store *s)
{
	struct profile_query q = {.selector = l->objects,
	    .from_ns = l->last->from_ns, .until_ns = l->last->until_ns};
	struct profile *counts = NULL;
	const struct err *e;

	if (l->objects == NULL)
		return NULL;
	e = store_query_profile(s, &q, &counts);
	if (e == NULL)
		e = leaks_weigh(l, counts);
	profile_free(counts);
	return e;
}

static const struct err *
leaks_ends(struct leaks *l, struct store *s, const struct selector *selector)
{
	struct profile *first = NULL;
	uint64_t *hashes = NULL;
	const struct err *e = leaks_end(l, s, selector, false, &first);

	if (e == NULL && first != NULL && first->kind != SERIES_STOCK)
		e = store_query_profile(s, &(struct profile_query){
		    .selector = selector, .from_ns = l->from_ns,
		    .until_ns = l->until_ns}, &l->last);
	else if (e == NULL && first != NULL)
		e = leaks_end(l, s, selector, true, &l->last);
	if (e == NULL && l->last != NULL && l->last->kind == SERIES_STOCK)
		e = leaks_find_anew(l, s, selector, &first);
	if (e == NULL && l->last != NULL) {
		memcpy(l->unit, l->last->unit, sizeof(l->unit));
		hashes = stack_list_hashes(l->last);
		e = hashes == NULL ? err_nomem() : leaks_choose(l, first,
		    hashes);
	}
	free(hashes);
	profile_free(first);
	return e;
}

/* ---- how ---- */

static const struct err *
leaks_step(struct leaks *l, const struct map64 *chosen, size_t step,
    const struct profile *p)
{
	uint64_t *hashes = stack_list_hashes(p);
	size_t before = step > 0 && p->kind != SERIES_STOCK ? step - 1 : step;

	if (hashes == NULL)
		return err_nomem();
	l->has[step] = p->slots > 0;
	l->total[step] = (double)p->nodes[0].total +
	    (before < step ? l->total[before] : 0);
	for (size_t i = 0; i < l->n; i++)
		l->all[i].value[step] = before < step ?
		    l->all[i].value[before] : 0;
	for (size_t i = 0; i < p->n_nodes; i++) {
		uint32_t k = p->nodes[i].self == 0 ? INTERN_NONE
		    : map64_get(chosen, hashes[i]);

		if (k != INTERN_NONE)
			l->all[k].value[step] += (double)p->nodes[i].self;
	}
	free(hashes);
	return NULL;
}

struct trend
leaks_trend(const struct leaks *l, const struct leak *k)
{
	const double *value = k != NULL ? k->value
	    : l->is_metric ? l->least : l->total;
	double grain = k != NULL ? k->grain : l->grain;
	struct trend_point points[LEAKS_STEPS];
	double load[LEAKS_STEPS];
	size_t n = 0;

	for (size_t i = k != NULL ? l->anew : 0; i < l->n_steps; i++) {
		if (!l->has[i] || (l->loaded && isnan(l->load[i])))
			continue;
		load[n] = l->load[i];
		points[n++] = (struct trend_point){(double)i *
		    (double)l->step_ns / NS_PER_S, value[i]};
	}
	return l->loaded ? trend_beside(points, load, n, grain)
	    : trend_of(points, n, grain);
}

struct trend
leaks_sum(const struct leaks *l)
{
	struct trend sum = {TREND_STEADY, 0, 0, 0};

	for (size_t i = 0; i < l->n; i++) {
		const struct trend *t = &l->all[i].trend;

		if (t->state != TREND_GROWING)
			continue;
		sum.state = TREND_GROWING;
		sum.slope += t->slope;
		sum.low = hypot(sum.low, t->slope - t->low);
		sum.high = hypot(sum.high, t->high - t->slope);
	}
	sum.low = sum.slope - sum.low;
	sum.high += sum.slope;
	return sum;
}

double
leaks_age(const struct leaks *l, const struct leak *k, bool *at_least)
{
	size_t since = l->n_steps;

	*at_least = true;
	for (size_t i = l->n_steps; i-- > l->anew;) {
		if (l->has[i] && k->value[i] <= 0) {
			/* what it held before may be in that one stack */
			*at_least = l->anew > 0;
			break;
		}
		if (l->has[i])
			since = i;
	}
	return (double)(l->n_steps - since) * (double)l->step_ns / NS_PER_S;
}

static int
leaks_by_slope(const void *a, const void *b)
{
	const struct leak *x = a, *y = b;

	return (y->trend.slope > x->trend.slope) -
	    (y->trend.slope < x->trend.slope);
}

const struct err *
leaks_read(struct leaks *l, struct store *s, const struct selector *selector)
{
	const struct err *e = leaks_ends(l, s, selector);
	struct map64 chosen = {0};
	struct profile *p = NULL;

	if (e == NULL && l->last != NULL)
		e = leaks_sizes(l, s);
	if (e != NULL || l->last == NULL)
		return e;
	for (uint32_t i = 0; e == NULL && i < l->n; i++)
		if (map64_get(&chosen, l->all[i].hash) == INTERN_NONE &&
		    !map64_add(&chosen, l->all[i].hash, i))
			e = err_nomem();
	for (size_t i = 0; e == NULL && i < l->n_steps; i++) {
		e = leaks_profile(l, s, selector, i, &p);
		if (e == NULL)
			e = leaks_step(l, &chosen, i, p);
		profile_free(p);
		p = NULL;
	}
	map64_fini(&chosen);
	for (size_t i = 0; i < l->n; i++)
		l->all[i].trend = leaks_trend(l, &l->all[i]);
	if (l->n > 0)
		qsort(l->all, l->n, sizeof(*l->all), leaks_by_slope);
	return e;
}

const struct err *
leaks_read_metric(struct leaks *l, struct store *s,
    const struct selector *selector)
{
	struct metric_query q = {selector, l->from_ns, l->until_ns,
	    l->step_ns, 64, false};
	struct metric_series *series;
	const struct err *e;
	size_t n;

	if ((e = store_query_metric(s, &q, &series, &n)) != NULL)
		return e;
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < l->n_steps &&
		    i < series[k].n_points; i++) {
			const struct metric_point *p = &series[k].points[i];

			if (p->count == 0)
				continue;
			l->has[i] = true;
			l->total[i] += (double)p->sum / (double)p->count;
			l->least[i] += (double)p->min;
		}
	l->is_metric = true;
	metric_series_free(series, n);
	return NULL;
}
