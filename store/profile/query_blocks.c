/*
 * What one series has in a range: the blocks of sealed files and journals that
 * cover it, counts by node.  Slots that the range cuts are added up apart and
 * then cut; those of a stock that were seen in part weigh less.
 */
#include <string.h>

#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/file/segtree.h"
#include "store/model/brief.h"
#include "store/model/cut.h"
#include "store/profile/query_private.h"

#define STEP_BRIEF 3

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

const struct err *
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

void
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

static const struct err *
query_add_cut(struct query *q, uint32_t series, const struct cut *c)
{
	const struct symtab *t = &q->s->syms;
	int64_t length = q->s->manifest.slot_ns;
	uint64_t h = symtab_series_hash(t, series);
	const struct err *e = q->slot->n_touched > 0
	    ? symtab_hash_nodes(&q->s->syms) : NULL;

	if (e != NULL)
		return e;

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
	return NULL;
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

const struct err *
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
		if (e == NULL)
			e = query_add_cut(q, series, &cut);
	}
	return e != NULL ? e : query_weigh(q, d, series);
}
