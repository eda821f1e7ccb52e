/*
 * GET /api/v1/series: metrics over time, one point a step.
 *
 * A point is stamped with the start of its step and covers the slots in it.
 * A rate is the increase over the seconds that have data, so that a gap does
 * not look like idleness; a step without any data is null.
 */
#include <stdio.h>
#include <string.h>

#include "fcgi/api/pages.h"
#include "fcgi/format/writer.h"
#include "fcgi/query/measure.h"
#include "fcgi/query/series_point.h"
#include "fcgi/query/series_sum.h"
#include "fcgi/query/series_times.h"
#include "fcgi/query/step.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/request.h"
#include "store/base/clock.h"
#include "store/base/err.h"

static const char *const series_fns[] = {"", "mean", "rate", "increase",
    "last", "min", "max", "count", NULL};

struct series_request {
	const struct step_page *page;
	size_t fn;
	struct series_over over;
};

static const struct err *
series_query(const struct step_page *p, struct store *s,
    struct metric_series **out, size_t *n)
{
	struct metric_query mq = {p->selector, p->from_ns, p->until_ns,
	    p->step_ns, p->max_series, false};

	*out = NULL;
	*n = 0;
	return p->from_ns == p->until_ns ? NULL
	                                 : store_query_metric(s, &mq, out, n);
}

static enum series_fn
series_fn_of(const struct series_request *q, const struct metric_series *m)
{
	return q->fn != FN_DEFAULT ? (enum series_fn)q->fn
				   : series_point_default(&m->desc);
}

/* A quantile is of what was observed: no mean and no sum of several is one.
 * What was highest of each of two need not have been so at once. */
static const struct err *
series_check_sum(const struct series_request *q,
    const struct metric_series *m, enum series_fn fn)
{
	bool quantile = measure_is_quantile(&m->desc);

	if (quantile && fn == FN_MEAN)
		return err_field(ERR_REQUEST, 400, "fn", "quantiles such as "
		    "%.100s are not averaged", m->desc.name);
	if (q->over.n == 0 || (!quantile && fn != FN_MIN && fn != FN_MAX))
		return NULL;
	return err_field(ERR_REQUEST, 400, "sum", "%s of %.100s does not add "
	    "up", quantile ? "a quantile" : series_fns[fn], m->desc.name);
}

/* What a counter is asked makes no sense of a gauge that is none, and the
 * reverse. */
static const struct err *
series_check_fn(const struct series_request *q, struct metric_series *m)
{
	bool counter = m->desc.kind == SERIES_COUNTER;
	enum series_fn fn = series_fn_of(q, m);
	bool grows = fn == FN_RATE || fn == FN_INCREASE;

	if (fn == FN_LAST || counter == grows ||
	    (grows && m->desc.kind == SERIES_GAUGE &&
	    !measure_is_quantile(&m->desc) && series_point_grow(m)))
		return series_check_sum(q, m, fn);
	return err_field(ERR_REQUEST, 400, "fn", "%s is not for a %s such as "
	    "%.100s", series_fns[fn], counter ? "counter" : "gauge",
	    m->desc.name);
}

/* How many of the series have data in step i. */
static size_t
series_parts(const struct series_sum *sum, size_t i)
{
	size_t parts = 0;

	for (size_t k = 0; k < sum->n; k++)
		parts += sum->members[k]->points[i].count > 0;
	return parts;
}

/* What was there last, where all are read at once. */
static int64_t
series_newest(const struct series_sum *sum, size_t i)
{
	int64_t newest = INT64_MIN;

	for (size_t k = 0; sum->times != NULL && k < sum->n; k++)
		if (sum->members[k]->points[i].count > 0 &&
		    sum->members[k]->points[i].last_ns > newest)
			newest = sum->members[k]->points[i].last_ns;
	return newest;
}

static void
series_put_value(struct writer *w, const struct series_request *q,
    const struct series_sum *sum, size_t i)
{
	const struct metric_series *m = sum->members[0];
	enum series_fn fn = series_fn_of(q, m);
	int128 num = 0, num2;
	uint128 den = 1, den2;
	int scale = fn == FN_COUNT ? 0 : m->desc.scale;
	int64_t newest = fn == FN_LAST ? series_newest(sum, i) : INT64_MIN;

	if (series_parts(sum, i) == 0) {
		writer_null(w);
		return;
	}
	for (size_t k = 0; k < sum->n; k++) {
		const struct metric_point *p = &sum->members[k]->points[i];

		if (p->count == 0 || p->last_ns < newest)
			continue;
		series_point_term(fn, p, &num2, &den2);
		if (sum->times != NULL && (fn == FN_MEAN || fn == FN_RATE))
			den2 = sum->times[i];
		series_add_quotient(&num, &den, num2, den2);
	}
	if (den == 1 && fn != FN_RATE) /* all of its digits */
		writer_decimal(w, num, (unsigned)scale);
	else if (fn == FN_RATE)
		writer_quotient(w, num, den * (uint64_t)q->page->slot_ns,
		    scale - 9);
	else
		writer_quotient(w, num, den, scale);
}

