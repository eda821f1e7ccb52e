/*
 * Gauges and counters over consecutive steps.
 */
#include "reader.h"

#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define QUERY_POINTS 2000000 /* of all series together */

struct metric_run {
	struct store *s;
	const struct metric_query *q;
	struct plan plan;
	uint64_t from, until, step; /* slots */
	size_t n_points;
};

static const struct err *
metric_check(struct metric_run *r)
{
	int64_t slot = r->s->manifest.slot_ns;
	const struct metric_query *q = r->q;

	if (q->from_ns < 0 || q->until_ns < q->from_ns || q->step_ns <= 0 ||
	    q->from_ns % slot || q->until_ns % slot || q->step_ns % slot)
		return err_field(ERR_REQUEST, 400, "step",
		    "from, until and step are not whole slots");
	r->from = (uint64_t)(q->from_ns / slot);
	r->until = (uint64_t)(q->until_ns / slot);
	r->step = (uint64_t)(q->step_ns / slot);
	r->n_points = (size_t)((r->until - r->from + r->step - 1) / r->step);
	if (r->n_points > QUERY_POINTS)
		return err_field(ERR_REQUEST, 413, "step",
		    "%zu points are too many", r->n_points);
	return NULL;
}

static const struct err *
metric_plan(struct metric_run *r)
{
	uint64_t oldest, newest;
	const struct err *e = NULL;

	reader_bounds(r->s, &oldest, &newest);
	for (size_t i = 0; i < r->n_points && e == NULL; i++) {
		uint64_t a = r->from + i * r->step, b = a + r->step;

		if (b > r->until)
			b = r->until;
		if (a < oldest)
			a = oldest;
		if (b > newest)
			b = newest;
		if (a < b)
			e = plan_add(&r->plan, r->s, a, b, (uint32_t)i);
	}
	for (size_t i = 0; i < r->plan.n && e == NULL; i++)
		e = reader_need(r->s, r->plan.pieces[i].file);
	return e;
}

static void
metric_fold(struct metric_point *p, const struct block *b,
    enum series_kind kind, int64_t slot_ns, uint64_t slots)
{
	int64_t at = (int64_t)b->start * slot_ns + b->last_ns;

	if (b->count == 0)
		return;
	if (p->count == 0 || b->min < p->min)
		p->min = b->min;
	if (p->count == 0 || b->max > p->max)
		p->max = b->max;
	if (p->count == 0 || at >= p->last_ns) {
		p->last = b->last;
		p->last_ns = at;
	}
	if (kind == SERIES_COUNTER)
		p->increase += b->sum;
	else
		p->sum += b->sum;
	p->count += b->count;
	p->slots += slots;
}

static const struct err *
metric_add_files(struct metric_run *r, uint32_t series, enum series_kind kind,
    struct metric_point *points)
{
	int64_t slot_ns = r->s->manifest.slot_ns;
	const struct block *b;
	const struct err *e;

	for (size_t i = 0; i < r->plan.n; i++) {
		const struct plan_piece *p = &r->plan.pieces[i];
		uint32_t number = reader_series(p->file, series);

		if (number == INTERN_NONE || p->file->sealed == NULL)
			continue;
		e = sealed_block(p->file->sealed, number, p->level, p->start,
		    &b);
		if (e != NULL)
			e = reader_failed(r->s, p->file, e);
		else if (b != NULL)
			metric_fold(&points[p->step], b, kind, slot_ns,
			    seg_slots(p->level));
		if (e != NULL)
			return e;
	}
	return NULL;
}

static void
metric_add_journals(struct metric_run *r, uint32_t series,
    enum series_kind kind, struct metric_point *points)
{
	for (uint32_t j = 0; j < r->s->n_journals; j++) {
		const struct memspan *m = &r->s->journals[j]->span;

		for (size_t i = 0; i < m->n_blocks; i++) {
			const struct block *b = &m->blocks[i].numbers;

			if (m->blocks[i].series == series &&
			    b->start >= r->from && b->start < r->until)
				metric_fold(&points[(b->start - r->from) /
				        r->step],
				    b, kind, r->s->manifest.slot_ns, 1);
		}
	}
}

static const char *
metric_keep(struct buf *strings, const char *s)
{
	size_t at = strings->len;

	buf_put(strings, s, strlen(s) + 1);
	return (const char *)strings->data + at;
}

