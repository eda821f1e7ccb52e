/*
 * GET /api/v1/heatmap.json: a latency histogram over time, as counts by step
 * and band.  All series that match are one histogram.
 *
 *	edges   e0 e1 e2 ... en       band i is [ei, ei+1)
 *	cells   [step, band, count]   those that are not 0, in order
 *
 * A band is a run of the store's buckets, so that nothing is estimated: the
 * counts of a step are its total.
 */
#include <stdlib.h>

#include "fcgi/api/pages.h"
#include "fcgi/api/quantiles.h"
#include "fcgi/format/writer.h"
#include "fcgi/query/measure.h"
#include "fcgi/query/step.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/request.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/model/histogram.h"

#define OCTAVE 128 /* buckets of a power of two */
#define BANDS_DEFAULT 4

struct heatmap {
	const struct step_page *page;
	uint32_t width; /* buckets of a band */
};

static const struct err *
heatmap_init(struct heatmap *m, const struct step_page *q,
    const struct request *rq)
{
	int64_t bands = 1;
	const struct err *e;

	e = request_int(rq, "bands", 1, OCTAVE, BANDS_DEFAULT, &bands);
	if (e == NULL && (bands & (bands - 1)) != 0)
		e = err_field(ERR_REQUEST, 400, "bands",
		    "is not a power of two, 1 to %d", OCTAVE);
	if (e == NULL)
		*m = (struct heatmap){q, OCTAVE / (uint32_t)bands};
	return e;
}

/* The least and the greatest band that has something in it. */
static void
heatmap_bands(const struct heatmap *m, const struct histogram_series *h,
    uint32_t *first, uint32_t *last)
{
	*first = UINT32_MAX;
	*last = 0;
	for (size_t i = 0; i < h->n_cells; i++) {
		uint32_t band = h->cells[i].bucket / m->width;

		*first = band < *first ? band : *first;
		*last = band > *last ? band : *last;
	}
}

static int64_t
heatmap_edge(const struct heatmap *m, uint32_t band)
{
	uint32_t bucket = band * m->width;

	return bucket < HISTOGRAM_BUCKETS ? histogram_low(bucket) : INT64_MAX;
}

/* Cells of one band follow each other. */
static void
heatmap_put_cells(struct writer *w, const struct heatmap *m,
    const struct histogram_series *h, uint32_t first)
{
	const struct histogram_cell *c = h->cells;
	size_t i = 0;

	writer_key_open(w, "cells", '[');
	while (i < h->n_cells) {
		uint32_t step = c[i].step, band = c[i].bucket / m->width;
		int128 count = 0;

		for (; i < h->n_cells && c[i].step == step &&
		     c[i].bucket / m->width == band; i++)
			count += c[i].count;
		writer_open(w, '[');
		writer_int(w, (int64_t)step);
		writer_int(w, (int64_t)(band - first));
		writer_int(w, (int64_t)count);
		writer_close(w, ']');
	}
	writer_close(w, ']');
}

static void
heatmap_put_points(struct writer *w, const struct heatmap *m,
    const struct histogram_series *h)
{
	const struct step_page *q = m->page;

	writer_key_open(w, "points", '[');
	for (size_t i = 0; i < h->n_points; i++)
		quantiles_put_point(w, q->from_ns + (int64_t)i * q->step_ns,
		    h->desc.scale, &h->points[i]);
	writer_close(w, ']');
}

static void
heatmap_put(struct writer *w, const struct heatmap *m,
    const struct histogram_series *h)
{
	uint32_t first, last;

	heatmap_bands(m, h, &first, &last);
	writer_key_str(w, "name", h->desc.name);
	writer_key_str(w, "unit", h->desc.unit);
	quantiles_put_columns(w);
	heatmap_put_points(w, m, h);
	writer_key_open(w, "edges", '[');
	for (uint32_t i = first; i <= last + 1; i++)
		writer_decimal(w, heatmap_edge(m, i), h->desc.scale);
	writer_close(w, ']');
	heatmap_put_cells(w, m, h, first);
}

/* The name of a series that has no histogram, where there is one. */
static bool
heatmap_other(void *arg, const struct series_desc *d, int64_t last_ns)
{
	struct buf *name = arg;

	(void)last_ns;
	if (d->kind == SERIES_HISTOGRAM)
		return true;
	buf_printf(name, "%.100s", d->name);
	return false;
}

/* What matches and is no histogram is not told as nothing. */
static const struct err *
heatmap_check(const struct step_page *q, struct store *s)
{
	struct buf name = {0};
	const struct err *e;

	e = store_each_series(s, q->selector, q->from_ns, q->until_ns,
	    heatmap_other, &name);
	if (e == NULL && name.len > 0)
		e = err_field(ERR_REQUEST, 400, "query", "%.*s is no histogram",
		    (int)name.len, (const char *)name.data);
	buf_fini(&name);
	return e;
}

static void
heatmap_put_state(struct writer *w, const struct step_page *q,
    struct store *s, bool any)
{
	if (!any && !partial_is(s, q->from_ns, q->until_ns))
		writer_key_str(w, "state", "no data");
	partial_put_state(w, s, q->from_ns, q->until_ns);
}

static void
heatmap_put_all(struct writer *w, const struct heatmap *m, struct store *s,
    const struct histogram_series *all, size_t n)
{
	writer_open(w, '{');
	step_page_put(w, m->page);
	heatmap_put_state(w, m->page, s, n > 0);
	writer_key_int(w, "series", n > 0 ? (int64_t)all->n_merged : 0);
	if (n > 0)
		heatmap_put(w, m, all);
	writer_close(w, '}');
}

static const struct err *
heatmap_answer(const struct step_page *q, const struct request *rq,
    struct store *s, struct writer *w)
{
	struct histogram_query hq = {q->selector, q->from_ns, q->until_ns,
	    q->step_ns, q->max_series, true};
	struct histogram_series *all;
	const struct err *e;
	struct heatmap m;
	size_t n;

	if ((e = heatmap_init(&m, q, rq)) != NULL ||
	    (e = store_query_histogram(s, &hq, &all, &n)) != NULL)
		return e;
	if (n == 0)
		e = heatmap_check(q, s);
	if (e == NULL)
		heatmap_put_all(w, &m, s, all, n);
	histogram_series_free(all, n);
	return e;
}

const struct err *
api_heatmap(struct context *c, struct request *rq, struct response *rs)
{
	return step_page_serve(c, rq, rs, heatmap_answer);
}
