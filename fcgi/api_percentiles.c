/*
 * GET /api/v1/percentiles: latency histograms over time, one point a step.
 * All histograms of a step are merged before anything is read from them;
 * percentiles are never averaged.
 */
#include "fcgi/context.h"
#include "fcgi/format/writer.h"
#include "fcgi/measure.h"
#include "fcgi/pages.h"
#include "fcgi/request.h"
#include "fcgi/respond.h"
#include "fcgi/step.h"
#include "store/base/err.h"

#define SERIES_MAX 1000

struct percentiles_request {
	struct selector *selector;
	int64_t from_ns, until_ns, step_ns;
	int64_t asked_until_ns; /* before it was rounded down */
};

static const struct err *
percentiles_parse(struct percentiles_request *q, const struct request *rq,
    const struct store *s)
{
	struct store_extent extent;
	const struct err *e;
	const char *text;

	store_extent(s, &extent);
	if ((e = request_need(rq, "query", &text)) != NULL ||
	    (e = request_range(rq, &q->from_ns, &q->until_ns)) != NULL)
		return e;
	q->from_ns = measure_floor(s, q->from_ns);
	q->asked_until_ns = q->until_ns;
	q->until_ns = measure_floor(s, q->until_ns);
	e = step_parse(rq, q->from_ns, q->until_ns, extent.slot_ns,
	    &q->step_ns);
	return e == NULL ? selector_parse(text, &q->selector) : e;
}

static void
percentiles_put_columns(struct writer *w)
{
	static const char *const names[HISTOGRAM_QUANTILES] = {"p50", "p90",
	    "p95", "p99", "p99.9"};

	writer_key(w, "columns");
	writer_open(w, '[');
	writer_str(w, "time");
	for (int i = 0; i < HISTOGRAM_QUANTILES; i++)
		writer_str(w, names[i]);
	writer_str(w, "max");
	writer_str(w, "mean");
	writer_str(w, "count");
	writer_close(w, ']');
}

/* A row of the columns: "no data" is null, but a count of 0 is told too. */
static void
percentiles_put_point(struct writer *w, int64_t time_ns, int scale,
    const struct histogram_point *p)
{
	writer_open(w, '[');
	writer_seconds(w, time_ns);
	for (int i = 0; i < HISTOGRAM_QUANTILES; i++) {
		if (p->count > 0)
			writer_decimal(w, p->values[i], (uint8_t)scale);
		else
			writer_null(w);
	}
	if (p->count > 0) {
		writer_decimal(w, p->max, (uint8_t)scale);
		writer_quotient(w, p->sum, p->count, scale);
	} else {
		writer_null(w);
		writer_null(w);
	}
	writer_int(w, (int64_t)p->count);
	writer_close(w, ']');
}

static void
percentiles_put(struct writer *w, const struct percentiles_request *q,
    const struct histogram_series *h)
{
	writer_open(w, '{');
	writer_key(w, "name");
	writer_str(w, h->desc.name);
	writer_key(w, "unit");
	writer_str(w, h->desc.unit);
	writer_key(w, "labels");
	writer_open(w, '{');
	for (size_t i = 0; i < h->desc.n_labels; i++) {
		writer_key_any(w, h->desc.labels[i].name);
		writer_str(w, h->desc.labels[i].value);
	}
	writer_close(w, '}');
	writer_key(w, "points");
	writer_open(w, '[');
	for (size_t i = 0; i < h->n_points; i++)
		percentiles_put_point(w, q->from_ns + (int64_t)i * q->step_ns,
		    h->desc.scale, &h->points[i]);
	writer_close(w, ']');
	writer_close(w, '}');
}

static const struct err *
percentiles_answer(const struct percentiles_request *q, struct store *s,
    struct writer *w)
{
	struct histogram_query hq = {.selector = q->selector,
	    .from_ns = q->from_ns, .until_ns = q->until_ns,
	    .step_ns = q->step_ns};
	struct histogram_series *series;
	const struct err *e;
	size_t n;

	if ((e = step_room(q->from_ns, q->until_ns, q->step_ns, SERIES_MAX,
	         &hq.max_series)) != NULL ||
	    (e = store_query_histogram(s, &hq, &series, &n)) != NULL)
		return e;
	writer_open(w, '{');
	writer_key(w, "from");
	writer_seconds(w, q->from_ns);
	writer_key(w, "until");
	writer_seconds(w, q->until_ns);
	writer_key(w, "step");
	writer_seconds(w, q->step_ns);
	percentiles_put_columns(w);
	writer_key(w, "series");
	writer_open(w, '[');
	for (size_t i = 0; i < n; i++)
		percentiles_put(w, q, &series[i]);
	writer_close(w, ']');
	writer_close(w, '}');
	histogram_series_free(series, n);
	return NULL;
}

const struct err *
api_percentiles(struct context *c, struct request *rq, struct response *rs)
{
	struct percentiles_request q = {0};
	struct writer w = writer_of(&rs->body);
	struct store *s;
	const struct err *e;

	if ((e = context_store(c, &s)) != NULL)
		return e;
	e = percentiles_parse(&q, rq, s);
	if (e == NULL && (q.asked_until_ns >= rq->now_ns ||
	    !response_unchanged(rs, rq, s, q.from_ns, q.until_ns)))
		e = percentiles_answer(&q, s, &w);
	selector_free(q.selector);
	return e;
}
