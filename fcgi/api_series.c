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
#include "fcgi/partial.h"
#include "fcgi/request.h"
#include "fcgi/respond.h"
#include "fcgi/step.h"
#include "store/base/clock.h"
#include "store/base/err.h"

enum series_fn { FN_DEFAULT, FN_MEAN, FN_RATE, FN_INCREASE, FN_LAST, FN_MIN,
	FN_MAX };

static const char *const series_fns[] = {"", "mean", "rate", "increase",
    "last", "min", "max", NULL};

struct series_request {
	struct step_page page;
	size_t fn;
};

static const struct err *
series_query(const struct step_page *p, struct store *s,
    struct metric_series **out, size_t *n)
{
	struct metric_query mq = {p->selector, p->from_ns, p->until_ns,
	    p->step_ns, p->max_series};

	*out = NULL;
	*n = 0;
	return p->from_ns == p->until_ns ? NULL
	                                 : store_query_metric(s, &mq, out, n);
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
		    (uint64_t)q->page.slot_ns, scale - 9);
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
	measure_put_labels(w, &m->desc);
	writer_key(w, "points");
	writer_open(w, '[');
	for (size_t i = 0; i < m->n_points; i++) {
		writer_open(w, '[');
		writer_seconds(w, q->page.from_ns +
		    (int64_t)i * q->page.step_ns);
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

	if ((e = series_query(&q->page, s, &series, &n)) != NULL)
		return e;
	for (size_t i = 0; i < n && e == NULL; i++)
		e = series_check_fn(q, &series[i]);
	writer_open(w, '{');
	step_page_put(w, &q->page);
	partial_put_state(w, s, q->page.from_ns, q->page.until_ns);
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
	e = step_page_init(&q.page, rq, s);
	if (e == NULL)
		e = request_choice(rq, "fn", series_fns + 1, SIZE_MAX, &q.fn);
	q.fn++; /* FN_DEFAULT when there was none */
	if (e == NULL && !step_page_unchanged(&q.page, rs, rq, s))
		e = series_answer(&q, s, &w);
	step_page_fini(&q.page);
	return e;
}
