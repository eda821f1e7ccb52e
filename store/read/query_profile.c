/*
 * The exact sum of profiles over a range.
 *
 * Counts of one series are added first and cut where the range cuts a slot,
 * then become units.  The unit, the kind and the period of an answer are
 * those of the series that were observed in the range, whatever else lies in
 * the files that it is read from.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/file/segtree.h"
#include "store/model/brief.h"
#include "store/model/cut.h"
#include "store/model/mean.h"
#include "store/model/seen.h"
#include "store/model/types.h"
#include "store/model/unit.h"
#include "store/read/made.h"
#include "store/read/reader.h"

#define STEP_BRIEF 3

/* A part of a slot: [a, b) of its length, in ns. */
struct cut {
	uint64_t slot;
	int64_t a, b;
};

struct query {
	struct store *s;
	const struct profile_query *q;
	const struct profile_limit *limit;
	const char *function; /* that is asked for, in place of a tree; or */
	struct function_sum *has; /* NULL */
	struct profile *out;
	uint32_t *series; /* that match */
	size_t n_series;
	/* of the whole slots: step 0; of cuts: 1, 2; of what was seen in
	 * part: STEP_BRIEF and so on, once more */
	struct plan plan;
	const struct brief *brief;
	struct cut cuts[2];
	size_t n_cuts;
	uint64_t from, until; /* whole slots */
	struct node_values *sum, *one, *slot; /* the store's scratch */
	uint8_t *accepts; /* label set -> 0 unknown, 1 no, 2 yes */
	uint64_t observations; /* of the present series */
	uint64_t coarse;       /* of them, of slots that nobody tells apart */
	struct seen seen;      /* of all */
	struct made made;      /* when nobody stores what is asked for, */
	int part;              /* which part of it the series is, or 0 */
	uint64_t denominator;  /* of a stock's sum */
	enum {
		SAMPLES_NONE,    /* nothing is summed */
		SAMPLES_PERIOD,  /* all are of the answer's period */
		SAMPLES_UNKNOWN, /* nobody has said how many */
		SAMPLES_MIXED    /* they are counted one by one */
	} samples;
};

/* Slots that are wholly inside, and the ones that the range cuts. */
static void
query_split_range(struct query *q)
{
	int64_t length = q->s->manifest.slot_ns;
	int64_t from = q->out->from_ns, until = q->out->until_ns;
	int64_t first = from / length, last = until / length;

	q->from = (uint64_t)first;
	q->until = (uint64_t)last;
	if (first == last && from < until) {
		q->cuts[q->n_cuts++] = (struct cut){(uint64_t)first,
		    from % length, until % length};
		return;
	}
	if (from % length != 0) {
		q->cuts[q->n_cuts++] = (struct cut){(uint64_t)first,
		    from % length, length};
		q->from++;
	}
	if (until % length != 0)
		q->cuts[q->n_cuts++] = (struct cut){(uint64_t)last, 0,
		    until % length};
}

/* Blocks beyond what is stored need not be looked for. */
static void
query_clip(struct query *q)
{
	uint64_t from, until;

	reader_bounds(q->s, &from, &until);
	if (q->from < from)
		q->from = from;
	if (q->until > until)
		q->until = until;
	if (q->until < q->from)
		q->until = q->from;
}

static const struct err *
query_plan(struct query *q)
{
	const struct err *e;

	query_split_range(q);
	q->plan.selector = q->q->selector;
	q->plan.kinds = READER_PROFILES;
	missing_gaps(q->s, reader_slot(q->s, q->out->from_ns),
	    reader_slot(q->s, q->out->until_ns + q->s->manifest.slot_ns - 1));
	query_clip(q);
	e = plan_add(&q->plan, q->s, q->from, q->until, 0);
	for (size_t i = 0; i < q->n_cuts && e == NULL; i++)
		e = plan_add(&q->plan, q->s, q->cuts[i].slot,
		    q->cuts[i].slot + 1, (uint32_t)i + 1);
	for (size_t i = 0; i < q->brief->n_slots && e == NULL; i++)
		e = plan_add(&q->plan, q->s, q->brief->slots[i],
		    q->brief->slots[i] + 1, STEP_BRIEF + (uint32_t)i);
	for (size_t i = 0; i < q->plan.n && e == NULL; i++)
		e = reader_need(q->s, q->plan.pieces[i].file);
	return e;
}

