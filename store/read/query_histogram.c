/*
 * Percentiles over consecutive steps, from merged histograms.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/model/histogram.h"
#include "store/read/query_steps.h"

const unsigned histogram_permille[HISTOGRAM_QUANTILES] = {500, 900, 950, 990,
    999};

struct histogram_run {
	struct histogram_series *all;
	struct histogram_point *points; /* of the series at hand */
	struct histogram_cell *entries; /* several of one bucket add up */
	size_t n_entries, cap_entries, max_entries;
	bool falls; /* the entries' steps do not rise all the way */
};

static int
histogram_compare(const void *a, const void *b)
{
	const struct histogram_cell *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return x->bucket < y->bucket ? -1 : x->bucket > y->bucket;
}

/* Each bucket of a step once, of entries that are in order. */
static void
histogram_fold(struct histogram_run *r)
{
	struct histogram_cell *c = r->entries;
	size_t n = 0;

	for (size_t i = 0; i < r->n_entries; i++) {
		if (n > 0 && histogram_compare(&c[n - 1], &c[i]) == 0)
			c[n - 1].count += c[i].count;
		else
			c[n++] = c[i];
	}
	r->n_entries = n;
}

static const struct err *
histogram_add(struct histogram_run *r, size_t step, uint32_t bucket,
    int128 count)
{
	if (r->n_entries >= r->max_entries) {
		qsort(r->entries, r->n_entries, sizeof(*r->entries),
		    histogram_compare);
		histogram_fold(r);
		r->falls = false;
		if (r->n_entries > r->max_entries / 4 * 3)
			return err_field(ERR_REQUEST, 413, "step",
			    "more than %zu buckets: ask for a longer step",
			    r->max_entries / 4 * 3);
	}
	if (!array_room(&r->entries, r->n_entries + 1, &r->cap_entries))
		return err_nomem();
	r->falls |= r->n_entries > 0 &&
	    r->entries[r->n_entries - 1].step > step;
	r->entries[r->n_entries++] = (struct histogram_cell){(uint32_t)step,
	    bucket, count};
	return NULL;
}

static const struct err *
histogram_block(void *arg, size_t step, const struct block *b, uint64_t slots)
{
	struct histogram_run *r = arg;
	struct histogram_point *p = &r->points[step];
	struct entry_reader entries = {b->entries, 0};
	const struct err *e = NULL;
	uint64_t before = p->count;
	int128 count;
	uint32_t key;

	while (e == NULL && entry_next(&entries, &key, &count)) {
		if (key >= HISTOGRAM_BUCKETS)
			return err_new(
			    ERR_FORMAT, 0, "there is no such bucket");
		p->count += (uint64_t)count;
		e = histogram_add(r, step, key, count);
	}
	if (e == NULL && entries.c.bad)
		e = err_new(ERR_FORMAT, 0, "a block is malformed");
	if (p->count == before)
		return e;
	if (before == 0 || b->min < p->min)
		p->min = b->min;
	if (before == 0 || b->max > p->max)
		p->max = b->max;
	p->sum += b->sum;
	p->slots += slots;
	return e;
}

/* The middle of a bucket, which no value in it is further from than half of
 * 1/128. */
static int64_t
histogram_value(const struct histogram_point *p, uint32_t bucket)
{
	int64_t low = histogram_low(bucket), high = INT64_MAX;

	if (bucket + 1 < HISTOGRAM_BUCKETS)
		high = histogram_low(bucket + 1) - 1;
	low += (high - low) / 2;
	return low < p->min ? p->min : low > p->max ? p->max : low;
}

/* The values of a step, from its entries, which are in order. */
static void
histogram_rank(struct histogram_point *p, const struct histogram_cell *e,
    size_t n)
{
	int128 ranks[HISTOGRAM_QUANTILES], seen = 0;
	size_t k;

	for (k = 0; k < HISTOGRAM_QUANTILES; k++)
		ranks[k] = ((int128)p->count * (int)histogram_permille[k] +
		    999) / 1000;
	k = 0;
	for (size_t i = 0; i < n && k < HISTOGRAM_QUANTILES; i++) {
		seen += e[i].count;
		for (; k < HISTOGRAM_QUANTILES && seen >= ranks[k]; k++)
			p->values[k] = histogram_value(p, e[i].bucket);
	}
}

/* Most are in order as they come: a step of one block, and steps one after
 * the other but for slots that came late and open ones. */
static void
histogram_sort(struct histogram_cell *e, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (histogram_compare(&e[i - 1], &e[i]) > 0) {
			qsort(e, n, sizeof(*e), histogram_compare);
			return;
		}
	}
}

