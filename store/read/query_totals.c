/*
 * Sums of profiles over steps: timelines, and which label sets there are.
 *
 * One series after the other: its blocks are added to a row of cells for
 * each group, then the rows go to the answer, a stock's divided by its
 * observations.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/model/mean.h"
#include "store/model/types.h"
#include "store/model/unit.h"
#include "store/read/totals_private.h"

static const struct err *
totals_prepare(struct totalling *t)
{
	const struct symtab *y = &t->s->syms;

	t->sets = calloc(t->plain ? 1 : y->n_nodes + 1, sizeof(*t->sets));
	t->groups = calloc(y->labels.n + 1, sizeof(*t->groups));
	t->observed = calloc(t->out->n_steps + 1, sizeof(*t->observed));
	t->weights = calloc(t->out->n_steps + 1, sizeof(*t->weights));
	if (t->sets == NULL || t->groups == NULL || t->observed == NULL ||
	    t->weights == NULL)
		return err_nomem();
	/* parents have smaller numbers */
	for (uint32_t i = 1; i < y->n_nodes && !t->plain; i++)
		t->sets[i] = y->nodes[i].parent == 0
		    ? y->nodes[i].edge : t->sets[y->nodes[i].parent];
	return NULL;
}

static const struct err *
totals_plan(struct totalling *t)
{
	const struct err *e = NULL;
	uint64_t from, until;

	t->plan.selector = t->q->selector;
	t->plan.kinds = READER_PROFILES;
	missing_gaps(t->s, t->from, t->until);
	reader_bounds(t->s, &from, &until);
	for (size_t i = 0; i < t->out->n_steps && e == NULL; i++) {
		uint64_t a = t->from + i * t->step, b = a + t->step;

		if (b > t->until)
			b = t->until;
		a = a < from ? from : a;
		b = b > until ? until : b;
		if (a < b)
			e = plan_add(&t->plan, t->s, a, b, (uint32_t)i);
	}
	for (size_t i = 0; i < t->brief.n_slots && e == NULL; i++)
		e = plan_add(&t->plan, t->s, t->brief.slots[i],
		    t->brief.slots[i] + 1, (uint32_t)(t->out->n_steps + i));
	for (size_t i = 0; i < t->plan.n && e == NULL; i++)
		e = reader_need(t->s, t->plan.pieces[i].file);
	return e;
}

/* ---- adding ---- */

/* Entries one after the other whose stacks have one label set: most blocks
 * are a few of them, and a group is looked for once for each. */
struct totals_run {
	uint32_t set; /* INTERN_NONE: none yet */
	int128 sum;
};

static const struct err *
totals_end_run(struct totalling *t, const struct totals_run *run, size_t step)
{
	const struct err *e;
	uint32_t group;

	if (run->set == INTERN_NONE)
		return NULL;
	e = totals_group(t, run->set, &group);
	if (e != NULL || group == UINT32_MAX)
		return e;
	t->cells[group].sums[step] += run->sum;
	t->cells[group].used = true;
	return NULL;
}

/* Of a series whose stacks are all alike, whatever they are called. */
static void
totals_add_all(struct totals_run *run, struct entry_reader *r, uint32_t n)
{
	int128 value;
	uint32_t key;

	while (entry_next(r, &key, &value)) {
		if (key >= n) {
			r->c.bad = true;
			return;
		}
		run->sum += value;
		run->set = 0;
	}
}

static const struct err *
totals_add_block(struct totalling *t, struct reader_file *f,
    const struct block *b, size_t step)
{
	const uint32_t *nodes = f->stack_nodes, n = f->sealed->n_stacks;
	struct entry_reader r = {b->entries, 0};
	struct totals_run run = {INTERN_NONE, 0};
	const struct err *e = NULL;
	uint32_t key, set;
	int128 value;

	if (t->plain)
		totals_add_all(&run, &r, n);
	while (e == NULL && !t->plain && entry_next(&r, &key, &value)) {
		if (key >= n) {
			r.c.bad = true;
			break;
		}
		if (nodes[key] == INTERN_NONE)
			return reader_unnamed(f);
		if ((set = t->sets[nodes[key]]) != run.set) {
			e = totals_end_run(t, &run, step);
			run = (struct totals_run){set, 0};
		}
		run.sum += value;
	}
	if (e == NULL)
		e = totals_end_run(t, &run, step);
	if (e == NULL && r.c.bad)
		e = reader_failed(t->s, f, err_new(ERR_FORMAT, 0,
		    "a block is malformed"));
	return e;
}