/* Does the selector take stacks of this label set? */
static bool
query_accepts(struct query *q, const struct series_desc *d, uint32_t set)
{
	struct label labels[BATCH_MAX_LABELS];
	size_t n;

	if (q->accepts[set] == 0) {
		n = symtab_labels(&q->s->syms, set, labels, BATCH_MAX_LABELS);
		q->accepts[set] = selector_match_stack(q->q->selector, d,
		                      labels, n)
		    ? 2
		    : 1;
	}
	return q->accepts[set] == 2;
}

/* Takes out what the selector's label matchers refuse. */
static void
query_filter(struct query *q, const struct series_desc *d,
    struct node_values *v)
{
	for (size_t i = 0; i < v->n_touched; i++) {
		uint32_t node = v->touched[i];

		if (!query_accepts(q, d, q->s->scratch.sets[node]))
			v->values[node] = 0;
	}
}

/* Which slots of a piece have data: its block, whose observations they are,
 * knows how many at most. */
static const struct err *
query_see(struct query *q, const struct plan_piece *p, uint32_t number,
    uint64_t observations)
{
	struct sealed *file = p->file->sealed;
	uint64_t until = p->start + seg_slots(p->level);
	const struct err *e = NULL;
	const struct block *b;

	if (q->seen.bits == NULL || file->meta.base > 0) {
		q->coarse += observations < until - p->start
		    ? observations : until - p->start;
		return NULL;
	}
	if (seen_all(&q->seen, p->start, until))
		return NULL;
	for (uint64_t slot = p->start; slot < until; slot = b->start + 1) {
		e = sealed_seek(file, number, 0, slot, &b);
		if (e != NULL || b == NULL || b->start >= until)
			break;
		seen_slot(&q->seen, b->start);
	}
	return e;
}

static const struct err *
query_add_block(struct query *q, struct reader_file *f,
    const struct block *b, struct node_values *into)
{
	struct entry_reader r = {b->entries, 0};
	uint32_t key, node;
	int128 value;

	q->out->blocks++;
	while (entry_next(&r, &key, &value)) {
		if (key >= f->sealed->n_stacks) {
			r.c.bad = true;
			break;
		}
		node = f->stack_nodes[key];
		if (node == INTERN_NONE)
			return reader_unnamed(f);
		node_values_add(into, node, value);
	}
	return r.c.bad ? reader_failed(q->s, f, err_new(ERR_FORMAT, 0,
	    "a block is malformed")) : NULL;
}

static const struct err *
query_add_piece(struct query *q, const struct plan_piece *p, uint32_t series,
    struct node_values *into)
{
	uint32_t number = reader_series(p->file, series);
	uint64_t at = p->start, observations = 0;
	const struct err *e = NULL;
	const struct block *b;
	bool any = false;

	if (number == INTERN_NONE || p->file->sealed == NULL)
		return NULL;
	while (e == NULL) {
		e = sealed_part(p->file->sealed, number, p->level, p->start,
		    &at, &b);
		if (e != NULL)
			return reader_failed(q->s, p->file, e);
		if (b == NULL)
			break;
		any = true;
		observations += b->count;
		e = query_add_block(q, p->file, b, into);
	}
	q->observations += observations;
	if (e != NULL || !any)
		return e;
	e = query_see(q, p, number, observations);
	return e == NULL ? NULL : reader_failed(q->s, p->file, e);
}

static const struct err *
query_add_journals(struct query *q, uint32_t series, uint64_t from,
    uint64_t until, struct node_values *into)
{
	const struct err *e = NULL;
	struct open_walk w;
	struct block b;
	int64_t value;
	uint32_t node;

	for (uint32_t j = 0; j < q->s->n_journals && e == NULL; j++) {
		openspan_walk(&w, &q->s->journals[j]->span, series, from,
		    until);
		while (e == NULL && openspan_next(&w, &b)) {
			q->observations += b.count;
			q->coarse += q->seen.bits == NULL ? b.count : 0;
			seen_slot(&q->seen, b.start);
			q->out->blocks++;
			e = openspan_entries(&w);
			while (e == NULL && openspan_entry(&w, &node, &value))
				node_values_add(into, node, value);
		}
	}
	return e;
}