/* A rate of seconds in a second is a ratio, a count has no unit. */
static void
series_put_unit(struct writer *w, const struct series_request *q,
    const struct metric_series *m)
{
	char unit[80];
	bool rate = series_fn_of(q, m) == FN_RATE;

	writer_key(w, "unit");
	if (series_fn_of(q, m) == FN_COUNT)
		unit[0] = '\0';
	else if (rate && strcmp(m->desc.unit, "seconds") == 0)
		snprintf(unit, sizeof(unit), "ratio");
	else
		snprintf(unit, sizeof(unit), "%s%s", m->desc.unit,
		    rate ? "/s" : "");
	writer_str(w, unit);
}

static void
series_put_points(struct writer *w, const struct series_request *q,
    const struct series_sum *sum)
{
	writer_key_open(w, "points", '[');
	for (size_t i = 0; i < sum->members[0]->n_points; i++) {
		writer_open(w, '[');
		writer_seconds(w, q->page->from_ns +
		    (int64_t)i * q->page->step_ns);
		series_put_value(w, q, sum, i);
		writer_close(w, ']');
	}
	writer_close(w, ']');
}

/* Of a sum: of how many series, and of how many of them a step has data. */
static void
series_put_parts(struct writer *w, const struct series_sum *sum)
{
	writer_key_int(w, "added", (int64_t)sum->n);
	writer_key_open(w, "parts", '[');
	for (size_t i = 0; i < sum->members[0]->n_points; i++)
		writer_int(w, (int64_t)series_parts(sum, i));
	writer_close(w, ']');
}

static void
series_put(struct writer *w, const struct series_request *q,
    const struct series_sum *sum)
{
	const struct metric_series *m = sum->members[0];
	struct series_desc d = m->desc;

	d.labels = sum->labels;
	d.n_labels = sum->n_labels;
	writer_open(w, '{');
	writer_key_str(w, "name", m->desc.name);
	series_put_unit(w, q, m);
	writer_key_str(w, "fn", series_fns[series_fn_of(q, m)]);
	measure_put_labels(w, &d);
	if (q->over.n > 0)
		series_put_parts(w, sum);
	series_put_points(w, q, sum);
	writer_close(w, '}');
}

static void
series_put_all(const struct series_request *q, struct store *s,
    struct writer *w, const struct series_sum *sums, size_t n)
{
	writer_open(w, '{');
	step_page_put(w, q->page);
	partial_put_state(w, s, q->page->from_ns, q->page->until_ns);
	writer_key_open(w, "series", '[');
	for (size_t i = 0; i < n; i++)
		series_put(w, q, &sums[i]);
	writer_close(w, ']');
	writer_close(w, '}');
}

static const struct err *
series_answer(const struct series_request *q, struct store *s,
    struct writer *w)
{
	struct metric_series *series;
	struct series_sum *sums = NULL;
	const struct err *e;
	size_t n, n_sums = 0;

	if ((e = series_query(q->page, s, &series, &n)) != NULL)
		return e;
	for (size_t i = 0; i < n && e == NULL; i++)
		e = series_check_fn(q, &series[i]);
	if (e == NULL)
		e = series_sums_new(&sums, &n_sums, series, n, &q->over);
	if (e == NULL)
		e = series_times(q->page, s, &q->over, sums, n_sums);
	if (e == NULL)
		series_put_all(q, s, w, sums, n_sums);
	series_sums_free(sums, n_sums);
	metric_series_free(series, n);
	return e;
}

static const struct err *
series_page(const struct step_page *page, const struct request *rq,
    struct store *s, struct writer *w)
{
	struct series_request q = {.page = page};
	const struct err *e;

	e = request_choice(rq, "fn", series_fns + 1, SIZE_MAX, &q.fn);
	if (e == NULL)
		e = series_over_parse(&q.over, request_text(rq, "sum"));
	q.fn++; /* FN_DEFAULT when there was none */
	return e != NULL ? e : series_answer(&q, s, w);
}

const struct err *
api_series(struct context *c, struct request *rq, struct response *rs)
{
	return step_page_serve(c, rq, rs, series_page);
}