static const struct err *
totals_add_piece(struct totalling *t, const struct plan_piece *p, size_t step)
{
	uint32_t number = reader_series(p->file, t->now);
	const struct err *e = NULL;
	const struct block *b;
	uint64_t at = p->start;

	while (number != INTERN_NONE && p->file->sealed != NULL && e == NULL) {
		e = sealed_part(p->file->sealed, number, p->level, p->start,
		    &at, &b);
		if (e != NULL)
			return reader_failed(t->s, p->file, e);
		if (b == NULL)
			break;
		t->observed[step] += b->count;
		e = totals_add_block(t, p->file, b, step);
	}
	return e;
}

static const struct err *
totals_add_open(struct totalling *t, struct open_walk *w, size_t step)
{
	struct totals_run run = {INTERN_NONE, 0};
	const struct err *e = openspan_entries(w);
	int64_t value;
	uint32_t node;

	while (e == NULL && openspan_entry(w, &node, &value)) {
		uint32_t set = t->plain ? 0 : t->sets[node];

		if (set != run.set) {
			e = totals_end_run(t, &run, step);
			run = (struct totals_run){set, 0};
		}
		run.sum += value;
	}
	return e == NULL ? totals_end_run(t, &run, step) : e;
}

static const struct err *
totals_add_journals(struct totalling *t)
{
	const struct err *e = NULL;
	struct open_walk w;
	struct block b;

	for (uint32_t j = 0; j < t->s->n_journals && e == NULL; j++) {
		openspan_walk(&w, &t->s->journals[j]->span, t->now, t->from,
		    t->until);
		while (e == NULL && openspan_next(&w, &b)) {
			size_t step = (size_t)((b.start - t->from) / t->step);

			t->observed[step] += b.count;
			e = totals_add_open(t, &w, step);
		}
	}
	return e;
}

/* What a slot of a stock has, once more, into the column behind the steps. */
static const struct err *
totals_again(struct totalling *t, size_t slot)
{
	uint64_t at = t->brief.slots[slot];
	size_t behind = t->out->n_steps;
	const struct err *e = NULL;
	struct open_walk w;
	struct block b;

	for (size_t i = 0; i < t->plan.n && e == NULL; i++)
		if (t->plan.pieces[i].step == behind + slot)
			e = totals_add_piece(t, &t->plan.pieces[i], behind);
	for (uint32_t j = 0; j < t->s->n_journals && e == NULL; j++) {
		openspan_walk(&w, &t->s->journals[j]->span, t->now, at, at + 1);
		while (e == NULL && openspan_next(&w, &b)) {
			t->observed[behind] += b.count;
			e = totals_add_open(t, &w, behind);
		}
	}
	return e;
}

/* Brings a step's sums to weights, of which these of the slot are less. */
static void
totals_lighten(struct totalling *t, size_t step, int64_t less)
{
	size_t behind = t->out->n_steps;
	int128 factor = t->weights[step] == 0 ? BRIEF_WHOLE : 1;

	if (t->weights[step] == 0)
		t->weights[step] = t->observed[step] * BRIEF_WHOLE;
	t->weights[step] -= t->observed[behind] * (uint64_t)less;
	for (size_t g = 0; g < t->out->n_groups; g++) {
		int128 *sums = t->cells[g].sums;

		sums[step] = sums[step] * factor - sums[behind] * less;
	}
}

/* Slots of a stock that were seen in part weigh so much. */
static const struct err *
totals_weigh(struct totalling *t)
{
	size_t behind = t->out->n_steps;
	uint64_t who = brief_who(&t->desc);
	const struct err *e = NULL;

	for (size_t k = 0; k < t->brief.n && e == NULL; k++) {
		const struct brief_one *b = &t->brief.all[k];
		uint64_t slot = t->brief.slots[b->slot];

		if (t->desc.kind != SERIES_STOCK || b->who != who)
			continue;
		e = totals_again(t, b->slot);
		if (e == NULL && t->observed[behind] > 0)
			totals_lighten(t, (size_t)((slot - t->from) / t->step),
			    BRIEF_WHOLE - brief_weight(&t->brief, b,
			    t->observed[behind]));
		t->observed[behind] = 0;
		for (size_t g = 0; g < t->out->n_groups; g++)
			t->cells[g].sums[behind] = 0;
	}
	return e;
}