static void
query_add_cut(struct query *q, uint32_t series, const struct cut *c)
{
	const struct symtab *t = &q->s->syms;
	int64_t length = q->s->manifest.slot_ns;
	uint64_t h = symtab_series_hash(t, series);

	for (size_t i = 0; i < q->slot->n_touched; i++) {
		uint32_t node = q->slot->touched[i];
		int128 v = q->slot->values[node];
		uint64_t hash = hash64_u64(hash64_u64(h, t->hashes[node]),
		    c->slot);

		v = cut_at(v, c->b, length, hash) -
		    cut_at(v, c->a, length, hash);
		if (v != 0)
			node_values_add(q->one, node, v);
	}
	node_values_clear(q->slot);
}

/* What a slot of a stock has, once more: into q->slot, and of how many
 * observations that is into q->observations. */
static const struct err *
query_again(struct query *q, uint32_t series, size_t slot)
{
	uint64_t at = q->brief->slots[slot];
	const struct err *e = NULL;

	q->observations = 0;
	for (size_t i = 0; i < q->plan.n && e == NULL; i++) {
		if (q->plan.pieces[i].step == STEP_BRIEF + slot)
			e = query_add_piece(q, &q->plan.pieces[i], series,
			    q->slot);
	}
	return e != NULL ? e : query_add_journals(q, series, at, at + 1,
	    q->slot);
}

/* Has the slots of a stock that were seen in part weigh so much: then all
 * observations are of BRIEF_WHOLE. */
static const struct err *
query_weigh(struct query *q, const struct series_desc *d, uint32_t series)
{
	uint64_t all = q->observations, coarse = q->coarse, who = brief_who(d);
	const struct err *e = NULL;
	int128 factor = BRIEF_WHOLE;

	for (size_t k = 0; k < q->brief->n && e == NULL; k++) {
		const struct brief_one *b = &q->brief->all[k];
		int64_t less;

		if (d->kind != SERIES_STOCK || b->who != who)
			continue;
		e = query_again(q, series, b->slot);
		if (e != NULL || q->observations == 0)
			continue;
		for (size_t i = 0; i < q->one->n_touched && factor > 1; i++)
			q->one->values[q->one->touched[i]] *= factor;
		all *= (uint64_t)factor;
		factor = 1;
		less = BRIEF_WHOLE - brief_weight(q->brief, b,
		    q->observations);
		all -= q->observations * (uint64_t)less;
		for (size_t i = 0; i < q->slot->n_touched; i++) {
			uint32_t node = q->slot->touched[i];

			node_values_add(q->one, node,
			    -q->slot->values[node] * less);
		}
		node_values_clear(q->slot);
	}
	q->observations = all;
	q->coarse = coarse;
	return e;
}

/* Everything of one series into q->one.  What a stock has at one time is no
 * less for being looked at over a part of the slot. */
static const struct err *
query_series(struct query *q, const struct series_desc *d, uint32_t series)
{
	const struct err *e = NULL;

	q->observations = q->coarse = 0;
	for (size_t i = 0; i < q->plan.n && e == NULL; i++) {
		e = gone_check();
		if (e == NULL && q->plan.pieces[i].step == 0)
			e = query_add_piece(q, &q->plan.pieces[i], series,
			    q->one);
	}
	if (e == NULL)
		e = query_add_journals(q, series, q->from, q->until, q->one);
	for (size_t c = 0; c < q->n_cuts && e == NULL; c++) {
		struct cut cut = q->cuts[c];

		if (d->kind == SERIES_STOCK)
			cut = (struct cut){cut.slot, 0,
			    q->s->manifest.slot_ns};
		for (size_t i = 0; i < q->plan.n && e == NULL; i++) {
			if (q->plan.pieces[i].step == c + 1)
				e = query_add_piece(q, &q->plan.pieces[i],
				    series, q->slot);
		}
		if (e == NULL)
			e = query_add_journals(q, series, cut.slot,
			    cut.slot + 1, q->slot);
		query_add_cut(q, series, &cut);
	}
	return e != NULL ? e : query_weigh(q, d, series);
}

/* ---- from series to the answer ---- */

static int64_t
query_sample_units(const struct series_desc *d)
{
	int64_t scale;

	unit_canonical(d->unit, &scale);
	return series_sample_units(d->kind, d->unit, d->period) * scale;
}

