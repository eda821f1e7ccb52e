/*
 * Gauges and counters over consecutive steps.
 */
#include "query_steps.h"

#include "base/err.h"

#include <errno.h>
#include <stdlib.h>

struct metric_run {
	struct steps steps;
	const struct metric_query *q;
	struct metric_point *points; /* of the series at hand */
	enum series_kind kind;
};

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
metric_block(void *arg, size_t step, const struct block *b, uint64_t slots)
{
	struct metric_run *r = arg;

	metric_fold(&r->points[step], b, r->kind, r->steps.s->manifest.slot_ns,
	    slots);
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
	symtab_desc(&r->steps.s->syms, series, &d, labels, BATCH_MAX_LABELS);
	out->points = calloc(r->steps.n + 1, sizeof(*out->points));
	out->n_points = r->steps.n;
	if (out->points == NULL)
		return err_nomem();
	r->points = out->points;
	r->kind = d.kind;
	if ((e = steps_each(&r->steps, series, metric_block, r)) != NULL)
		return e;
	for (size_t i = 0; i < r->steps.n && !*has; i++)
		*has = out->points[i].count > 0;
	return *has ? steps_describe(&out->desc, &out->labels, &out->strings,
	                  &d)
	            : NULL;
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
		else if (*n * r->steps.n > QUERY_POINTS)
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
		struct metric_run r = {.q = q};
		uint64_t breaks = s->breaks;
		uint32_t *series = NULL;
		size_t n_series;

		*out = NULL;
		*n = 0;
		if ((e = steps_init(&r.steps, s, q->from_ns, q->until_ns,
		         q->step_ns)) != NULL)
			return e;
		e = steps_plan(&r.steps);
		if (e == NULL)
			e = reader_match(s, q->selector, READER_METRICS, &series,
			    &n_series);
		if (e == NULL)
			e = metric_run(&r, series, n_series, out, n);
		free(series);
		steps_fini(&r.steps);
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
