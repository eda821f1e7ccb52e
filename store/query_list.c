/*
 * What is there: series and facts.
 */
#include "reader.h"

#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>


static bool
list_matches(struct store *s, const struct selector *sel, uint32_t series)
{
	struct label labels[BATCH_MAX_LABELS];
	struct series_desc d;

	symtab_desc(&s->syms, series, &d, labels, BATCH_MAX_LABELS);
	return sel == NULL || selector_match_series(sel, &d);
}

static int
list_compare(const void *a, const void *b, void *syms)
{
	return symtab_compare_series(syms, *(const uint32_t *)a,
	    *(const uint32_t *)b);
}

const struct err *
reader_match(struct store *s, const struct selector *sel, unsigned kinds,
    uint32_t **series, size_t *n)
{
	uint32_t all = s->syms.series.n;

	*n = 0;
	*series = malloc((all + 1) * sizeof(**series));
	if (*series == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < all; i++) {
		enum series_kind kind = symtab_series(&s->syms, i)->kind;

		if ((kinds >> kind & 1) && list_matches(s, sel, i))
			(*series)[(*n)++] = i;
	}
	qsort_r(*series, *n, sizeof(**series), list_compare, &s->syms);
	return NULL;
}

/* ---- series ---- */

/* Opens the files of a range; ENOENT passes up. */
static const struct err *
list_need(struct store *s, uint64_t from, uint64_t until)
{
	const struct err *e = NULL;

	for (uint32_t i = 0; i < s->n_files && e == NULL; i++) {
		const struct manifest_file *f = &s->files[i].entry;

		if (f->first < until && from < f->first + f->slots)
			e = reader_need(s, &s->files[i]);
	}
	return e;
}

/* Marks last[series] = end of the newest slot known; files tell it by file,
 * which is exact when the series lives on to the file's end. */
static void
list_mark_file(const struct reader_file *f, uint64_t until, uint64_t *last)
{
	uint64_t end = f->entry.until < until ? f->entry.until : until;

	if (f->sealed == NULL)
		return;
	for (size_t i = 0; i < f->sealed->dict->n_series; i++) {
		uint32_t series = f->map.series[i];

		if (end > last[series])
			last[series] = end;
	}
}

static void
list_mark_journal(const struct reader_journal *j, uint64_t from,
    uint64_t until, uint64_t *last)
{
	for (size_t i = 0; i < j->span.n_blocks; i++) {
		const struct mem_block *b = &j->span.blocks[i];

		if (b->numbers.start >= from && b->numbers.start < until &&
		    b->numbers.start + 1 > last[b->series])
			last[b->series] = b->numbers.start + 1;
	}
}

static const struct err *
list_series(struct store *s, const struct selector *sel, uint64_t from,
    uint64_t until, store_series_fn *fn, void *arg)
{
	uint32_t n = s->syms.series.n, *order = NULL, found = 0;
	uint64_t *last = calloc(n + 1, sizeof(*last));
	struct label labels[BATCH_MAX_LABELS];
	struct series_desc d;

	order = malloc((n + 1) * sizeof(*order));
	if (last == NULL || order == NULL) {
		free(last);
		free(order);
		return err_nomem();
	}
	for (uint32_t i = 0; i < s->n_files; i++) {
		const struct manifest_file *f = &s->files[i].entry;

		if (f->first < until && from < f->until)
			list_mark_file(&s->files[i], until, last);
	}
	for (uint32_t i = 0; i < s->n_journals; i++)
		list_mark_journal(s->journals[i], from, until, last);
	for (uint32_t i = 0; i < n; i++) {
		if (last[i] != 0 && list_matches(s, sel, i))
			order[found++] = i;
	}
	qsort_r(order, found, sizeof(*order), list_compare, &s->syms);
	for (uint32_t i = 0; i < found; i++) {
		symtab_desc(&s->syms, order[i], &d, labels, BATCH_MAX_LABELS);
		if (!fn(arg, &d, (int64_t)last[order[i]] *
		        s->manifest.slot_ns))
			break;
	}
	free(last);
	free(order);
	return NULL;
}

const struct err *
store_each_series(struct store *s, const struct selector *selector,
    int64_t from_ns, int64_t until_ns, store_series_fn *fn, void *arg)
{
	const struct err *e = NULL;

	for (int i = 0; i < QUERY_TRIES; i++) {
		uint64_t from = reader_slot(s, from_ns);
		uint64_t until = reader_slot(s,
		    until_ns + s->manifest.slot_ns - 1);

		e = list_need(s, from, until);
		if (e == NULL)
			return list_series(s, selector, from, until, fn, arg);
		if (e->code != ENOENT || (e = store_refresh(s)) != NULL)
			return e;
	}
	return err_new(ERR_LIMIT, 503, "the store changes too fast to read");
}

/* ---- facts ---- */

struct fact_walk {
	enum fact_kind kind;
	int64_t from, until;
	store_fact_fn *fn;
	void *arg;
};

static bool
facts_of_file(const struct reader_file *f, const struct fact_walk *w)
{
	const struct batch *d = f->sealed ? f->sealed->dict : NULL;

	for (size_t i = 0; d != NULL && i < d->n_facts; i++) {
		const struct batch_fact *x = &d->facts[i];

		if (x->kind == w->kind && x->time_ns >= w->from &&
		    x->time_ns < w->until &&
		    !w->fn(w->arg, x->time_ns, batch_str(d, x->subject),
		        d->fact_bytes.data + x->first, x->n))
			return false;
	}
	return true;
}

static bool
facts_of_journal(const struct store *s, const struct reader_journal *j,
    const struct fact_walk *w)
{
	for (size_t i = 0; i < j->span.n_facts; i++) {
		const struct mem_fact *x = &j->span.facts[i];

		if (x->kind == w->kind && x->time_ns >= w->from &&
		    x->time_ns < w->until &&
		    !w->fn(w->arg, x->time_ns,
		        intern_str(&s->syms.strings, x->subject),
		        j->span.fact_bytes.data + x->first, x->n))
			return false;
	}
	return true;
}

const struct err *
store_each_fact(struct store *s, enum fact_kind kind, int64_t from_ns,
    int64_t until_ns, store_fact_fn *fn, void *arg)
{
	struct fact_walk w = {kind, from_ns, until_ns, fn, arg};
	const struct err *e = NULL;
	bool go_on = true;

	for (int i = 0; i < QUERY_TRIES; i++) {
		e = list_need(s, reader_slot(s, from_ns),
		    reader_slot(s, until_ns) + 1);
		if (e == NULL)
			break;
		if (e->code != ENOENT || (e = store_refresh(s)) != NULL)
			return e;
		e = err_new(ERR_LIMIT, 503,
		    "the store changes too fast to read");
	}
	for (uint32_t i = 0; i < s->n_files && e == NULL && go_on; i++)
		go_on = facts_of_file(&s->files[i], &w);
	for (uint32_t i = 0; i < s->n_journals && e == NULL && go_on; i++)
		go_on = facts_of_journal(s, s->journals[i], &w);
	return e;
}
