/*
 * GET /metrics: the newest value of every gauge and counter, as Prometheus
 * reads it (text format 0.0.4).
 */
#include <ctype.h>
#include <stdlib.h>
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
metrics_put_name(struct buf *out, const char *name, size_t n, bool colon)
{
	for (size_t i = 0; i < n; i++) {
		char c = name[i];
		bool fine = isalpha((unsigned char)c) || c == '_' ||
		    (colon && c == ':') || (i > 0 && isdigit((unsigned char)c));

		buf_put_u8(out, (uint8_t)(fine ? c : '_'));
	}
}

static void
metrics_put_series(struct buf *out, const struct metric_series *m)
{
	metrics_put_name(out, m->desc.name, strlen(m->desc.name), true);
	for (size_t i = 0; i < m->desc.n_labels; i++) {
		const char *name = m->desc.labels[i].name;

		buf_put_u8(out, i ? ',' : '{');
		metrics_put_name(out, name, strlen(name), false);
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

/* Series in the order of their kinds, then names: those of one name are a
 * run. */
struct metrics {
	const struct metric_series *series;
	size_t n;
	struct buf *out;
};

/* The first series of kind and name, `base` (so many bytes) and suffix; n:
 * there is none. */
static size_t
metrics_find(const struct metrics *m, enum series_kind kind,
    const char *base, size_t bytes, const char *suffix)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct series_desc *d = &m->series[mid].desc;
		int order = (int)d->kind - (int)kind;

		if (order == 0)
			order = strncmp(d->name, base, bytes);
		if (order == 0)
			order = strcmp(d->name + bytes, suffix);
		if (order == 0 && (mid == 0 || m->series[mid - 1].desc.kind !=
		    kind || strcmp(m->series[mid - 1].desc.name, d->name) != 0))
			return mid;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return m->n;
}

static size_t
metrics_run_end(const struct metrics *m, size_t i)
{
	size_t end = i + 1;

	while (end < m->n && m->series[end].desc.kind ==
	    m->series[i].desc.kind && strcmp(m->series[end].desc.name,
	    m->series[i].desc.name) == 0)
		end++;
	return end;
}

/* Where has the name this suffix?  0: it has not. */
static size_t
metrics_base(const struct series_desc *d, const char *suffix)
{
	size_t n = strlen(d->name), k = strlen(suffix);

	return n > k && strcmp(d->name + n - k, suffix) == 0 ? n - k : 0;
}

/* A line for each of the run that has a value; before the first of the family
 * that it belongs to, its type. */
static void
metrics_put_run(const struct metrics *m, size_t i, size_t family,
    const char *type, bool *begun)
{
	for (size_t end = i < m->n ? metrics_run_end(m, i) : i; i < end; i++) {
		if (series_point_only(&m->series[i]) == NULL)
			continue;
		if (!*begun) {
			buf_put(m->out, "# TYPE ", 7);
			metrics_put_name(m->out, m->series[i].desc.name,
			    family, true);
			buf_printf(m->out, " %s\n", type);
			*begun = true;
		}
		metrics_put_series(m->out, &m->series[i]);
	}
}

/* What was scraped of a histogram or a summary are counters and gauges; by
 * their names and labels they are one family again. */
static bool
metrics_is_histogram(const struct metrics *m, const char *base, size_t bytes)
{
	size_t i = metrics_find(m, SERIES_COUNTER, base, bytes, "_bucket");

	return i < m->n && measure_label(&m->series[i], "le")[0] != '\0';
}

static bool
metrics_is_summary(const struct metrics *m, const char *base, size_t bytes)
{
	size_t i = metrics_find(m, SERIES_GAUGE, base, bytes, "");

	return i < m->n && measure_is_quantile(&m->series[i].desc) &&
	    !metrics_is_histogram(m, base, bytes);
}

/* The run that begins at i, and with the first run of a family the others; a
 * run that came with such a one is not put again. */
static void
metrics_put_family(const struct metrics *m, size_t i)
{
	const struct series_desc *d = &m->series[i].desc;
	const char *type = series_kind_name(d->kind);
	size_t bytes = strlen(d->name), base = 0;
	bool begun = false;

	if (d->kind == SERIES_GAUGE && metrics_is_summary(m, d->name, bytes)) {
		base = bytes;
		type = "summary";
	} else if (d->kind == SERIES_COUNTER &&
	    (base = metrics_base(d, "_bucket")) != 0 &&
	    metrics_is_histogram(m, d->name, base)) {
		type = "histogram";
	} else if (d->kind == SERIES_COUNTER &&
	    ((base = metrics_base(d, "_sum")) != 0 ||
	    (base = metrics_base(d, "_count")) != 0) &&
	    (metrics_is_histogram(m, d->name, base) ||
	    metrics_is_summary(m, d->name, base))) {
		return;
	} else {
		base = 0;
	}
	metrics_put_run(m, i, base != 0 ? base : bytes, type, &begun);
	if (base == 0)
		return;
	metrics_put_run(m, metrics_find(m, SERIES_COUNTER, d->name, base,
	    "_sum"), base, type, &begun);
	metrics_put_run(m, metrics_find(m, SERIES_COUNTER, d->name, base,
	    "_count"), base, type, &begun);
}

/* Labels in their order, but for the bound of a bucket. */
static int
metrics_compare_labels(const struct series_desc *a,
    const struct series_desc *b)
{
	for (size_t i = 0, k = 0;; i++, k++) {
		int order;

		i += i < a->n_labels && strcmp(a->labels[i].name, "le") == 0;
		k += k < b->n_labels && strcmp(b->labels[k].name, "le") == 0;
		if (i >= a->n_labels || k >= b->n_labels)
			return (i < a->n_labels) - (k < b->n_labels);
		order = strcmp(a->labels[i].name, b->labels[k].name);
		if (order == 0)
			order = strcmp(a->labels[i].value, b->labels[k].value);
		if (order != 0)
			return order;
	}
}

/* Buckets by what else they are of, then from the lowest to +Inf. */
static int
metrics_compare_buckets(const void *a, const void *b)
{
	const struct metric_series *x = a, *y = b;
	const char *le = measure_label(x, "le"), *with = measure_label(y, "le");
	double low = strtod(le, NULL), high = strtod(with, NULL);
	int order = metrics_compare_labels(&x->desc, &y->desc);

	if (order == 0)
		order = low < high ? -1 : low > high;
	return order != 0 ? order : strcmp(le, with);
}

/* The store orders them by their text. */
static void
metrics_sort_buckets(struct metric_series *series, const struct metrics *m)
{
	for (size_t i = 0, end; i < m->n; i = end) {
		end = metrics_run_end(m, i);
		if (m->series[i].desc.kind == SERIES_COUNTER &&
		    metrics_base(&m->series[i].desc, "_bucket") != 0)
			qsort(&series[i], end - i, sizeof(*series),
			    metrics_compare_buckets);
	}
}

const struct err *
api_metrics(struct context *c, struct request *rq, struct response *rs)
{
	struct metric_query q = {.max_series = METRICS_SERIES_MAX,
	    .newest = true};
	struct metric_series *series = NULL;
	struct metrics m;
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
	m = (struct metrics){series, n, &rs->body};
	metrics_sort_buckets(series, &m);
	for (size_t i = 0; i < n; i = metrics_run_end(&m, i))
		metrics_put_family(&m, i);
	metric_series_free(series, n);
	return NULL;
}
