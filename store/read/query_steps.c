/*
 * A file may be merged away between the plan and its reading (ENOENT): then
 * what was begun is dropped, and the question is put to the new manifest.
 */
#include "store/read/query_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/file/format.h"

const struct err *
steps_init(struct steps *t, struct store *s, int64_t from_ns,
    int64_t until_ns, int64_t step_ns)
{
	int64_t slot = s->manifest.slot_ns;

	*t = (struct steps){.s = s};
	if (from_ns < 0 || until_ns < from_ns || step_ns <= 0 ||
	    from_ns % slot || until_ns % slot || step_ns % slot)
		return err_field(ERR_REQUEST, 400, "step",
		    "from, until and step are not whole slots");
	t->from = (uint64_t)(from_ns / slot);
	t->until = (uint64_t)(until_ns / slot);
	t->step = (uint64_t)(step_ns / slot);
	t->n = (size_t)((t->until - t->from + t->step - 1) / t->step);
	if (t->n > QUERY_POINTS)
		return err_field(ERR_REQUEST, 413, "step",
		    "%zu points are too many", t->n);
	return NULL;
}

void
steps_fini(struct steps *t)
{
	plan_fini(&t->plan);
}

const struct err *
steps_plan(struct steps *t)
{
	uint64_t oldest, newest;
	const struct err *e = NULL;

	missing_gaps(t->s, t->from, t->until);
	reader_bounds(t->s, &oldest, &newest);
	for (size_t i = 0; i < t->n && e == NULL; i++) {
		uint64_t a = t->from + i * t->step, b = a + t->step;

		if (b > t->until)
			b = t->until;
		if (a < oldest)
			a = oldest;
		if (b > newest)
			b = newest;
		if (a < b)
			e = plan_add(&t->plan, t->s, a, b, (uint32_t)i);
	}
	for (size_t i = 0; i < t->plan.n && e == NULL; i++)
		e = reader_need(t->s, t->plan.pieces[i].file);
	return e;
}

static const struct err *
steps_each_file(struct steps *t, uint32_t series, steps_fn *fn, void *arg)
{
	const struct err *e = NULL;

	for (size_t i = 0; i < t->plan.n && e == NULL; i++) {
		const struct plan_piece *p = &t->plan.pieces[i];
		uint32_t number = reader_series(p->file, series);
		const struct block *b;

		if (number == INTERN_NONE || p->file->sealed == NULL)
			continue;
		e = sealed_block(p->file->sealed, number, p->level, p->start,
		    &b);
		if (e == NULL && b != NULL)
			e = fn(arg, p->step, b, seg_slots(p->level));
		if (e != NULL)
			e = reader_failed(t->s, p->file, e);
	}
	return e;
}

const struct err *
steps_each(struct steps *t, uint32_t series, steps_fn *fn, void *arg)
{
	const struct err *e = steps_each_file(t, series, fn, arg);
	struct open_walk w;
	struct block b;

	for (uint32_t j = 0; j < t->s->n_journals && e == NULL; j++) {
		openspan_walk(&w, &t->s->journals[j]->span, series, t->from,
		    t->until);
		while (e == NULL && openspan_next(&w, &b))
			e = fn(arg, (size_t)((b.start - t->from) / t->step),
			    &b, 1);
	}
	return e;
}

static const char *
steps_keep(struct buf *strings, const char *s)
{
	size_t at = strings->len;

	buf_put(strings, s, strlen(s) + 1);
	return (const char *)strings->data + at;
}

const struct err *
steps_describe(struct series_desc *out, struct label **labels,
    struct buf *strings, const struct series_desc *d)
{
	size_t need = strlen(d->name) + strlen(d->unit) + 2;

	for (size_t i = 0; i < d->n_labels; i++)
		need += strlen(d->labels[i].name) +
		    strlen(d->labels[i].value) + 2;
	*labels = calloc(d->n_labels + 1, sizeof(**labels));
	if (*labels == NULL || !buf_reserve(strings, need))
		return err_nomem();
	*out = *d;
	out->name = steps_keep(strings, d->name);
	out->unit = steps_keep(strings, d->unit);
	out->labels = *labels;
	for (size_t i = 0; i < d->n_labels; i++) {
		(*labels)[i].name = steps_keep(strings, d->labels[i].name);
		(*labels)[i].value = steps_keep(strings, d->labels[i].value);
	}
	return NULL;
}

/* Each series in turn. */
static const struct err *
steps_all(struct steps *t, const struct steps_query *q, const uint32_t *series,
    size_t n_series, size_t *n)
{
	const struct err *e = q->begin(q->arg, n_series);

	for (size_t i = 0; i < n_series && e == NULL; i++) {
		bool has = false;

		if ((e = gone_check()) != NULL)
			break;
		if (q->max_series && *n >= q->max_series)
			e = err_field(ERR_REQUEST, 413, "query",
			    "more than %zu series match", q->max_series);
		else if (*n * t->n > QUERY_POINTS)
			e = err_field(ERR_REQUEST, 413, "step",
			    "more than %d points in all", QUERY_POINTS);
		else
			e = q->one(q->arg, t, series[i], *n, &has);
		*n += has;
	}
	return e;
}

static const struct err *
steps_try(struct store *s, const struct steps_query *q, size_t *n)
{
	uint32_t *series = NULL;
	struct steps t;
	const struct err *e = steps_init(&t, s, q->from_ns, q->until_ns,
	    q->step_ns);
	size_t n_series = 0;

	*n = 0;
	if (e == NULL)
		e = steps_plan(&t);
	if (e == NULL)
		e = reader_match(s, q->selector, q->kinds, &series, &n_series);
	if (e == NULL)
		e = steps_all(&t, q, series, n_series, n);
	free(series);
	steps_fini(&t);
	return e;
}

const struct err *
steps_query(struct store *s, const struct steps_query *q, size_t *n)
{
	for (int i = 0; i < QUERY_TRIES; i++) {
		uint64_t breaks = s->breaks;
		const struct err *e = steps_try(s, q, n);

		if (e == NULL && s->breaks == breaks)
			return NULL;
		q->drop(q->arg, *n);
		*n = 0;
		if (e != NULL && (e->code != ENOENT ||
		        (e = store_refresh(s)) != NULL))
			return e;
	}
	return err_new(ERR_LIMIT, 503, "the store changes too fast to read");
}

bool
store_kept_steps(const struct store *s, int64_t *from_ns, int64_t *until_ns,
    int64_t *step_ns)
{
	int64_t grain = (int64_t)seg_slots(FORMAT_SPAN_LEVEL) *
	    s->manifest.slot_ns, step = *step_ns;
	bool moves = store_kept_range(s, from_ns, until_ns);

	/* before fine_from there are whole spans */
	if (reader_slot(s, *from_ns) < s->manifest.fine_from &&
	    step % grain != 0)
		*step_ns += grain - step % grain;
	return moves || *step_ns != step;
}
