/*
 * Eight slots at a time, so that memory does not depend on the range; slots
 * that were merged to whole spans are told, not split.
 */
#include "store/read/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/batch/batch_private.h"
#include "store/read/reader.h"

#define EXPORT_SLOTS 8 /* of one batch */

struct export {
	struct store *s;
	const struct export_query *q;
	struct export_report *report;
	struct batch *b;
	uint32_t *nodes;      /* node of the reader -> of the batch; 0: none */
	uint32_t *series;     /* same for series, plus one */
	uint8_t *wanted;      /* series: 0 unknown, 1 no, 2 yes */
	uint64_t from, until; /* slots of this batch */
	enum fact_kind kind;  /* that export_fact() is given */
};

static bool
export_wants(struct export *x, uint32_t series)
{
	struct label labels[BATCH_MAX_LABELS];
	struct series_desc d;

	if (x->wanted[series] == 0) {
		symtab_desc(&x->s->syms, series, &d, labels,
		    BATCH_MAX_LABELS);
		x->wanted[series] = x->q->selector == NULL ||
		        selector_match_series(x->q->selector, &d)
		    ? 2
		    : 1;
	}
	return x->wanted[series] == 2;
}

static uint32_t
export_series(struct export *x, uint32_t series)
{
	struct label labels[BATCH_MAX_LABELS];
	struct series_desc d;

	if (x->series[series] == 0) {
		symtab_desc(&x->s->syms, series, &d, labels,
		    BATCH_MAX_LABELS);
		x->series[series] = batch_series(x->b, &d) + 1;
	}
	return x->series[series] - 1;
}

static uint32_t
export_edge(struct export *x, const struct sym_node *n)
{
	const struct symtab *t = &x->s->syms;
	struct label labels[BATCH_MAX_LABELS];
	const struct sym_frame *f;
	struct frame frame;

	if (n->parent == 0)
		return batch_labels(x->b, labels,
		    symtab_labels(t, n->edge, labels, BATCH_MAX_LABELS));
	f = symtab_frame(t, n->edge);
	frame = (struct frame){(enum frame_kind)f->kind,
	    intern_str(&t->strings, f->name),
	    intern_str(&t->strings, f->module),
	    intern_str(&t->strings, f->build_id), f->offset};
	return batch_frame(x->b, &frame);
}

/* Depth is bounded by BATCH_MAX_DEPTH. */
static uint32_t
export_node(struct export *x, uint32_t node)
{
	const struct sym_node *n = &x->s->syms.nodes[node];
	uint32_t parent;

	if (node == 0 || x->nodes[node] != 0)
		return x->nodes[node];
	parent = export_node(x, n->parent);
	x->nodes[node] = batch_node(x->b, parent, export_edge(x, n));
	return x->nodes[node];
}

/* Folds the numbers of a stored block into one of the batch. */
static struct batch_block *
export_numbers(struct export *x, uint32_t series, const struct block *b)
{
	struct batch_block *k = batch_block(x->b, export_series(x, series),
	    b->start);

	if (k == NULL)
		return NULL;
	if (k->count == 0 || b->min < k->min)
		k->min = b->min;
	if (k->count == 0 || b->max > k->max)
		k->max = b->max;
	if (k->count == 0 || b->last_ns >= k->last_ns) {
		k->last = b->last;
		k->last_ns = b->last_ns;
	}
	if (symtab_series(&x->s->syms, series)->kind == SERIES_COUNTER)
		k->increase += (int64_t)b->sum;
	else
		k->sum += b->sum;
	k->count += b->count;
	x->report->blocks++;
	return k;
}

static void
export_entry(struct export *x, uint32_t series, const struct batch_block *k,
    uint32_t key, int128 value)
{
	enum series_kind kind = symtab_series(&x->s->syms, series)->kind;

	if (value > INT64_MAX)
		x->b->failed = true;
	else
		batch_add(x->b, k,
		    series_is_profile(kind) ? export_node(x, key) : key,
		    (int64_t)value);
}

