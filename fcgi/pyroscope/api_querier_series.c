/*
 * Sums over steps.
 */
#include <stdlib.h>
#include <string.h>

#include "connect.pb-c.h"
#include "fcgi/pyroscope/flameql.h"
#include "fcgi/pyroscope/querier.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/store.h"

#define GROUPS_MAX 16
#define AVERAGE \
	CONNECT__TIME_SERIES_AGGREGATION_TYPE__TIME_SERIES_AGGREGATION_TYPE_AVERAGE

static Connect__Point **
series_points(struct querier *q, const struct totals *t,
    const struct totals_group *g, const struct totals_query *tq,
    bool average, size_t *n)
{
	Connect__Point **points = querier_array(q, t->n_steps,
	    sizeof(*points));

	*n = 0;
	for (size_t i = 0; points != NULL && i < t->n_steps; i++) {
		int64_t end = tq->from_ns + (int64_t)(i + 1) * tq->step_ns;
		Connect__Point *p;

		if (g->steps[i].count == 0)
			continue;
		p = querier_new(q, &connect__point__descriptor);
		if (p == NULL)
			return NULL;
		p->value = (double)g->steps[i].sum;
		if (average)
			p->value /= (double)g->steps[i].count;
		p->timestamp = (end < tq->until_ns ? end : tq->until_ns) /
		    NS_PER_MS;
		points[(*n)++] = p;
	}
	return points;
}

static Connect__Series *
series_make(struct querier *q, const struct totals *t,
    const struct totals_group *g, const struct totals_query *tq, bool average)
{
	Connect__Series *s = querier_new(q, &connect__series__descriptor);

	if (s == NULL || (s->labels = querier_array(q, g->n_labels,
	    sizeof(*s->labels))) == NULL)
		return NULL;
	for (size_t i = 0; i < g->n_labels; i++) {
		Connect__LabelPair *l =
		    querier_new(q, &connect__label_pair__descriptor);

		if (l == NULL)
			return NULL;
		l->name = querier_text(q,
		    querier_label_name(g->labels[i].name));
		l->value = querier_text(q, g->labels[i].value);
		if (l->name == NULL || l->value == NULL)
			return NULL;
		s->labels[s->n_labels++] = l;
	}
	s->points = series_points(q, t, g, tq, average, &s->n_points);
	return s->points != NULL ? s : NULL;
}

/* Whole slots: from down, until up, the step to a multiple; whole spans
 * where retention has left no slots. */
static const struct err *
series_ask(struct querier *q, const Connect__SelectSeriesRequest *r,
    struct totals_query *tq, struct totals **out)
{
	const char *split[GROUPS_MAX];
	struct store_extent extent;
	struct flameql ql;
	const struct err *e;
	int64_t slot, step;

	if (r->stack_trace_selector != NULL &&
	    (r->stack_trace_selector->n_call_site > 0 ||
	    r->stack_trace_selector->go_pgo != NULL))
		return querier_refuse("stack_trace_selector", "sums over steps "
		    "are of all stacks here");
	if (r->aggregation < 0 || r->aggregation > AVERAGE)
		return err_field(ERR_REQUEST, 400, "aggregation",
		    "%d is none of its values", (int)r->aggregation);
	if (r->n_group_by > GROUPS_MAX)
		return err_field(ERR_REQUEST, 400, "group_by",
		    "more than %d labels", GROUPS_MAX);
	if (!(r->step > 0 && r->step <= 1e9)) /* NaN neither */
		return err_field(ERR_REQUEST, 400, "step", "is not above 0 "
		    "and up to 1e9 seconds");
	if ((e = querier_range(q, r->start, r->end, &tq->from_ns,
	    &tq->until_ns)) != NULL)
		return e;
	store_extent(q->store, &extent);
	slot = extent.slot_ns;
	step = (int64_t)(r->step * (double)NS_PER_S);
	tq->from_ns = tq->from_ns / slot * slot;
	tq->until_ns = (tq->until_ns + slot - 1) / slot * slot;
	tq->step_ns = (step + slot - 1) / slot * slot;
	store_kept_steps(q->store, &tq->from_ns, &tq->until_ns, &tq->step_ns);
	for (size_t i = 0; i < r->n_group_by; i++)
		split[i] = flameql_label(r->group_by[i]);
	tq->split = split;
	tq->n_split = r->n_group_by;
	if (*r->profile_typeid == '\0')
		return err_field(ERR_REQUEST, 400, "profile_typeID",
		    "is missing");
	e = flameql_parse_id(&ql, r->profile_typeid, r->label_selector);
	tq->selector = ql.selector;
	if (e == NULL)
		e = store_query_totals(q->store, tq, out);
	if (e == NULL)
		e = flameql_check_unit(&ql, (*out)->unit);
	flameql_free(&ql);
	return e;
}

static double
series_sum(const Connect__Series *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->n_points; i++)
		sum += s->points[i]->value;
	return sum;
}

static int
series_order(const void *a, const void *b)
{
	double x = series_sum(*(Connect__Series *const *)a);
	double y = series_sum(*(Connect__Series *const *)b);

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The largest by their sums; all in the order of their labels where there is
 * no limit. */
static void
series_limit(Connect__SelectSeriesResponse *a, int64_t limit)
{
	if (limit <= 0 || (uint64_t)limit >= a->n_series)
		return;
	qsort(a->series, a->n_series, sizeof(*a->series), series_order);
	a->n_series = (size_t)limit;
}

const struct err *
querier_select_series(struct querier *q, const ProtobufCMessage *request,
    ProtobufCMessage **answer)
{
	const Connect__SelectSeriesRequest *r =
	    (const Connect__SelectSeriesRequest *)request;
	Connect__SelectSeriesResponse *a =
	    querier_new(q, &connect__select_series_response__descriptor);
	struct totals_query tq = {0};
	struct totals *t = NULL;
	const struct err *e = series_ask(q, r, &tq, &t);

	if (e == NULL && a != NULL)
		a->series = querier_array(q, t->n_groups, sizeof(*a->series));
	if (e == NULL && (a == NULL || a->series == NULL))
		e = err_nomem();
	for (size_t i = 0; e == NULL && i < t->n_groups; i++) {
		a->series[i] = series_make(q, t, &t->groups[i], &tq,
		    r->aggregation == AVERAGE);
		if (a->series[i] == NULL)
			e = err_nomem();
		else
			a->n_series++;
	}
	if (e == NULL)
		series_limit(a, r->limit);
	totals_free(t);
	*answer = &a->base;
	return e;
}