/* Adds the mean of a stock over a step, as query_merge.c does: it is
 * rounded when all are there. */
static void
totals_add_mean(struct totals_step *step, uint64_t *denominator, int128 v,
    uint64_t observed)
{
	uint64_t old = *denominator > 0 ? *denominator : 1;

	*denominator = mean_denominator(old, observed);
	step->sum = step->sum * (int128)(*denominator / old) +
	    mean_part(v, observed, *denominator);
}

static void
totals_round(struct totalling *t)
{
	for (size_t g = 0; g < t->out->n_groups; g++) {
		const uint64_t *denominators = t->cells[g].denominators;

		for (size_t i = 0; i < t->out->n_steps; i++) {
			struct totals_step *s = &t->out->groups[g].steps[i];

			if (denominators[i] > 1)
				s->sum = mean_round(s->sum, denominators[i]);
		}
	}
}

/* The present series' cells go to the answer.  Where nothing has a group
 * yet, an observed one without stacks makes none. */
static void
totals_flush(struct totalling *t)
{
	int64_t scale;

	unit_canonical(t->desc.unit, &scale);
	for (size_t g = 0; g < t->out->n_groups; g++) {
		struct totals_group *group = &t->out->groups[g];
		int128 *sums = t->cells[g].sums;

		/* one of several has data only where it has stacks */
		bool several = t->q->sets || t->q->n_split > 0;

		if (!t->cells[g].used && several)
			continue;
		for (size_t i = 0; i < t->out->n_steps; i++) {
			int128 v = sums[i] * t->desc.period * scale;

			sums[i] = 0;
			if (t->observed[i] == 0 || (several && v == 0) ||
			    !made_covers(&t->made, t->now, i))
				continue;
			if (t->desc.kind == SERIES_STOCK)
				totals_add_mean(&group->steps[i],
				    &t->cells[g].denominators[i], v,
				    t->weights[i] > 0 ? t->weights[i]
				    : t->observed[i]);
			else
				group->steps[i].sum += v;
			if (t->observed[i] > group->steps[i].count)
				group->steps[i].count = t->observed[i];
		}
		t->cells[g].used = false;
	}
}

/* Sums over series are of one unit; sets stand each for itself. */
static const struct err *
totals_unit(struct totalling *t)
{
	struct totals *out = t->out;
	const struct err *e;
	size_t i = 0;

	while (i < out->n_steps && t->observed[i] == 0)
		i++;
	if (i == out->n_steps)
		return NULL;
	if ((e = made_saw_steps(&t->made, t->now, t->observed,
	    out->n_steps)) != NULL)
		return e;
	if (out->unit[0] == '\0') {
		snprintf(out->unit, sizeof(out->unit), "%s",
		    unit_of_type(t->desc.name, t->desc.unit, NULL));
		out->kind = t->desc.kind;
	}
	if (t->q->sets || (out->kind == t->desc.kind &&
	    unit_same(out->unit, t->desc.unit)))
		return NULL;
	return err_field(ERR_REQUEST, 422, "query",
	    SERIES_MIXED, out->unit,
	    series_kind_name(out->kind), unit_of_type(t->desc.name,
	    t->desc.unit, NULL), series_kind_name(t->desc.kind));
}

static const struct err *
totals_series(struct totalling *t)
{
	const struct err *e = NULL;
	symtab_desc(&t->s->syms, t->now, &t->desc, t->labels,
	    BATCH_MAX_LABELS);
	if (t->made.type != NULL)
		t->desc.name = t->made.type->name;
	memset(t->groups, 0, (t->s->syms.labels.n + 1) * sizeof(*t->groups));
	memset(t->observed, 0, t->out->n_steps * sizeof(*t->observed));
	memset(t->weights, 0, t->out->n_steps * sizeof(*t->weights));
	for (size_t i = 0; i < t->plan.n && e == NULL; i++)
		if (t->plan.pieces[i].step < t->out->n_steps)
			e = totals_add_piece(t, &t->plan.pieces[i],
			    t->plan.pieces[i].step);
	if (e == NULL)
		e = totals_add_journals(t);
	if (e == NULL)
		e = totals_weigh(t);
	if (e == NULL)
		e = totals_unit(t);
	totals_flush(t);
	return e;
}