static void
histogram_rank_all(struct histogram_run *r)
{
	size_t end;

	if (r->falls)
		histogram_sort(r->entries, r->n_entries);
	for (size_t i = 0; i < r->n_entries; i = end) {
		uint32_t step = r->entries[i].step;

		for (end = i; end < r->n_entries &&
		     r->entries[end].step == step; end++)
			;
		histogram_sort(&r->entries[i], end - i);
		histogram_rank(&r->points[step], &r->entries[i], end - i);
	}
}

static void
histogram_series_fini(struct histogram_series *h)
{
	free(h->points);
	free(h->cells);
	free(h->labels);
	*h = (struct histogram_series){0};
}

static const struct err *
histogram_begin(void *arg, size_t n)
{
	struct histogram_run *r = arg;

	r->n_entries = 0;
	r->falls = false;
	r->all = calloc(n + 1, sizeof(*r->all));
	return r->all == NULL ? err_nomem() : NULL;
}

static void
histogram_drop(void *arg, size_t n)
{
	struct histogram_run *r = arg;

	histogram_series_free(r->all, n);
	r->all = NULL;
}

/* Adds a series' blocks to the points and the entries. */
static const struct err *
histogram_read(struct histogram_run *r, struct histogram_series *out,
    struct steps *t, uint32_t series)
{
	if (out->points == NULL)
		out->points = calloc(t->n + 1, sizeof(*out->points));
	r->points = out->points;
	out->n_points = t->n;
	return out->points == NULL ? err_nomem() :
	    steps_each(t, series, histogram_block, r);
}

static const struct err *
histogram_one(void *arg, struct steps *t, uint32_t series, size_t at,
    bool *has)
{
	struct histogram_run *r = arg;
	struct histogram_series *out = &r->all[at];
	struct label labels[BATCH_MAX_LABELS];
	struct series_desc d;
	const struct err *e;

	r->n_entries = 0;
	r->falls = false;
	e = histogram_read(r, out, t, series);
	if (e == NULL && r->n_entries > 0) {
		histogram_rank_all(r);
		symtab_desc(&t->s->syms, series, &d, labels, BATCH_MAX_LABELS);
		e = steps_describe(&out->desc, &out->labels, &d);
	}
	*has = e == NULL && r->n_entries > 0;
	if (!*has)
		histogram_series_fini(out);
	return e;
}

/* ---- all as one ---- */

/* All go to the first place; the first one has it. */
static const struct err *
histogram_merge(void *arg, struct steps *t, uint32_t series, size_t at,
    bool *has)
{
	struct histogram_run *r = arg;
	struct histogram_series *out = &r->all[0];
	struct label labels[BATCH_MAX_LABELS];
	size_t before = r->n_entries;
	struct series_desc d;
	const struct err *e;

	*has = false;
	e = histogram_read(r, out, t, series);
	if (e != NULL || r->n_entries == before) {
		if (out->n_merged == 0)
			histogram_series_fini(out);
		return e;
	}
	symtab_desc(&t->s->syms, series, &d, labels, BATCH_MAX_LABELS);
	if (out->n_merged++ == 0) {
		*has = at == 0;
		return steps_describe(&out->desc, &out->labels, &d);
	}
	if (d.scale != out->desc.scale || strcmp(d.unit, out->desc.unit) != 0)
		return err_field(ERR_REQUEST, 400, "query", "%s is in %s, %s "
		    "is not: they have no histogram together",
		    out->desc.name, out->desc.unit, d.name);
	return NULL;
}

/* The entries as cells. */
static void
histogram_give_cells(struct histogram_run *r)
{
	histogram_fold(r);
	r->all[0].cells = r->entries;
	r->all[0].n_cells = r->n_entries;
	r->entries = NULL;
}

const struct err *
store_query_histogram(struct store *s, const struct histogram_query *q,
    struct histogram_series **out, size_t *n)
{
	struct histogram_run r = {
	    .max_entries = q->merge ? QUERY_POINTS / 2 : SIZE_MAX};
	const struct steps_query steps = {q->selector, q->from_ns, q->until_ns,
	    q->step_ns, q->merge ? 0 : q->max_series, READER_HISTOGRAMS, false,
	    histogram_begin, q->merge ? histogram_merge : histogram_one,
	    histogram_drop, &r};
	const struct err *e = steps_query(s, &steps, n);

	if (e == NULL && q->merge && *n > 0) {
		r.points = r.all[0].points;
		histogram_rank_all(&r);
		histogram_give_cells(&r);
	}
	free(r.entries);
	*out = r.all;
	return e;
}

void
histogram_series_free(struct histogram_series *series, size_t n)
{
	for (size_t i = 0; i < n; i++)
		histogram_series_fini(&series[i]);
	free(series);
}
