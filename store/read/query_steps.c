/*
 * A file may be merged away between the plan and its reading (ENOENT): then
 * what was begun is dropped, and the question is put to the new manifest.
 */
#include "store/read/query_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
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
	free(t->files);
}

/* Blocks of a file come in the order of time. */
static const struct err *
steps_need(struct steps *t, const struct plan_piece *p)
{
	if (p->file->asked == t->s->asks)
		return NULL;
	p->file->asked = t->s->asks;
	if (!array_room(&t->files, t->n_files + 1, &t->cap_files))
		return err_nomem();
	t->files[t->n_files++] = (struct steps_file){p->file, p->start};
	return reader_need(t->s, p->file);
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
	t->s->asks++;
	for (size_t i = 0; i < t->plan.n && e == NULL; i++)
		e = steps_need(t, &t->plan.pieces[i]);
	return e;
}

static bool
steps_may(const struct steps *t, uint32_t series)
{
	if (reader_newest_open(t->s, series, t->from, t->until) != 0)
		return true; /* as of most, and faster */
	for (size_t i = 0; i < t->n_files; i++) {
		const struct steps_file *f = &t->files[i];
		uint32_t number = reader_series(f->file, series);

		if (number != INTERN_NONE && f->file->sealed != NULL &&
		    reader_may_have(f->file, number, f->start))
			return true;
	}
	return false;
}

/* Leaves out series that are known to have nothing in the range: of those of
 * programs that ran for seconds that is true of most. */
static size_t
steps_sift(const struct steps *t, uint32_t *series, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (steps_may(t, series[i]))
			series[kept++] = series[i];
	return kept;
}

/* Who is given the blocks. */
struct steps_to {
	steps_fn *fn;
	void *arg;
};

/* The next block of a piece, if the series has one; *at: where to go on. */
static const struct err *
steps_block(const struct plan_piece *p, uint32_t number, uint64_t *at,
    const struct block **b)
{
	const struct err *e;
	uint64_t from = *at;

	*b = NULL;
	if (!reader_may_have(p->file, number, from))
		return NULL;
	e = sealed_part(p->file->sealed, number, p->level, p->start, at, b);
	if (e == NULL && *at == UINT64_MAX &&
	    !reader_ends_at(p->file, number, from))
		return err_nomem();
	return e;
}

/* ---- the newest of all ---- */

/* The newest block of a series in the file, where it is kept; NULL: it is
 * not. */
static const struct block *
newest_kept(const struct reader_file *f, uint32_t number)
{
	uint32_t i = map64_get(&f->newest.places, number);

	return i == INTERN_NONE ? NULL : &f->newest.blocks[i];
}

/* Slot by slot: the last one is the newest. */
static const struct err *
newest_find(const struct plan_piece *p, uint32_t number,
    struct block *found, bool *any)
{
	uint64_t at = p->start, end = at + seg_slots(p->level);
	const struct err *e = NULL;
	const struct block *b;

	while (e == NULL && at < end && reader_may_have(p->file, number, at)) {
		e = sealed_seek(p->file->sealed, number, 0, at, &b);
		if (e == NULL && b == NULL &&
		    !reader_ends_at(p->file, number, at))
			return err_nomem();
		if (e != NULL || b == NULL || b->start >= end)
			break;
		*found = *b;
		*any = true;
		at = b->start + 1;
	}
	return e;
}

/* Keeps what the file has nothing behind; where there is no memory for it, it
 * is read again. */
static void
newest_keep(const struct plan_piece *p, uint32_t number,
    const struct block *b)
{
	struct reader_newest *x = &p->file->newest;
	const struct manifest_file *m = &p->file->entry;

	if ((b->start + 1 < m->first + m->slots &&
	    reader_may_have(p->file, number, b->start + 1)) ||
	    !array_room(&x->blocks, (size_t)x->n + 1, &x->cap) ||
	    !map64_add(&x->places, number, x->n))
		return;
	x->blocks[x->n] = *b;
	x->blocks[x->n++].entries = cur_of(NULL, 0);
}

/* Need no other blocks of a piece be read? */
static bool
newest_is_enough(const struct plan_piece *p, const struct block *kept)
{
	return (p->level <= 1 && p->file->sealed->meta.base == 0) ||
	    (kept != NULL && kept->start < p->start + seg_slots(p->level));
}

/* The piece's block as far as its newest number goes. */
static const struct err *
steps_newest(struct steps *t, const struct plan_piece *p, uint32_t number,
    const struct block *kept, const struct block **b)
{
	const struct err *e;
	bool any = false;

	*b = NULL;
	if (kept != NULL && kept->start < p->start + seg_slots(p->level)) {
		*b = kept->start < p->start ? NULL : kept;
		return NULL;
	}
	e = newest_find(p, number, &t->found, &any);
	if (e != NULL || !any)
		return e;
	if (kept == NULL)
		newest_keep(p, number, &t->found);
	*b = &t->found;
	return NULL;
}