/* The first series says what is counted, even where it has nothing. */
static void
query_name(struct profile *out, const struct series_desc *d)
{
	out->kind = d->kind;
	out->period = query_sample_units(d);
	snprintf(out->unit, sizeof(out->unit), "%s",
	    unit_of_type(d->name, d->unit, NULL));
}

/* An observed series: one unit and kind for the answer, or an error. */
static const struct err *
query_observed(struct query *q, const struct series_desc *d)
{
	struct profile *out = q->out;
	const struct err *e;

	if (out->series++ == 0)
		query_name(out, d);
	if (q->coarse > 0 &&
	    (e = seen_coarse(&q->seen, d, q->coarse)) != NULL)
		return e;
	if (d->kind == out->kind && unit_same(d->unit, out->unit))
		return NULL;
	return err_field(ERR_REQUEST, 422, "query",
	    SERIES_MIXED, out->unit,
	    series_kind_name(out->kind), unit_of_type(d->name, d->unit, NULL),
	    series_kind_name(d->kind));
}

/* So far all samples were of one period, or of none that is known: counts
 * them one by one. */
static const struct err *
query_mix_samples(struct query *q)
{
	const struct err *e = scratch_samples(q->s);
	int64_t period = q->out->period;

	for (size_t i = 0; i < q->sum->n_touched && e == NULL; i++) {
		uint32_t node = q->sum->touched[i];
		int128 v = q->sum->values[node];

		if (period > 0)
			node_values_add(&q->s->scratch.samples, node,
			    samples_of(v, period));
		else
			node_values_add(&q->s->scratch.unknown, node, v);
	}
	q->out->period = 0;
	q->samples = SAMPLES_MIXED;
	return e;
}

/* Counts of a series that are about to be added: are all of one period? */
static const struct err *
query_samples(struct query *q, const struct series_desc *d)
{
	int64_t units = query_sample_units(d);

	if (q->samples == SAMPLES_NONE && q->out->parts != NULL)
		return query_mix_samples(q);
	if (q->samples == SAMPLES_NONE) {
		q->samples = units > 0 ? SAMPLES_PERIOD : SAMPLES_UNKNOWN;
		q->out->period = units;
	}
	return q->samples != SAMPLES_MIXED && units != q->out->period
	    ? query_mix_samples(q) : NULL;
}

/* A node's samples beside its amount of `v` units.  What a later part does not
 * say how many samples it is of is not the first one's. */
static void
query_count(struct query *q, int64_t units, uint32_t node, int128 n, int128 v)
{
	if (n == 0 || q->samples != SAMPLES_MIXED)
		return;
	if (units > 0)
		node_values_add(&q->s->scratch.samples, node, n);
	else if (q->part <= 1)
		node_values_add(&q->s->scratch.unknown, node, v);
}

/* Brings what was added so far to a denominator for this series' too. */
static void
query_denominate(struct query *q)
{
	uint64_t all = mean_denominator(q->denominator, q->observations);
	int128 factor = (int128)(all / q->denominator);

	for (size_t i = 0; i < q->sum->n_touched && factor > 1; i++)
		q->sum->values[q->sum->touched[i]] *= factor;
	q->denominator = all;
}

/* A part of what nobody stores: the answer is of that, and of a known part of
 * all slots. */
static void
query_part(struct query *q, const struct series_desc *d)
{
	struct profile *out = q->out;
	int part = q->made.type != NULL ? made_part(q->made.type, d->name) : 0;
	bool about;

	q->part = part;
	if (part == 0)
		return;
	out->parts = q->made.type->parts;
	if (part == 1)
		out->whole_slots = seen_slots(&q->seen, &about);
}

/* Adds a series to the answer, in units; a stock's mean in parts of one. */
static const struct err *
query_merge(struct query *q, const struct series_desc *d)
{
	const struct err *e = query_observed(q, d);
	bool stock = d->kind == SERIES_STOCK, any = false;
	int64_t scale;

	unit_canonical(d->unit, &scale);
	query_part(q, d);
	for (size_t i = 0; i < q->one->n_touched && !any; i++)
		any = q->one->values[q->one->touched[i]] != 0;
	if (e == NULL && any)
		e = query_samples(q, d);
	if (e == NULL && any && stock)
		query_denominate(q);
	for (size_t i = 0; i < q->one->n_touched && e == NULL; i++) {
		uint32_t node = q->one->touched[i];
		int128 n = q->one->values[node], v = n * d->period * scale;

		if (stock)
			v = mean_part(v, q->observations, q->denominator);
		if (v != 0)
			node_values_add(q->sum, node, v);
		query_count(q, query_sample_units(d), node, n, v);
	}
	node_values_clear(q->one);
	return e;
}