static const struct err *
export_file_series(struct export *x, struct reader_file *f, uint32_t number,
    uint32_t series)
{
	uint32_t key;
	enum series_kind kind = symtab_series(&x->s->syms, series)->kind;
	bool profile = series_is_profile(kind);
	const struct block *b;
	const struct err *e = sealed_seek(f->sealed, number, 0, x->from, &b);
	int128 value;

	while (e == NULL && b != NULL && b->start < x->until) {
		struct entry_reader r = {b->entries, 0};
		struct batch_block *k = export_numbers(x, series, b);

		while (k != NULL && series_has_entries(kind) &&
		    entry_next(&r, &key, &value)) {
			if (profile && (key >= f->sealed->n_stacks ||
			    f->stack_nodes[key] == INTERN_NONE))
				return err_new(ERR_FORMAT, 0,
				    "%s: a block is malformed",
				    f->entry.name);
			export_entry(x, series, k,
			    profile ? f->stack_nodes[key] : key, value);
		}
		e = sealed_seek(f->sealed, number, 0, b->start + 1, &b);
	}
	return e;
}

static const struct err *
export_file(struct export *x, struct reader_file *f)
{
	const struct err *e = NULL;

	if (f->sealed == NULL || f->sealed->meta.base > 0)
		return NULL;
	for (uint32_t i = 0; i < f->known.n && e == NULL; i++) {
		const struct reader_known *k = &f->known.list[i];

		if (export_wants(x, k->series))
			e = export_file_series(x, f, k->number, k->series);
	}
	return e != NULL ? e : selector_check(x->q->selector);
}

static const struct err *
export_open_series(struct export *x, struct openspan *o, uint32_t series)
{
	enum series_kind kind = symtab_series(&x->s->syms, series)->kind;
	const struct err *e = NULL;
	struct entry_reader r;
	struct open_walk w;
	struct block b;
	int64_t value;
	int128 wide;
	uint32_t key;

	openspan_walk(&w, o, series, x->from, x->until);
	while (e == NULL && openspan_next(&w, &b)) {
		struct batch_block *k = export_numbers(x, series, &b);

		if (k != NULL && series_is_profile(kind)) {
			e = openspan_entries(&w);
			while (e == NULL && openspan_entry(&w, &key, &value))
				export_entry(x, series, k, key, value);
		}
		r = (struct entry_reader){b.entries, 0};
		while (k != NULL && kind == SERIES_HISTOGRAM &&
		    entry_next(&r, &key, &wide))
			export_entry(x, series, k, key, wide);
	}
	return e;
}

static const struct err *
export_journal(struct export *x, struct openspan *o)
{
	const struct err *e = NULL;

	for (uint32_t i = 0; i < o->n_named && e == NULL; i++) {
		if (export_wants(x, o->symbols[i]))
			e = export_open_series(x, o, o->symbols[i]);
	}
	return e != NULL ? e : selector_check(x->q->selector);
}

static bool
export_fact(void *arg, int64_t time_ns, const char *subject,
    const void *data, size_t n)
{
	struct export *x = arg;

	batch_add_fact(x->b, time_ns, x->kind, subject, data, n);
	x->report->facts++;
	return true;
}

static const struct err *
export_facts(struct export *x)
{
	int64_t slot = x->s->manifest.slot_ns;
	const struct err *e = NULL;

	if (x->q->selector != NULL)
		return NULL;
	for (x->kind = FACT_PROCESS; x->kind < FACT_KINDS && e == NULL;
	     x->kind++)
		e = store_each_fact(x->s, x->kind, (int64_t)x->from * slot,
		    (int64_t)x->until * slot, export_fact, x);
	return e;
}

static const struct err *
export_begin(struct export *x)
{
	const struct symtab *t = &x->s->syms;

	free(x->nodes);
	free(x->series);
	free(x->wanted);
	x->b = batch_new((uint64_t)x->s->manifest.slot_ns);
	x->nodes = calloc(t->n_nodes + 1, sizeof(*x->nodes));
	x->series = calloc(t->series.n + 1, sizeof(*x->series));
	x->wanted = calloc(t->series.n + 1, 1);
	return x->b && x->nodes && x->series && x->wanted ? NULL
	                                                  : err_nomem();
}

