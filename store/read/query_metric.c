/*
 * Gauges and counters over consecutive steps.
 */
#include <stdlib.h>

#include "store/base/err.h"
#include "store/read/query_steps.h"

struct metric_run {
	struct metric_series *all;
	struct metric_point *points; /* of the series at hand */
	enum series_kind kind;
	int64_t slot_ns;
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
	/* of a block of several slots some may have had nothing: whether a
	 * step is read as one block or as its parts must not matter */
	p->slots += b->count < slots ? b->count : slots;
}

static const struct err *
metric_block(void *arg, size_t step, const struct block *b, uint64_t slots)
{
	struct metric_run *r = arg;

	metric_fold(&r->points[step], b, r->kind, r->slot_ns, slots);
	return NULL;
}

static void
metric_series_fini(struct metric_series *m)
{
	free(m->points);
	free(m->labels);
	*m = (struct metric_series){0};
}

static const struct err *
metric_begin(void *arg, size_t n)
{
	struct metric_run *r = arg;

	r->all = calloc(n + 1, sizeof(*r->all));
	return r->all == NULL ? err_nomem() : NULL;
}

static void
metric_drop(void *arg, size_t n)
{
	struct metric_run *r = arg;

	metric_series_free(r->all, n);
	r->all = NULL;
}

/* No more than the step has: a slot of an open journal is two blocks where its
 * source began anew within it. */
static void
metric_limit_slots(const struct steps *t, struct metric_point *points)
{
	for (size_t i = 0; i < t->n; i++) {
		uint64_t left = t->until - t->from - i * t->step;
		uint64_t most = left < t->step ? left : t->step;

		if (points[i].slots > most)
			points[i].slots = most;
	}
}

static const struct err *
metric_one(void *arg, struct steps *t, uint32_t series, size_t at, bool *has)
{
	struct metric_run *r = arg;
	struct metric_series *out = &r->all[at];
	struct label labels[BATCH_MAX_LABELS];
	const struct err *e = NULL;
	struct series_desc d;

	symtab_desc(&t->s->syms, series, &d, labels, BATCH_MAX_LABELS);
	out->points = r->points = calloc(t->n + 1, sizeof(*out->points));
	out->n_points = t->n;
	r->kind = d.kind;
	e = out->points == NULL ? err_nomem()
	                        : steps_each(t, series, metric_block, r);
	if (e == NULL)
		metric_limit_slots(t, out->points);
	for (size_t i = 0; i < t->n && e == NULL && !*has; i++)
		*has = out->points[i].count > 0;
	if (*has)
		e = steps_describe(&out->desc, &out->labels, &d);
	*has = *has && e == NULL;
	if (!*has)
		metric_series_fini(out);
	return e;
}

const struct err *
store_query_metric(struct store *s, const struct metric_query *q,
    struct metric_series **out, size_t *n)
{
	struct metric_run r = {.slot_ns = s->manifest.slot_ns};
	const struct steps_query steps = {q->selector, q->from_ns, q->until_ns,
	    q->step_ns, q->max_series, READER_METRICS, q->newest,
	    metric_begin, metric_one, metric_drop, &r};
	const struct err *e = steps_query(s, &steps, n);

	*out = r.all;
	return e;
}

void
metric_series_free(struct metric_series *series, size_t n)
{
	for (size_t i = 0; i < n; i++)
		metric_series_fini(&series[i]);
	free(series);
}

size_t
metric_series_sift(struct metric_series *series, size_t n,
    bool (*keep)(const struct metric_series *series))
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (keep(&series[i]))
			series[kept++] = series[i];
		else
			metric_series_fini(&series[i]);
	return kept;
}