/* All slots that are touched. */
static void
query_slots(const struct query *q, uint64_t *from, uint64_t *until)
{
	*from = q->from;
	*until = q->until;
	for (size_t i = 0; i < q->n_cuts; i++) {
		if (q->cuts[i].slot < *from)
			*from = q->cuts[i].slot;
		if (q->cuts[i].slot >= *until)
			*until = q->cuts[i].slot + 1;
	}
}

/* May a series have data in the range?  Exact for journals, by file else. */
static bool
query_present(const struct query *q, uint32_t series)
{
	uint64_t from, until;

	for (size_t i = 0; i < q->plan.n; i++) {
		if (reader_series(q->plan.pieces[i].file, series) !=
		    INTERN_NONE)
			return true;
	}
	query_slots(q, &from, &until);
	return reader_newest_open(q->s, series, from, until) != 0;
}

static const struct err *
query_need_open(struct query *q)
{
	uint64_t from, until;

	query_slots(q, &from, &until);
	return reader_need_open(q->s, q->series, q->n_series, from, until);
}

static void
query_drop_absent(struct query *q)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n_series; i++) {
		if (query_present(q, q->series[i]))
			q->series[n++] = q->series[i];
	}
	q->n_series = n;
}

/* What the range cuts off of a slot is no time of the answer. */
static void
query_count_slots(struct query *q)
{
	int64_t length = q->s->manifest.slot_ns;
	struct profile *out = q->out;

	out->slots = seen_slots(&q->seen, &out->slots_about);
	out->seen_ns = (int64_t)out->slots * length;
	for (size_t i = 0; i < q->n_cuts; i++) {
		const struct cut *c = &q->cuts[i];

		if (seen_has(&q->seen, c->slot))
			out->seen_ns -= length - (c->b - c->a);
	}
	if (out->seen_ns > out->until_ns - out->from_ns)
		out->seen_ns = out->until_ns - out->from_ns;
}

static const struct err *
query_sum(struct query *q)
{
	struct label labels[BATCH_MAX_LABELS];
	const struct err *e = scratch_grow(q->s);
	uint64_t from, until;

	q->sum = &q->s->scratch.sum;
	q->one = &q->s->scratch.one;
	q->slot = &q->s->scratch.slot;
	q->accepts = malloc(q->s->syms.labels.n + 1);
	if (e == NULL && q->accepts == NULL)
		e = err_nomem();
	query_slots(q, &from, &until);
	if (e == NULL)
		e = seen_begin(&q->seen, from, until);
	if (e == NULL)
		e = made_begin(&q->made, q->s, q->q->selector, q->series,
		    q->n_series);
	for (size_t i = 0; i < q->n_series && e == NULL; i++) {
		struct series_desc d;

		symtab_desc(&q->s->syms, q->series[i], &d, labels,
		    BATCH_MAX_LABELS);
		memset(q->accepts, 0, q->s->syms.labels.n + 1);
		if (i == 0) /* should none be observed */
			query_name(q->out, &d);
		e = gone_check();
		if (!made_takes(&q->made, q->series[i]))
			continue;
		if (e == NULL)
			e = query_series(q, &d, q->series[i]);
		if (q->observations > 0)
			made_saw(&q->made, q->series[i]);
		query_filter(q, &d, q->one);
		if (e == NULL)
			e = selector_check(q->q->selector);
		if (e == NULL && q->observations > 0)
			e = query_merge(q, &d);
	}
	q->out->stacks = q->sum->n_touched;
	if (e == NULL)
		query_count_slots(q);
	if (q->out->slots == 0)
		q->out->period = 0; /* no data is no count of samples */
	return e;
}

