/*
 * GET /metrics: the newest value of every gauge and counter, as Prometheus
 * reads it (text format 0.0.4).
 */
#include <ctype.h>
#include <string.h>

#include "fcgi/api/pages.h"
#include "fcgi/format/writer.h"
#include "fcgi/query/measure.h"
#include "fcgi/query/series_point.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define METRICS_SERIES_MAX 20000
#define METRICS_SLOTS 6 /* older than that is not the newest any more */

/* Letters, digits and "_" (":" too in a metric's name). */
static void
metrics_put_name(struct buf *out, const char *name, bool colon)
{
	for (size_t i = 0; name[i] != '\0'; i++) {
		char c = name[i];
		bool fine = isalpha((unsigned char)c) || c == '_' ||
		    (colon && c == ':') || (i > 0 && isdigit((unsigned char)c));

		buf_put_u8(out, (uint8_t)(fine ? c : '_'));
	}
}

static void
metrics_put_series(struct buf *out, const struct metric_series *m)
{
	metrics_put_name(out, m->desc.name, true);
	for (size_t i = 0; i < m->desc.n_labels; i++) {
		buf_put_u8(out, i ? ',' : '{');
		metrics_put_name(out, m->desc.labels[i].name, false);
		buf_put(out, "=\"", 2);
		measure_put_quoted(out, m->desc.labels[i].value);
		buf_put_u8(out, '"');
	}
	if (m->desc.n_labels > 0)
		buf_put_u8(out, '}');
	buf_put_u8(out, ' ');
	writer_put_decimal(out, m->points[0].last, m->desc.scale);
	buf_put_u8(out, '\n');
}

/* Series come in the order of their names within each kind: a name that
 * differs from the one before begins a family. */
static void
metrics_put(struct buf *out, const struct metric_series *series, size_t n)
{
	const char *family = "";

	for (size_t i = 0; i < n; i++) {
		const struct metric_series *m = &series[i];

		if (series_point_only(m) == NULL)
			continue;
		if (strcmp(family, m->desc.name) != 0) {
			family = m->desc.name;
			buf_put(out, "# TYPE ", 7);
			metrics_put_name(out, family, true);
			buf_printf(out, " %s\n",
			    series_kind_name(m->desc.kind));
		}
		metrics_put_series(out, m);
	}
}

const struct err *
api_metrics(struct context *c, struct request *rq, struct response *rs)
{
	struct metric_query q = {.max_series = METRICS_SERIES_MAX,
	    .newest = true};
	struct metric_series *series = NULL;
	struct store_extent extent;
	struct selector *all;
	struct store *s;
	const struct err *e;
	size_t n = 0;

	if ((e = context_store(c, &s)) != NULL ||
	    (e = selector_parse("{__name__!=\"\"}", &all)) != NULL)
		return e;
	store_extent(s, &extent);
	q.selector = all;
	q.until_ns = measure_ceil(s, rq->now_ns);
	q.step_ns = METRICS_SLOTS * extent.slot_ns;
	q.from_ns = q.until_ns - q.step_ns;
	e = store_query_metric(s, &q, &series, &n);
	selector_free(all);
	if (e != NULL)
		return e;
	rs->type = "text/plain; version=0.0.4; charset=utf-8";
	metrics_put(&rs->body, series, n);
	metric_series_free(series, n);
	return NULL;
}
