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
#include "store/model/fact.h"

/* What the daemon calls all that lived before it (memlensd(8)). */
#define BEFORE "[before MemLens started]"
/* and what it was not told of */
#define UNTAKEN "[its stack was not taken]"
/* What a program's successor has at most of what it held, soon after. */
#define RESTARTED_PART 0.25

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

/* ---- restarts ---- */

struct leaks_lives {
	const struct leaks *l;
	const char *service;
	bool *began, *goes_on; /* by step */
};

/* The first step that begins at or behind a time before the end. */
static size_t
leaks_step_of(const struct leaks *l, int64_t ns)
{
	if (ns <= l->from_ns)
		return 0;
	return (size_t)((ns - l->from_ns + l->step_ns - 1) / l->step_ns);
}

static bool
leaks_take_process(void *arg, int64_t time_ns, const char *subject,
    const void *data, size_t n)
{
	const struct leaks_lives *v = arg;
	const struct leaks *l = v->l;
	struct fact_process f;
	size_t i;

	if (strcmp(subject, v->service) != 0 ||
	    !fact_take_process(data, n, &f) || f.started_ns >= l->until_ns)
		return true;
	i = leaks_step_of(l, f.started_ns + 1);
	if (i > 0)
		v->began[i - 1] = true;
	for (; i < l->n_steps && l->from_ns + (int64_t)(i + 1) * l->step_ns <=
	     time_ns; i++)
		v->goes_on[i] = true;
	return true;
}

/* The daemon tells of a process when it has begun, and again while it lives. */
const struct err *
leaks_read_began(struct leaks *l, struct store *s, const char *service,
    bool part)
{
	bool goes_on[LEAKS_STEPS] = {false};
	struct leaks_lives v = {l, service, l->began, goes_on};
	const struct err *e = store_each_fact(s, FACT_PROCESS, l->from_ns,
	    l->until_ns, leaks_take_process, &v);

	for (size_t i = 0; i < l->n_steps; i++)
		l->began[i] = l->began[i] && (part || !goes_on[i]);
	return e;
}

/* ---- which stacks ---- */

static bool
leaks_is_mark(const struct profile_node *node, const char *mark)
{
	return node->kind == FRAME_MARK && strcmp(node->name, mark) == 0;
}

/* What a profile has by such a stack. */
static double
leaks_marked(const struct profile *p, const char *mark)
{
	double sum = 0;

	for (size_t i = 0; i < p->n_nodes; i++)
		if (leaks_is_mark(&p->nodes[i], mark))
			sum += (double)p->nodes[i].self;
	return sum;
}

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

/* May what there was at first be another program's? */
static bool
leaks_began(const struct leaks *l)
{
	for (size_t i = l->anew; i < l->n_steps; i++)
		if (l->began[i])
			return true;
	return false;
}

/* What a stack of the last profile has more than in the first; of a flow, and
 * of a program that may be none of the first, all it has.  What is of unknown
 * stacks has come by a loss, not by itself. */