/* The mean of all is rounded as a whole, so nothing of it can be cut. */
static const struct err *
query_tree(struct query *q)
{
	const struct profile_limit whole = {0, 0};
	bool stock = q->out->kind == SERIES_STOCK;
	const struct err *e;

	if (q->function != NULL) {
		profile_function(q->s, q->sum, q->function, q->has);
		return NULL;
	}
	e = profile_tree(q->s, q->sum, q->q,
	    stock ? &whole : q->limit, q->samples == SAMPLES_MIXED, q->out);

	if (e == NULL && stock)
		profile_finish_means(q->out, q->denominator);
	return e;
}

static const struct err *
query_run(struct query *q)
{
	const struct err *e = query_plan(q);

	if (e == NULL)
		e = reader_match(q->s, q->q->selector, READER_PROFILES,
		    &q->series, &q->n_series);
	if (e == NULL) {
		query_drop_absent(q);
		e = reader_need_names(q->s, &q->plan, q->series, q->n_series);
	}
	if (e == NULL)
		e = query_need_open(q);
	if (e == NULL)
		e = query_sum(q);
	if (e == NULL)
		e = query_tree(q);
	seen_fini(&q->seen);
	made_fini(&q->made);
	reader_rest_open(q->s);
	free(q->series);
	free(q->accepts);
	plan_fini(&q->plan);
	node_values_clear(&q->s->scratch.sum);
	node_values_clear(&q->s->scratch.one);
	node_values_clear(&q->s->scratch.slot);
	node_values_clear(&q->s->scratch.samples);
	node_values_clear(&q->s->scratch.unknown);
	return e;
}

/* Which slots of the range were seen in part. */
static const struct err *
query_brief(struct query *q, struct store *s, struct brief *b)
{
	int64_t from_ns = q->q->from_ns < 0 ? 0 : q->q->from_ns;

	q->brief = b;
	return facts_brief(s, b, q->q->selector, reader_slot(s, from_ns),
	    reader_slot(s, q->q->until_ns + s->manifest.slot_ns - 1));
}

static const struct err *
query_try(struct store *s, const struct query *asked, struct profile **out)
{
	const struct err *e = NULL;
	struct brief brief;

	for (int i = 0; i < QUERY_TRIES; i++) {
		struct query q = *asked;
		uint64_t breaks;

		if ((e = query_brief(&q, s, &brief)) != NULL)
			return e;
		breaks = s->breaks;
		*out = q.out = calloc(1, sizeof(*q.out));
		if (q.out == NULL)
			return err_nomem();
		q.out->from_ns = q.q->from_ns < 0 ? 0 : q.q->from_ns;
		q.out->until_ns = q.q->until_ns;
		store_kept_range(s, &q.out->from_ns, &q.out->until_ns);
		if (q.out->until_ns < q.out->from_ns)
			q.out->until_ns = q.out->from_ns;
		e = query_run(&q);
		if (e == NULL && s->breaks == breaks)
			return NULL;
		profile_free(q.out);
		*out = NULL;
		if (e == NULL)
			continue; /* without the file that is broken */
		if (e->code != ENOENT || (e = store_refresh(s)) != NULL)
			return e;
	}
	return err_new(ERR_LIMIT, 503, "the store changes too fast to read");
}

const struct err *
store_query_profile(struct store *s, const struct profile_query *query,
    struct profile **out)
{
	return store_query_profile_largest(s, query,
	    &(struct profile_limit){0, 0}, out);
}

const struct err *
store_query_profile_largest(struct store *s,
    const struct profile_query *query, const struct profile_limit *limit,
    struct profile **out)
{
	const struct query q = {.s = s, .q = query, .limit = limit,
	    .denominator = 1};

	return query_try(s, &q, out);
}

const struct err *
store_query_function(struct store *s, const struct profile_query *query,
    const char *name, struct function_sum *out)
{
	const struct query q = {.s = s, .q = query, .function = name,
	    .has = out, .denominator = 1};
	struct profile *p = NULL;
	const struct err *e;

	*out = (struct function_sum){0};
	e = query_try(s, &q, &p);
	if (e == NULL && p->kind == SERIES_STOCK)
		e = err_field(ERR_REQUEST, 422, "query",
		    "means are of trees, not of functions");
	if (e == NULL)
		out->slots = p->slots;
	profile_free(p);
	return e;
}

void
profile_free(struct profile *p)
{
	if (p == NULL)
		return;
	free(p->nodes);
	free(p->samples);
	free(p->cut);
	buf_fini(&p->strings);
	free(p);
}