/* A copy of the descriptor that outlives the reader's tables. */
static const struct err *
metric_describe(struct metric_series *out, const struct series_desc *d)
{
	size_t need = strlen(d->name) + strlen(d->unit) + 2;

	for (size_t i = 0; i < d->n_labels; i++)
		need += strlen(d->labels[i].name) +
		    strlen(d->labels[i].value) + 2;
	out->labels = calloc(d->n_labels + 1, sizeof(*out->labels));
	if (out->labels == NULL || !buf_reserve(&out->strings, need))
		return err_nomem();
	out->desc = *d;
	out->desc.name = metric_keep(&out->strings, d->name);
	out->desc.unit = metric_keep(&out->strings, d->unit);
	out->desc.labels = out->labels;
	for (size_t i = 0; i < d->n_labels; i++) {
		out->labels[i].name =
		    metric_keep(&out->strings, d->labels[i].name);
		out->labels[i].value =
		    metric_keep(&out->strings, d->labels[i].value);
	}
	return NULL;
}

/* Fills *out when the series has a point; *has tells. */
static const struct err *
metric_series(struct metric_run *r, uint32_t series,
    struct metric_series *out, bool *has)
{
	struct label labels[BATCH_MAX_LABELS];
	struct series_desc d;
	const struct err *e;

	*has = false;
	symtab_desc(&r->s->syms, series, &d, labels, BATCH_MAX_LABELS);
	out->points = calloc(r->n_points + 1, sizeof(*out->points));
	out->n_points = r->n_points;
	if (out->points == NULL)
		return err_nomem();
	e = metric_add_files(r, series, d.kind, out->points);
	if (e != NULL)
		return e;
	metric_add_journals(r, series, d.kind, out->points);
	for (size_t i = 0; i < r->n_points && !*has; i++)
		*has = out->points[i].count > 0;
	return *has ? metric_describe(out, &d) : NULL;
}

static const struct err *
metric_run(struct metric_run *r, const uint32_t *series, size_t n_series,
    struct metric_series **out, size_t *n)
{
	struct metric_series *all = calloc(n_series + 1, sizeof(*all));
	const struct err *e = all ? NULL : err_nomem();

	for (size_t i = 0; i < n_series && e == NULL; i++) {
		bool has = false;

		if (r->q->max_series && *n >= r->q->max_series)
			e = err_field(ERR_REQUEST, 413, "query",
			    "more than %zu series match", r->q->max_series);
		else if (*n * r->n_points > QUERY_POINTS)
			e = err_field(ERR_REQUEST, 413, "step",
			    "more than %d points in all", QUERY_POINTS);
		else
			e = metric_series(r, series[i], &all[*n], &has);
		if (has) {
			(*n)++;
		} else if (all != NULL) {
			free(all[*n].points);
			free(all[*n].labels);
			buf_fini(&all[*n].strings);
			all[*n] = (struct metric_series){0};
		}
	}
	if (e != NULL) {
		metric_series_free(all, *n);
		*n = 0;
		return e;
	}
	*out = all;
	return NULL;
}

const struct err *
store_query_metric(struct store *s, const struct metric_query *q,
    struct metric_series **out, size_t *n)
{
	const struct err *e = NULL;

	for (int i = 0; i < QUERY_TRIES; i++) {
		struct metric_run r = {.s = s, .q = q};
		uint64_t breaks = s->breaks;
		uint32_t *series = NULL;
		size_t n_series;

		*out = NULL;
		*n = 0;
		if ((e = metric_check(&r)) != NULL)
			return e;
		e = metric_plan(&r);
		if (e == NULL)
			e = reader_match(s, q->selector, false, &series,
			    &n_series);
		if (e == NULL)
			e = metric_run(&r, series, n_series, out, n);
		free(series);
		plan_fini(&r.plan);
		if (e == NULL && s->breaks != breaks) {
			/* once more, without the file that is broken */
			metric_series_free(*out, *n);
			continue;
		}
		if (e == NULL || e->code != ENOENT)
			return e;
		if ((e = store_refresh(s)) != NULL)
			return e;
	}
	return err_new(ERR_LIMIT, 503, "the store changes too fast to read");
}

void
metric_series_free(struct metric_series *series, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(series[i].points);
		free(series[i].labels);
		buf_fini(&series[i].strings);
	}
	free(series);
}