static bool
export_overlaps(const struct export *x, const struct manifest_file *f)
{
	return f->kind != MANIFEST_SUMMARY && f->first < x->until &&
	    x->from < f->first + f->slots;
}

/* Names of what these slots have. */
static const struct err *
export_need_names(struct export *x)
{
	uint32_t *series;
	size_t n;
	const struct err *e = reader_match(x->s, x->q->selector,
	    READER_PROFILES, &series, &n);

	for (uint32_t j = 0; j < x->s->n_journals && e == NULL; j++)
		e = openspan_name(&x->s->journals[j]->span);
	for (uint32_t k = 0; k < x->s->n_files && e == NULL; k++) {
		struct reader_file *f = &x->s->files[k];

		if (f->sealed == NULL || !export_overlaps(x, &f->entry))
			continue;
		e = reader_need_series(x->s, f, x->q->selector, READER_ALL,
		    NULL);
		if (e == NULL && f->sealed != NULL)
			e = reader_name_stacks(x->s, f, series, n);
	}
	if (e == NULL)
		e = reader_need_open(x->s, series, n, x->from, x->until);
	free(series);
	return e;
}

/* The files of these slots, opened; ENOENT: take up the new manifest. */
static const struct err *
export_need(struct export *x)
{
	const struct err *e = NULL;

	for (int i = 0; i < QUERY_TRIES; i++) {
		e = NULL;
		for (uint32_t k = 0; k < x->s->n_files && e == NULL; k++) {
			if (export_overlaps(x, &x->s->files[k].entry))
				e = reader_need(x->s, &x->s->files[k]);
		}
		if (e == NULL)
			e = export_need_names(x);
		if (e == NULL || e->code != ENOENT)
			return e;
		if ((e = store_refresh(x->s)) != NULL)
			return e;
	}
	return e;
}

static const struct err *
export_slots(struct export *x, export_fn *fn, void *arg)
{
	const struct err *e = export_need(x);

	if (e == NULL)
		e = export_begin(x);
	for (uint32_t k = 0; k < x->s->n_files && e == NULL; k++) {
		const struct manifest_file *f = &x->s->files[k].entry;

		if (f->first < x->until && x->from < f->first + f->slots)
			e = export_file(x, &x->s->files[k]);
	}
	for (uint32_t k = 0; k < x->s->n_journals && e == NULL; k++)
		e = export_journal(x, &x->s->journals[k]->span);
	if (e == NULL)
		e = export_facts(x);
	if (e == NULL && (x->b->n_blocks > 0 || x->b->n_facts > 0)) {
		e = fn(arg, x->b);
		x->report->batches++;
	}
	reader_rest_open(x->s);
	batch_free(x->b);
	x->b = NULL;
	return e;
}

const struct err *
store_export(struct store *s, const struct export_query *q, export_fn *fn,
    void *arg, struct export_report *report)
{
	struct export x = {.s = s, .q = q, .report = report};
	int64_t slot = s->manifest.slot_ns;
	const struct err *e = NULL;
	uint64_t from, until, fine = s->manifest.fine_from;

	*report = (struct export_report){0};
	reader_bounds(s, &from, &until);
	if (reader_slot(s, q->from_ns) > from)
		from = reader_slot(s, q->from_ns);
	if (reader_slot(s, q->until_ns + slot - 1) < until)
		until = reader_slot(s, q->until_ns + slot - 1);
	if (from < fine && from < until) {
		report->coarse_slots = (fine < until ? fine : until) - from;
		from = fine;
	}
	for (x.from = from; x.from < until && e == NULL; x.from = x.until) {
		x.until = x.from - x.from % EXPORT_SLOTS + EXPORT_SLOTS;
		if (x.until > until)
			x.until = until;
		e = export_slots(&x, fn, arg);
		report->slots += x.until - x.from;
	}
	free(x.nodes);
	free(x.series);
	free(x.wanted);
	return e;
}
