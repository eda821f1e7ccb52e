/*
 * Stacks of many series, read in the order of the journal: series by series,
 * a page that all of them share would be read, and compared with its checksum,
 * once for each.
 *
 *	series -> items (record, place, bytes)    sorted by record: each
 *	                                          page is read once
 *	run of a strip's blocks -> places         in `bytes`, block by block
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/journal/openspan.h"

#define AHEAD_READ (128u << 10) /* bytes of one read */
#define AHEAD_GAP OPEN_PAGE     /* of no use, that are read with others */

struct ahead_item {
	uint32_t record, at, size, to;
};

struct ahead {
	struct openspan *o;
	struct ahead_item *items; /* as they stand in `bytes` */
	uint32_t n, cap;
	uint32_t *order; /* of items, by record */
	uint64_t bytes, most;
};

void
openspan_drop_ahead(struct openspan *o)
{
	struct open_ahead *a = &o->ahead;

	free(a->runs);
	free(a->places);
	buf_fini(&a->bytes);
	*a = (struct open_ahead){0};
}

size_t
open_ahead_bytes(const struct open_ahead *a)
{
	return a->cap_runs * sizeof(*a->runs) +
	    a->cap_places * sizeof(*a->places) + a->bytes.cap;
}

/* The run of a strip, or where it would stand. */
static uint32_t
ahead_find(const struct open_ahead *a, uint32_t strip)
{
	uint32_t lo = 0, hi = a->n_runs;

	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;

		if (a->runs[middle].strip < strip)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

const uint8_t *
open_ahead_get(const struct open_ahead *a, uint32_t strip, uint32_t block)
{
	uint32_t i = ahead_find(a, strip);
	const struct open_run *r = &a->runs[i];

	if (i == a->n_runs || r->strip != strip || block < r->first ||
	    block - r->first >= r->n)
		return NULL;
	return a->bytes.data + a->places[r->places + (block - r->first)];
}

/* ---- which blocks ---- */

static int
ahead_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static bool
ahead_put(struct ahead *x, struct open_run *run, const struct open_walk *w)
{
	struct open_ahead *a = &x->o->ahead;

	if (!open_room((void **)&x->items, x->n + 1, &x->cap,
	        sizeof(*x->items)) ||
	    !open_room((void **)&a->places, a->n_places + 1, &a->cap_places,
	        sizeof(*a->places)))
		return false;
	x->items[x->n++] = (struct ahead_item){w->record, w->at, w->size,
	    (uint32_t)x->bytes};
	a->places[a->n_places++] = (uint32_t)x->bytes;
	x->bytes += w->size;
	if (run->n++ == 0)
		run->first = w->i - 1;
	return true;
}

/* The blocks of one strip, as many as there is room for; where its slots do
 * not rise they do not stand in a row, and are read by themselves. */
static const struct err *
ahead_strip(struct ahead *x, uint32_t strip, uint64_t from, uint64_t until)
{
	struct open_ahead *a = &x->o->ahead;
	struct open_run run = {.strip = strip, .places = a->n_places};
	struct open_walk w;
	struct block b;

	openspan_walk(&w, x->o, x->o->symbols[strip], from, until);
	if (!series_is_profile(w.kind) || w.strip->falls)
		return NULL;
	while (openspan_next(&w, &b) && x->bytes + w.size <= x->most) {
		if (!ahead_put(x, &run, &w))
			return err_nomem();
	}
	if (run.n == 0)
		return NULL;
	if (!open_room((void **)&a->runs, a->n_runs + 1, &a->cap_runs,
	        sizeof(*a->runs)))
		return err_nomem();
	a->runs[a->n_runs++] = run;
	return NULL;
}

/* In the order of strips, which is mostly that of blocks in a record. */
static const struct err *
ahead_collect(struct ahead *x, const uint32_t *series, size_t n,
    uint64_t from, uint64_t until)
{
	const struct openspan *o = x->o;
	uint32_t *strips = malloc((n + 1) * sizeof(*strips));
	const struct err *e = NULL;
	size_t found = 0;

	if (strips == NULL)
		return err_nomem();
	for (size_t i = 0; i < n; i++) {
		if (series[i] < o->n_places &&
		    o->places[series[i]] != INTERN_NONE)
			strips[found++] = o->places[series[i]];
	}
	qsort(strips, found, sizeof(*strips), ahead_compare);
	for (size_t i = 0; i < found && e == NULL; i++)
		e = ahead_strip(x, strips[i], from, until);
	free(strips);
	return e;
}

/* ---- their bytes ---- */

static const struct err *
ahead_sort(struct ahead *x)
{
	uint32_t records = x->o->pages.n_records;
	uint32_t *ends = calloc(records + 1, sizeof(*ends));

	x->order = malloc((x->n + 1) * sizeof(*x->order));
	if (ends == NULL || x->order == NULL) {
		free(ends);
		return err_nomem();
	}
	for (uint32_t i = 0; i < x->n; i++)
		ends[x->items[i].record + 1]++;
	for (uint32_t i = 1; i <= records; i++)
		ends[i] += ends[i - 1];
	for (uint32_t i = 0; i < x->n; i++)
		x->order[ends[x->items[i].record]++] = i;
	free(ends);
	return NULL;
}

/* How many items from the i-th on are read at once: they end at *end. */
static uint32_t
ahead_group(const struct ahead *x, uint32_t i, uint32_t *end)
{
	const struct ahead_item *first = &x->items[x->order[i]];
	uint32_t n = 0;

	*end = first->at;
	for (; i + n < x->n; n++) {
		const struct ahead_item *k = &x->items[x->order[i + n]];

		if (n > 0 && (k->record != first->record || k->at < *end ||
		        k->at - *end > AHEAD_GAP ||
		        k->at + k->size - first->at > AHEAD_READ))
			break;
		*end = k->at + k->size;
	}
	return n;
}

static const struct err *
ahead_read(struct ahead *x)
{
	struct buf *bytes = &x->o->ahead.bytes;
	const struct err *e = NULL;
	const uint8_t *p = NULL;
	uint32_t end, n;

	if (!buf_reserve(bytes, x->bytes))
		return err_nomem();
	for (uint32_t i = 0; i < x->n && e == NULL; i += n) {
		const struct ahead_item *k = &x->items[x->order[i]];
		uint32_t record = k->record, first = k->at;

		n = ahead_group(x, i, &end);
		e = gone_check();
		if (e == NULL && end > first)
			e = open_pages_read(&x->o->pages, record, first,
			    end - first, &p);
		for (uint32_t g = i; g < i + n && e == NULL; g++) {
			k = &x->items[x->order[g]];
			if (k->size > 0)
				memcpy(bytes->data + k->to,
				    p + (k->at - first), k->size);
		}
	}
	bytes->len = x->bytes;
	return e;
}

const struct err *
openspan_read_ahead(struct openspan *o, const uint32_t *series, size_t n,
    uint64_t from, uint64_t until, size_t most)
{
	struct ahead x = {.o = o, .most = most};
	const struct err *e;

	openspan_drop_ahead(o);
	e = ahead_collect(&x, series, n, from, until);
	if (e == NULL && x.n > 0)
		e = ahead_sort(&x);
	if (e == NULL && x.n > 0)
		e = ahead_read(&x);
	if (e != NULL)
		openspan_drop_ahead(o);
	free(x.items);
	free(x.order);
	return e;
}