/* Offsets become addresses, now that the strings do not move any more. */
static void
totals_strings(struct totals *out)
{
	const char *base = (const char *)out->strings.data;

	for (size_t g = 0; g < out->n_groups; g++) {
		struct totals_group *group = &out->groups[g];

		for (size_t i = 0; i <= group->n_labels; i++) {
			struct label *l = &group->labels[i];

			l->name = base + (uintptr_t)l->name;
			l->value = base + (uintptr_t)l->value;
		}
		group->desc.name = base + (uintptr_t)group->desc.name;
		group->desc.unit = base + (uintptr_t)group->desc.unit;
		group->desc.labels = &group->labels[group->n_labels];
		group->desc.n_labels = 1;
	}
}

static const struct err *
totals_run(struct totalling *t)
{
	const struct err *e = totals_plan(t);

	if (e == NULL)
		e = reader_match(t->s, t->q->selector, READER_PROFILES,
		    &t->series, &t->n_series);
	if (e == NULL)
		e = made_begin(&t->made, t->s, t->q->selector, t->series,
		    t->n_series);
	if (e == NULL && !t->plain)
		e = reader_need_names(t->s, &t->plan, t->series,
		    t->n_series);
	if (e == NULL)
		e = (t->plain ? reader_read_open : reader_need_open)(t->s,
		    t->series, t->n_series, t->from, t->until);
	if (e == NULL)
		e = totals_prepare(t);
	for (size_t i = 0; i < t->n_series && e == NULL; i++) {
		t->now = t->series[i];
		e = gone_check();
		if (e == NULL && made_takes(&t->made, t->now))
			e = totals_series(t);
	}
	if (e == NULL && t->out->strings.failed)
		e = err_nomem();
	if (e == NULL) {
		totals_round(t);
		totals_strings(t->out);
	}
	for (size_t g = 0; g < t->out->n_groups; g++) {
		free(t->cells[g].sums);
		free(t->cells[g].denominators);
	}
	free(t->cells);
	free(t->series);
	free(t->sets);
	free(t->groups);
	free(t->observed);
	free(t->weights);
	made_fini(&t->made);
	intern_fini(&t->keys);
	plan_fini(&t->plan);
	reader_rest_open(t->s);
	return e;
}

static const struct err *
totals_begin(struct totalling *t, const struct totals_query *q)
{
	t->from = reader_slot(t->s, q->from_ns);
	t->until = reader_slot(t->s, q->until_ns);
	t->step = reader_slot(t->s, q->step_ns);
	t->keys.aligned = true;
	t->plain = !q->sets && q->n_split == 0 &&
	    !selector_asks_stacks(q->selector);
	t->out = calloc(1, sizeof(*t->out));
	if (t->out == NULL)
		return err_nomem();
	if (t->step == 0 || t->until < t->from)
		return err_new(ERR_REQUEST, 400, "no steps");
	if ((t->until - t->from) / t->step >= TOTALS_CELLS_MAX)
		return err_new(ERR_REQUEST, 413, "too many steps");
	t->out->n_steps = (size_t)((t->until - t->from + t->step - 1) /
	    t->step);
	return NULL;
}

const struct err *
store_query_totals(struct store *s, const struct totals_query *query,
    struct totals **out)
{
	const struct err *e = NULL;

	for (int i = 0; i < QUERY_TRIES; i++) {
		struct totalling t = {.s = s, .q = query};
		uint64_t breaks;

		e = facts_brief(s, &t.brief, query->selector,
		    reader_slot(s, query->from_ns),
		    reader_slot(s, query->until_ns));
		breaks = s->breaks;
		if (e == NULL)
			e = totals_begin(&t, query);
		if (e == NULL)
			e = totals_run(&t);
		*out = t.out;
		if (e == NULL && s->breaks == breaks)
			return NULL;
		totals_free(t.out);
		*out = NULL;
		if (e == NULL)
			continue;
		if (e->code != ENOENT || (e = store_refresh(s)) != NULL)
			return e;
	}
	return err_new(ERR_LIMIT, 503, "the store changes too fast to read");
}

void
totals_free(struct totals *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; i < t->n_groups; i++) {
		free(t->groups[i].labels);
		free(t->groups[i].steps);
	}
	free(t->groups);
	buf_fini(&t->strings);
	free(t);
}