static double
leaks_grown(const struct leaks *l, const struct profile *first,
    const struct map64 *had, const uint64_t *hashes, uint32_t node)
{
	const struct profile_node *x = &l->last->nodes[node];
	uint32_t k = first->kind == SERIES_STOCK && !leaks_began(l)
	    ? map64_get(had, hashes[node]) : INTERN_NONE;

	if (leaks_is_mark(x, BEFORE) || leaks_is_mark(x, UNTAKEN))
		return 0;
	return (double)x->self -
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

/* Where the daemon has begun within the range, all that lived is one stack
 * since, and that only shrinks: after the last step by which it has grown,
 * stacks are as good as new.  *first becomes what they were then. */
static const struct err *
leaks_find_anew(struct leaks *l, struct store *s,
    const struct selector *selector, struct profile **first)
{
	double later = leaks_marked(l->last, BEFORE);
	size_t at = l->n_steps;
	const struct err *e = NULL;

	if (later <= leaks_marked(*first, BEFORE))
		return NULL; /* nearly always: nothing more is read */
	for (size_t i = l->n_steps; e == NULL && i-- > 0;) {
		struct profile *p = NULL;
		double before;

		e = leaks_profile(l, s, selector, i, &p);
		if (e != NULL || p->slots == 0) {
			profile_free(p);
			continue;
		}
		before = leaks_marked(p, BEFORE);
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

/* A program that has begun in the last steps holds little yet: which stacks
 * grow is said by the one before it. */
static const struct err *
leaks_find_before(struct leaks *l, struct store *s,
    const struct selector *selector)
{
	size_t i = l->n_steps;
	struct profile *p = NULL;
	const struct err *e = NULL;

	while (i > l->anew && !l->began[i - 1] &&
	    l->n_steps - i < TREND_POINTS_MIN)
		i--;
	if (i == l->anew || !l->began[i - 1])
		return NULL;
	for (i--; e == NULL && p == NULL && i-- > l->anew;) {
		e = leaks_profile(l, s, selector, i, &p);
		if (e == NULL && p->slots > 0)
			break;
		profile_free(p);
		p = NULL;
	}
	if (p != NULL && e == NULL &&
	    l->last->nodes[0].total < p->nodes[0].total) {
		profile_free(l->last);
		l->last = p;
		return NULL;
	}
	profile_free(p);
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
	if (e == NULL && l->last != NULL && l->last->kind == SERIES_STOCK)
		e = leaks_find_before(l, s, selector);
	if (e == NULL && l->last != NULL) {
		memcpy(l->unit, l->last->unit, sizeof(l->unit));
		l->lost = leaks_marked(l->last, UNTAKEN);
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

/* What is judged of a stack, or of the total (NULL). */
static const double *
leaks_values(const struct leaks *l, const struct leak *k)
{
	return k != NULL ? k->value : l->is_metric ? l->least : l->total;
}

/* The next step with data before (-1) or behind (1) one; n_steps: none. */
static size_t
leaks_next(const struct leaks *l, size_t i, int by)
{
	do
		i += (size_t)by;
	while (i < l->n_steps && !l->has[i]);
	return i < l->n_steps ? i : l->n_steps;
}

/* Was the program restarted in this step?  What the step has is of both, unless
 * it is the last one.  Of one that was as it began, the next step has more:
 * what grows fast may have come far again by then. */
static bool
leaks_falls(const struct leaks *l, const double *value, size_t i)
{
	size_t before = leaks_next(l, i, -1), after = leaks_next(l, i, 1);
	double least;

	if (!l->began[i] || before == l->n_steps ||
	    (after == l->n_steps && !l->has[i]))
		return false;
	least = value[after < l->n_steps ? after : i];
	if (l->has[i] && value[i] < least)
		least = value[i];
	return value[before] > 0 && least <= value[before] * RESTARTED_PART;
}

size_t
leaks_restarted(const struct leaks *l, const struct leak *k)
{
	size_t from = k != NULL ? l->anew : 0;

	for (size_t i = l->n_steps; i-- > from;)
		if (leaks_falls(l, leaks_values(l, k), i))
			return i;
	return l->n_steps;
}

size_t
leaks_restarts(const struct leaks *l, const struct leak *k)
{
	size_t n = 0;

	for (size_t i = k != NULL ? l->anew : 0; i < l->n_steps; i++)
		n += leaks_falls(l, leaks_values(l, k), i);
	return n;
}

const char *
leaks_why_unknown(const struct leaks *l, const struct leak *k)
{
	size_t has = 0, loaded = 0;

	for (size_t i = k != NULL ? l->anew : 0; i < l->n_steps; i++) {
		has += l->has[i];
		loaded += l->has[i] && !(l->loaded && isnan(l->load[i]));
	}
	if (has == 0)
		return "no step has data";
	if (has < TREND_POINTS_MIN)
		return "fewer than 6 steps have data";
	if (loaded < TREND_POINTS_MIN)
		return "the requests of fewer than 6 steps are known";
	return "the program was restarted more often than every 6 steps: no "
	    "start of it has as many";
}

size_t
leaks_since(const struct leaks *l, const struct leak *k)
{
	size_t i = leaks_restarted(l, k), after = leaks_next(l, i, 1);

	if (i == l->n_steps)
		return k != NULL ? l->anew : 0;
	return after < l->n_steps ? after : i;
}

struct trend
leaks_trend(const struct leaks *l, const struct leak *k)
{
	const double *value = leaks_values(l, k);
	double grain = k != NULL ? k->grain : l->grain;
	struct trend_point points[LEAKS_STEPS];
	bool anew[LEAKS_STEPS], fell = false;
	double load[LEAKS_STEPS];
	size_t n = 0;

	for (size_t i = k != NULL ? l->anew : 0; i < l->n_steps; i++) {
		bool falls = leaks_falls(l, value, i);

		fell |= falls;
		if (!l->has[i] || (l->loaded && isnan(l->load[i])) ||
		    (falls && leaks_next(l, i, 1) < l->n_steps))
			continue;
		load[n] = l->load[i];
		anew[n] = fell;
		fell = false;
		points[n++] = (struct trend_point){(double)i *
		    (double)l->step_ns / NS_PER_S, value[i]};
	}
	return l->loaded ? trend_beside(points, load, anew, n, grain)
	    : trend_parts(points, anew, n, grain);
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
	bool fell = leaks_restarted(l, k) < l->n_steps;
	size_t since = l->n_steps;

	*at_least = !fell;
	for (size_t i = l->n_steps; i-- > leaks_since(l, k);) {
		if (l->has[i] && k->value[i] <= 0) {
			/* what it held before may be in that one stack */
			*at_least = l->anew > 0 && !fell;
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
