/*
 * GET /api/v1/series: metrics over time, one point a step.
 *
 * A point is stamped with the start of its step and covers the slots in it.
 * A rate is the increase over the seconds that have data, so that a gap does
 * not look like idleness; a step without any data is null.
 */
#include <stdio.h>
#include <string.h>

#include "fcgi/context.h"
#include "fcgi/format/writer.h"
#include "fcgi/measure.h"
#include "fcgi/pages.h"
#include "fcgi/request.h"
#include "fcgi/respond.h"
#include "fcgi/step.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define SERIES_MAX 1000

enum series_fn { FN_DEFAULT, FN_MEAN, FN_RATE, FN_INCREASE, FN_LAST, FN_MIN,
	FN_MAX };

static const char *const series_fns[] = {"", "mean", "rate", "increase",
    "last", "min", "max", NULL};

struct series_request {
	const char *text;
	struct selector *selector;
	int64_t from_ns, until_ns, step_ns, slot_ns;
	int64_t asked_until_ns; /* before it was rounded down */
	size_t fn;
};

static const struct err *
series_parse(struct series_request *q, const struct request *rq,
    const struct store *s)
{
	struct store_extent extent;
	const struct err *e;

	store_extent(s, &extent);
	q->slot_ns = extent.slot_ns;
	if ((e = request_need(rq, "query", &q->text)) != NULL ||
	    (e = request_range(rq, &q->from_ns, &q->until_ns)) != NULL ||
	    (e = request_choice(rq, "fn", series_fns + 1, SIZE_MAX, &q->fn)) !=
	    NULL)
		return e;
	q->fn++; /* FN_DEFAULT when there was none */
	q->from_ns = measure_floor(s, q->from_ns);
	q->asked_until_ns = q->until_ns;
	q->until_ns = measure_floor(s, q->until_ns);
	e = step_parse(rq, q->from_ns, q->until_ns, q->slot_ns, &q->step_ns);
	if (e != NULL)
		return e;
	return selector_parse(q->text, &q->selector);
}

static const struct err *
series_query(const struct series_request *q, struct store *s,
    struct metric_series **out, size_t *n)
{
	struct metric_query mq = {.selector = q->selector,
	    .from_ns = q->from_ns, .until_ns = q->until_ns,
	    .step_ns = q->step_ns};
	const struct err *e;

	*out = NULL;
	*n = 0;
	if (q->from_ns == q->until_ns)
		return NULL;
	e = step_room(q->from_ns, q->until_ns, q->step_ns, SERIES_MAX,
	    &mq.max_series);
	return e == NULL ? store_query_metric(s, &mq, out, n) : e;
}

static enum series_fn
series_fn_of(const struct series_request *q, const struct metric_series *m)
{
	if (q->fn != FN_DEFAULT)
		return (enum series_fn)q->fn;
	return m->desc.kind == SERIES_COUNTER ? FN_RATE : FN_MEAN;
}

/* What a counter is asked makes no sense of a gauge, and the reverse. */
static const struct err *
series_check_fn(const struct series_request *q, const struct metric_series *m)
{
	bool counter = m->desc.kind == SERIES_COUNTER;
	enum series_fn fn = series_fn_of(q, m);

	if (fn == FN_LAST || counter == (fn == FN_RATE || fn == FN_INCREASE))
		return NULL;
	return err_field(ERR_REQUEST, 400, "fn", "%s is not for a %s such as "
	    "%.100s", series_fns[fn], counter ? "counter" : "gauge",
	    m->desc.name);
}

static void
series_put_value(struct writer *w, const struct series_request *q,
    const struct metric_series *m, const struct metric_point *p)
{
	int scale = m->desc.scale;

	if (p->count == 0) {
		writer_null(w);
		return;
	}
	switch (series_fn_of(q, m)) {
	case FN_RATE:
		writer_quotient(w, p->increase, (uint128)p->slots *
		    (uint64_t)q->slot_ns, scale - 9);
		break;
	case FN_INCREASE:
		writer_decimal(w, p->increase, m->desc.scale);
		break;
	case FN_LAST:
		writer_decimal(w, p->last, m->desc.scale);
		break;
	case FN_MIN:
		writer_decimal(w, p->min, m->desc.scale);
		break;
	case FN_MAX:
		writer_decimal(w, p->max, m->desc.scale);
		break;
	default:
		writer_quotient(w, p->sum, p->count, scale);
		break;
	}
}

/* A rate of seconds in a second is a ratio. */
static void
series_put_unit(struct writer *w, const struct series_request *q,
    const struct metric_series *m)
{
	char unit[80];
	bool rate = series_fn_of(q, m) == FN_RATE;

	writer_key(w, "unit");
	if (rate && strcmp(m->desc.unit, "seconds") == 0)
		snprintf(unit, sizeof(unit), "ratio");
	else
		snprintf(unit, sizeof(unit), "%s%s", m->desc.unit,
		    rate ? "/s" : "");
	writer_str(w, unit);
}

static void
series_put(struct writer *w, const struct series_request *q,
    const struct metric_series *m)
{
	writer_open(w, '{');
	writer_key(w, "name");
	writer_str(w, m->desc.name);
	series_put_unit(w, q, m);
	writer_key(w, "fn");
	writer_str(w, series_fns[series_fn_of(q, m)]);
	writer_key(w, "labels");
	writer_open(w, '{');
	for (size_t i = 0; i < m->desc.n_labels; i++) {
		writer_key_any(w, m->desc.labels[i].name);
		writer_str(w, m->desc.labels[i].value);
	}
	writer_close(w, '}');
	writer_key(w, "points");
	writer_open(w, '[');
	for (size_t i = 0; i < m->n_points; i++) {
		writer_open(w, '[');
		writer_seconds(w, q->from_ns + (int64_t)i * q->step_ns);
		series_put_value(w, q, m, &m->points[i]);
		writer_close(w, ']');
	}
	writer_close(w, ']');
	writer_close(w, '}');
}

static const struct err *
series_answer(const struct series_request *q, struct store *s,
    struct writer *w)
{
	struct metric_series *series;
	const struct err *e;
	size_t n;

	if ((e = series_query(q, s, &series, &n)) != NULL)
		return e;
	for (size_t i = 0; i < n && e == NULL; i++)
		e = series_check_fn(q, &series[i]);
	writer_open(w, '{');
	writer_key(w, "from");
	writer_seconds(w, q->from_ns);
	writer_key(w, "until");
	writer_seconds(w, q->until_ns);
	writer_key(w, "step");
	writer_seconds(w, q->step_ns);
	writer_key(w, "series");
	writer_open(w, '[');
	for (size_t i = 0; i < n && e == NULL; i++)
		series_put(w, q, &series[i]);
	writer_close(w, ']');
	writer_close(w, '}');
	metric_series_free(series, n);
	return e;
}

const struct err *
api_series(struct context *c, struct request *rq, struct response *rs)
{
	struct series_request q = {0};
	struct writer w = writer_of(&rs->body);
	struct store *s;
	const struct err *e;

	if ((e = context_store(c, &s)) != NULL)
		return e;
	e = series_parse(&q, rq, s);
	if (e == NULL && (q.asked_until_ns >= rq->now_ns ||
	    !response_unchanged(rs, rq, s, q.from_ns, q.until_ns)))
		e = series_answer(&q, s, &w);
	selector_free(q.selector);
	return e;
}