static const struct err *
steps_give(const struct steps *t, const struct plan_piece *p,
    const struct block *b, uint64_t slots, uint64_t *open,
    const struct steps_to *to)
{
	if (t->newest && b->count > 0 && b->start >= *open)
		*open = b->start + 1;
	return to->fn(to->arg, p->step, b, slots);
}

/* One piece for steps_each_file(); *open rises to where it has something. */
static const struct err *
steps_piece(struct steps *t, const struct plan_piece *p, uint32_t series,
    uint64_t *open, const struct steps_to *to)
{
	uint64_t at = p->start, slots = seg_slots(p->level);
	const struct block *b = NULL, *kept;
	const struct err *e = NULL;
	bool newest = t->newest && t->numbers;
	uint32_t number;

	if (p->file->sealed == NULL || p->start + slots < *open ||
	    (number = reader_series(p->file, series)) == INTERN_NONE)
		return NULL;
	kept = newest ? newest_kept(p->file, number) : NULL;
	if (newest && newest_is_enough(p, kept)) {
		e = steps_newest(t, p, number, kept, &b);
		if (e == NULL && b != NULL)
			e = steps_give(t, p, b, slots, open, to);
		return e == NULL ? NULL : reader_failed(t->s, p->file, e);
	}
	slots = sealed_part_slots(p->file->sealed, p->level);
	while (e == NULL) {
		e = steps_block(p, number, &at, &b);
		if (e != NULL || b == NULL)
			break;
		e = steps_give(t, p, b, slots, open, to);
	}
	return e == NULL ? NULL : reader_failed(t->s, p->file, e);
}

/* Blocks that end before slot `open` are not asked for.  Where the newest is
 * all that is wanted, spans are read from their end: late files may have
 * anything, and come first as ever. */
static const struct err *
steps_each_file(struct steps *t, uint32_t series, uint64_t open,
    const struct steps_to *to)
{
	const struct plan_piece *p = t->plan.pieces;
	const struct err *e = NULL;

	for (size_t i = 0; i < t->plan.n && e == NULL; i++)
		if (!t->newest || p[i].file->entry.kind == MANIFEST_LATE)
			e = steps_piece(t, &p[i], series, &open, to);
	for (size_t i = t->newest ? t->plan.n : 0; i-- > 0 && e == NULL;)
		if (p[i].file->entry.kind != MANIFEST_LATE)
			e = steps_piece(t, &p[i], series, &open, to);
	return e;
}

const struct err *
steps_each(struct steps *t, uint32_t series, steps_fn *fn, void *arg)
{
	uint64_t open = t->newest ? reader_newest_open(t->s, series, t->from,
	    t->until) : 0;
	const struct steps_to to = {fn, arg};
	const struct err *e = steps_each_file(t, series, open, &to);
	struct open_walk w;
	struct block b;

	for (uint32_t j = 0; j < t->s->n_journals && e == NULL; j++) {
		openspan_walk(&w, &t->s->journals[j]->span, series,
		    open > 0 ? open - 1 : t->from, t->until);
		while (e == NULL && openspan_next(&w, &b))
			e = fn(arg, (size_t)((b.start - t->from) / t->step),
			    &b, 1);
	}
	return e;
}

static const char *
steps_keep(char **to, const char *s)
{
	const char *kept = *to;

	*to = stpcpy(*to, s) + 1;
	return kept;
}

const struct err *
steps_describe(struct series_desc *out, struct label **labels,
    const struct series_desc *d)
{
	size_t need = strlen(d->name) + strlen(d->unit) + 2;
	char *to;

	for (size_t i = 0; i < d->n_labels; i++)
		need += sizeof(**labels) + strlen(d->labels[i].name) +
		    strlen(d->labels[i].value) + 2;
	if ((*labels = malloc(need)) == NULL)
		return err_nomem();
	to = (char *)(*labels + d->n_labels);
	*out = *d;
	out->name = steps_keep(&to, d->name);
	out->unit = steps_keep(&to, d->unit);
	out->labels = *labels;
	for (size_t i = 0; i < d->n_labels; i++) {
		(*labels)[i].name = steps_keep(&to, d->labels[i].name);
		(*labels)[i].value = steps_keep(&to, d->labels[i].value);
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
	t.newest = q->newest;
	t.numbers = q->kinds == READER_METRICS;
	t.plan.selector = q->selector;
	t.plan.kinds = q->kinds;
	if (e == NULL)
		e = steps_plan(&t);
	if (e == NULL)
		e = reader_match_range(s, q->selector, q->kinds,
		    &(struct reader_range){t.from, t.until}, &series,
		    &n_series);
	if (e == NULL) {
		n_series = steps_sift(&t, series, n_series);
		e = steps_all(&t, q, series, n_series, n);
	}
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
