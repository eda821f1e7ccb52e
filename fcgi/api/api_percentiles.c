/*
 * GET /api/v1/percentiles: latency histograms over time, one point a step.
 * All histograms of a step are merged before anything is read from them;
 * percentiles are never averaged.
 */
#include "fcgi/api/pages.h"
#include "fcgi/api/quantiles.h"
#include "fcgi/format/writer.h"
#include "fcgi/query/measure.h"
#include "fcgi/query/step.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/request.h"
#include "store/base/err.h"

static void
percentiles_put(struct writer *w, const struct step_page *q,
    const struct histogram_series *h)
{
	writer_open(w, '{');
	writer_key_str(w, "name", h->desc.name);
	writer_key_str(w, "unit", h->desc.unit);
	measure_put_labels(w, &h->desc);
	writer_key_open(w, "points", '[');
	for (size_t i = 0; i < h->n_points; i++)
		quantiles_put_point(w, q->from_ns + (int64_t)i * q->step_ns,
		    h->desc.scale, &h->points[i]);
	writer_close(w, ']');
	writer_close(w, '}');
}

static const struct err *
percentiles_answer(const struct step_page *q, const struct request *rq,
    struct store *s, struct writer *w)
{
	struct histogram_query hq = {q->selector, q->from_ns, q->until_ns,
	    q->step_ns, q->max_series, false};
	struct histogram_series *series;
	const struct err *e;
	size_t n;

	(void)rq;
	if ((e = store_query_histogram(s, &hq, &series, &n)) != NULL)
		return e;
	writer_open(w, '{');
	step_page_put(w, q);
	partial_put_state(w, s, q->from_ns, q->until_ns);
	quantiles_put_columns(w);
	writer_key_open(w, "series", '[');
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
	return step_page_serve(c, rq, rs, percentiles_answer);
}
