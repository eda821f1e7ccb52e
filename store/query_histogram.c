/*
 * Percentiles over consecutive steps, from merged histograms.
 */
#include "query_steps.h"

#include "base/err.h"

#include <errno.h>
#include <stdlib.h>

const unsigned histogram_permille[HISTOGRAM_QUANTILES] = {500, 900, 950, 990,
    999};

/* A bucket of a step; several with the same key add up. */
struct histogram_entry {
	uint32_t step, bucket;
	int128 count;
};

struct histogram_run {
	struct steps steps;
	const struct histogram_query *q;
	struct histogram_point *points; /* of the series at hand */
	struct histogram_entry *entries;
	size_t n_entries, cap_entries;
};

static const struct err *
histogram_add(struct histogram_run *r, size_t step, uint32_t bucket,
    int128 count)
{
	struct histogram_entry *grown;
	size_t cap;

	if (r->n_entries == r->cap_entries) {
		cap = r->cap_entries ? r->cap_entries * 2 : 1024;
		grown = realloc(r->entries, cap * sizeof(*grown));
		if (grown == NULL)
			return err_nomem();
		r->entries = grown;
		r->cap_entries = cap;
	}
	r->entries[r->n_entries++] = (struct histogram_entry){(uint32_t)step,
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
			return err_new(ERR_FORMAT, 0, "there is no such bucket");
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

static int
histogram_compare(const void *a, const void *b)
{
	const struct histogram_entry *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return x->bucket < y->bucket ? -1 : x->bucket > y->bucket;
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
histogram_rank(struct histogram_point *p, const struct histogram_entry *e,
    size_t n)
{
	size_t k = 0;
	int128 seen = 0;

	for (size_t i = 0; i < n; i++) {
		seen += e[i].count;
		for (; k < HISTOGRAM_QUANTILES; k++) {
			int128 rank = ((int128)p->count *
			        (int)histogram_permille[k] + 999) / 1000;

			if (seen < rank)
				break;
			p->values[k] = histogram_value(p, e[i].bucket);
		}
	}
}

static void
histogram_rank_all(struct histogram_run *r)
{
	size_t end;

	qsort(r->entries, r->n_entries, sizeof(*r->entries),
	    histogram_compare);
	for (size_t i = 0; i < r->n_entries; i = end) {
		uint32_t step = r->entries[i].step;

		for (end = i; end < r->n_entries &&
		     r->entries[end].step == step; end++)
			;
		histogram_rank(&r->points[step], &r->entries[i], end - i);
	}
}

/* Fills *out when the series has a point; *has tells. */
static const struct err *
histogram_series(struct histogram_run *r, uint32_t series,
    struct histogram_series *out, bool *has)
{
	struct label labels[BATCH_MAX_LABELS];
	struct series_desc d;
	const struct err *e;

	*has = false;
	out->points = calloc(r->steps.n + 1, sizeof(*out->points));
	out->n_points = r->steps.n;
	if (out->points == NULL)
		return err_nomem();
	r->points = out->points;
	r->n_entries = 0;
	if ((e = steps_each(&r->steps, series, histogram_block, r)) != NULL)
		return e;
	if (r->n_entries == 0)
		return NULL;
	*has = true;
	histogram_rank_all(r);
	symtab_desc(&r->steps.s->syms, series, &d, labels, BATCH_MAX_LABELS);
	return steps_describe(&out->desc, &out->labels, &out->strings, &d);
}

void
histogram_series_free(struct histogram_series *series, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(series[i].points);
		free(series[i].labels);
		buf_fini(&series[i].strings);
	}
	free(series);
}

static const struct err *
histogram_run(struct histogram_run *r, const uint32_t *series,
    size_t n_series, struct histogram_series **out, size_t *n)
{
	struct histogram_series *all = calloc(n_series + 1, sizeof(*all));
	const struct err *e = all ? NULL : err_nomem();

	for (size_t i = 0; i < n_series && e == NULL; i++) {
		struct histogram_series one = {0};
		bool has = false;

		if (r->q->max_series && *n >= r->q->max_series)
			e = err_field(ERR_REQUEST, 413, "query",
			    "more than %zu series match", r->q->max_series);
		else if (*n * r->steps.n > QUERY_POINTS)
			e = err_field(ERR_REQUEST, 413, "step",
			    "more than %d points in all", QUERY_POINTS);
		else
			e = histogram_series(r, series[i], &one, &has);
		if (has) {
			all[(*n)++] = one;
			continue;
		}
		free(one.points);
		free(one.labels);
		buf_fini(&one.strings);
	}
	if (e != NULL) {
		histogram_series_free(all, *n);
		*n = 0;
		return e;
	}
	*out = all;
	return NULL;
}

const struct err *
store_query_histogram(struct store *s, const struct histogram_query *q,
    struct histogram_series **out, size_t *n)
{
	const struct err *e = NULL;

	for (int i = 0; i < QUERY_TRIES; i++) {
		struct histogram_run r = {.q = q};
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
			e = reader_match(s, q->selector, READER_HISTOGRAMS,
			    &series, &n_series);
		if (e == NULL)
			e = histogram_run(&r, series, n_series, out, n);
		free(series);
		free(r.entries);
		steps_fini(&r.steps);
		if (e == NULL && s->breaks == breaks)
			return NULL;
		if (e == NULL) { /* once more, without what is broken */
			histogram_series_free(*out, *n);
			continue;
		}
		if (e->code != ENOENT || (e = store_refresh(s)) != NULL)
			return e;
	}
	return err_new(ERR_LIMIT, 503, "the store changes too fast to read");
}
