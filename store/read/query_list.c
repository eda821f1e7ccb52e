/*
 * What is there: series and facts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/file/format.h"
#include "store/read/reader.h"

/* ---- series ---- */

#define LIST_SPANS 4  /* of the summary's, that are opened in its place; */
#define LIST_NEWEST 2 /* or beside it, where there are more */

/*
 * What is asked for, and which files tell it.  Of the full spans that the
 * summary holds the newest do.  Where there are more, or some are gone, series
 * that these lack are looked up in the summary, one by one.
 */
struct list {
	struct store *s;
	uint64_t from, until;         /* slots asked for */
	struct reader_file *summary;  /* NULL: there is none */
	/* the newest of the spans that it stands for, oldest first */
	struct reader_file *spans[LIST_SPANS];
	size_t n_spans;
	bool known;                   /* they tell all that it could */
	uint64_t *last;               /* by series: end of its newest slot */
};

static bool
list_overlaps(const struct list *l, const struct reader_file *f)
{
	return f->entry.first < l->until &&
	    l->from < f->entry.first + f->entry.slots;
}

/* Does the summary hold all of this file? */
static bool
list_summarized(const struct list *l, const struct reader_file *f)
{
	const struct manifest_file *e = &f->entry;

	return l->summary != NULL && e->kind == MANIFEST_SPAN &&
	    e->level == FORMAT_SPAN_LEVEL &&
	    e->first >= l->summary->entry.first &&
	    e->first + e->slots <=
	        l->summary->entry.first + l->summary->entry.slots;
}

static bool
list_has_span(const struct list *l, const struct reader_file *f)
{
	for (size_t i = 0; i < l->n_spans; i++) {
		if (l->spans[i] == f)
			return true;
	}
	return false;
}

static void
list_drop_spans(struct list *l, size_t n)
{
	l->n_spans -= n;
	memmove(l->spans, l->spans + n, l->n_spans * sizeof(*l->spans));
}

/* Which are the newest; *more: there are others. */
static void
list_find_spans(struct list *l, bool *more)
{
	*more = false;
	l->n_spans = 0;
	for (uint32_t k = 0; k < l->s->n_files; k++) {
		struct reader_file *f = &l->s->files[k];
		size_t i;

		if (!list_summarized(l, f) || !list_overlaps(l, f))
			continue;
		if (l->n_spans == LIST_SPANS) {
			*more = true;
			if (f->entry.first < l->spans[0]->entry.first)
				continue;
			list_drop_spans(l, 1);
		}
		for (i = l->n_spans++; i > 0 &&
		     l->spans[i - 1]->entry.first > f->entry.first; i--)
			l->spans[i] = l->spans[i - 1];
		l->spans[i] = f;
	}
	if (*more)
		list_drop_spans(l, LIST_SPANS - LIST_NEWEST);
}

/* Do the spans that are open tell all that the summary could? */
static bool
list_knows(const struct list *l)
{
	const struct manifest_file *e = &l->summary->entry;
	uint64_t end = e->first + e->slots, at = l->from;

	end = end < l->until ? end : l->until;
	at = at > e->first ? at : e->first;
	for (size_t i = 0; i < l->n_spans; i++) {
		const struct reader_file *f = l->spans[i];

		if (f->sealed == NULL || f->entry.first > at)
			return false;
		at = f->entry.first + f->entry.slots;
	}
	return at >= end;
}

/* The spans of the summary's; and itself where they do not tell all. */
static const struct err *
list_need_spans(struct list *l)
{
	const struct err *e = NULL;
	bool more;

	list_find_spans(l, &more);
	for (size_t i = 0; i < l->n_spans && e == NULL; i++)
		e = reader_need(l->s, l->spans[i]);
	l->known = e == NULL && !more && list_knows(l);
	if (e == NULL && !l->known)
		e = reader_need(l->s, l->summary);
	return e;
}

/* Opens the files that are needed; ENOENT passes up. */
static const struct err *
list_need(struct list *l)
{
	const struct err *e = NULL;

	l->summary = NULL;
	l->n_spans = 0;
	l->known = true;
	for (uint32_t i = 0; i < l->s->n_files; i++) {
		struct reader_file *f = &l->s->files[i];

		if (f->entry.kind == MANIFEST_SUMMARY && list_overlaps(l, f))
			l->summary = f;
	}
	if (l->summary != NULL)
		e = list_need_spans(l);
	if (!l->known && l->summary->sealed == NULL) /* broken: all spans */
		l->summary = NULL;
	for (uint32_t i = 0; i < l->s->n_files && e == NULL; i++) {
		struct reader_file *f = &l->s->files[i];

		if (f->entry.kind != MANIFEST_SUMMARY &&
		    list_overlaps(l, f) && !list_summarized(l, f))
			e = reader_need(l->s, f);
	}
	return e;
}

/* Notes what the list lacks, once all has been opened. */
static void
list_missing(struct list *l)
{
	struct store *s = l->s;

	missing_gaps(s, l->from, l->until);
	for (uint32_t i = 0; i < s->n_files; i++) {
		struct reader_file *f = &s->files[i];

		if (f->entry.kind == MANIFEST_SUMMARY)
			missing_file(s, f, l->from,
			    l->until < s->manifest.fine_from
			        ? l->until
			        : s->manifest.fine_from);
		else if (!list_summarized(l, f))
			missing_file(s, f, l->from, l->until);
	}
}

/* Marks last[series] = end of the newest slot known; files tell it by file,
 * which is exact when the series lives on to the file's end. */
static void
list_mark_file(const struct reader_file *f, uint64_t until, uint64_t *last)
{
	uint64_t end = f->entry.until < until ? f->entry.until : until;

	if (f->sealed == NULL)
		return;
	for (size_t i = 0; i < f->names.n_named; i++) {
		uint32_t series = f->names.symbols[i];

		if (end > last[series])
			last[series] = end;
	}
}

static void
list_mark_journal(struct openspan *o, uint64_t from, uint64_t until,
    uint64_t *last)
{
	for (uint32_t i = 0; i < o->n_named; i++) {
		uint64_t end = openspan_strip_newest(o, i, from, until);

		if (end > last[o->symbols[i]])
			last[o->symbols[i]] = end;
	}
}

/* The newest block of a series in the summary that begins in [from, until);
 * *start is UINT64_MAX when there is none. */
static const struct err *
list_newest_block(struct sealed *f, uint32_t number, uint64_t from,
    uint64_t until, uint64_t *start)
{
	unsigned level = f->meta.base;
	uint64_t slots = seg_slots(level);
	const struct block *b;
	const struct err *e = sealed_seek(f, number, level,
	    seg_align(from, level), &b);

	*start = UINT64_MAX;
	while (e == NULL && b != NULL && b->start < until) {
		uint64_t middle;

		*start = b->start;
		if (until - *start <= slots)
			break;
		/* look in the later half first: until falls or *start rises */
		middle = seg_align(*start + (until - *start) / 2 + slots - 1,
		    level);
		if (middle >= until)
			middle = *start + slots;
		e = sealed_seek(f, number, level, middle, &b);
		if (e == NULL && (b == NULL || b->start >= until)) {
			until = middle;
			e = sealed_seek(f, number, level, *start, &b);
		}
	}
	return e;
}

/* Series of the summary that no open file has marked. */
static const struct err *
list_mark_summary(struct list *l)
{
	struct reader_file *f = l->summary;
	const struct err *e = NULL;

	for (uint32_t i = 0; i < f->names.n_named && e == NULL; i++) {
		uint32_t series = f->names.symbols[i];
		uint64_t end = f->entry.first + f->entry.slots, start;

		if (l->last[series] != 0)
			continue;
		e = list_newest_block(f->sealed, i, l->from,
		    l->until < end ? l->until : end, &start);
		if (e != NULL || start == UINT64_MAX)
			continue;
		end = start + seg_slots(f->sealed->meta.base);
		if (end > f->entry.until)
			end = f->entry.until;
		l->last[series] = end < l->until ? end : l->until;
	}
	return e == NULL ? NULL : reader_failed(l->s, f, e);
}

static const struct err *
list_mark(struct list *l)
{
	struct store *s = l->s;

	for (uint32_t i = 0; i < s->n_files; i++) {
		struct reader_file *f = &s->files[i];

		if (f->entry.kind != MANIFEST_SUMMARY &&
		    f->entry.first < l->until && l->from < f->entry.until &&
		    (list_has_span(l, f) || !list_summarized(l, f)))
			list_mark_file(f, l->until, l->last);
	}
	for (uint32_t i = 0; i < s->n_journals; i++)
		list_mark_journal(&s->journals[i]->span, l->from, l->until,
		    l->last);
	return l->summary == NULL || l->known ? NULL : list_mark_summary(l);
}

/* Opens the files and marks the series; list_fini() also after an error. */
static const struct err *
list_init(struct list *l, struct store *s, int64_t from_ns, int64_t until_ns)
{
	const struct err *e;

	*l = (struct list){.s = s, .from = reader_slot(s, from_ns),
	    .until = reader_slot(s, until_ns + s->manifest.slot_ns - 1)};
	for (int i = 0; i < QUERY_TRIES; i++) {
		e = list_need(l);
		if (e == NULL) {
			l->last = calloc(s->syms.series.n + 1,
			    sizeof(*l->last));
			e = l->last == NULL ? err_nomem() : list_mark(l);
			if (e == NULL)
				list_missing(l);
			return e;
		}
		if (e->code != ENOENT || (e = store_refresh(s)) != NULL)
			return e;
	}
	return err_new(ERR_LIMIT, 503, "the store changes too fast to read");
}

static void
list_fini(struct list *l)
{
	free(l->last);
}

static const struct err *
list_series(struct store *s, const struct selector *sel, unsigned kinds,
    int64_t from_ns, int64_t until_ns, store_series_fn *fn, void *arg)
{
	struct label labels[BATCH_MAX_LABELS];
	struct series_desc d;
	uint32_t *order = NULL;
	struct list l;
	const struct err *e = list_init(&l, s, from_ns, until_ns);
	size_t found = 0;

	if (e == NULL)
		e = reader_match(s, sel, kinds, &order, &found);
	for (size_t i = 0; e == NULL && i < found; i++) {
		if (l.last[order[i]] == 0)
			continue;
		symtab_desc(&s->syms, order[i], &d, labels, BATCH_MAX_LABELS);
		if (!fn(arg, &d, (int64_t)l.last[order[i]] *
		        s->manifest.slot_ns))
			break;
	}
	list_fini(&l);
	free(order);
	return e;
}

const struct err *
store_each_series(struct store *s, const struct selector *selector,
    int64_t from_ns, int64_t until_ns, store_series_fn *fn, void *arg)
{
	return list_series(s, selector, READER_ALL, from_ns, until_ns, fn,
	    arg);
}

const struct err *
store_each_profile(struct store *s, int64_t from_ns, int64_t until_ns,
    store_series_fn *fn, void *arg)
{
	return list_series(s, NULL, READER_PROFILES, from_ns, until_ns, fn,
	    arg);
}

const struct err *
store_each_label_set(struct store *s, int64_t from_ns, int64_t until_ns,
    store_labels_fn *fn, void *arg)
{
	struct label labels[BATCH_MAX_LABELS];
	struct list l;
	const struct err *e = list_init(&l, s, from_ns, until_ns);
	uint64_t *last = calloc(s->syms.labels.n + 1, sizeof(*last));

	if (e == NULL && last == NULL)
		e = err_nomem();
	for (uint32_t i = 0; e == NULL && i < s->syms.series.n; i++) {
		uint32_t set = symtab_series(&s->syms, i)->labels;

		if (l.last[i] > last[set])
			last[set] = l.last[i];
	}
	for (uint32_t i = 0; e == NULL && i < s->syms.labels.n; i++) {
		size_t n = symtab_labels(&s->syms, i, labels,
		    BATCH_MAX_LABELS);

		if (last[i] != 0 && !fn(arg, labels, n,
		        (int64_t)last[i] * s->manifest.slot_ns))
			break;
	}
	list_fini(&l);
	free(last);
	return e;
}

/* ---- facts ---- */

struct fact_walk {
	enum fact_kind kind;
	int64_t from, until;
	store_fact_fn *fn;
	void *arg;
};

static bool
facts_wanted(const struct fact_walk *w, const struct open_fact *f)
{
	return f->kind == w->kind && f->time_ns >= w->from &&
	    f->time_ns < w->until;
}

static const struct err *
facts_need_subjects(struct openspan *o, const struct fact_walk *w)
{
	const struct err *e;
	bool fine = true;

	for (uint32_t i = 0; i < o->n_facts && fine; i++) {
		if (facts_wanted(w, &o->facts[i]))
			fine = openspan_need_fact(o, &o->facts[i]);
	}
	e = openspan_resolve(o, UINT32_MAX);
	return e != NULL || fine ? e : err_nomem();
}

static const struct err *
facts_of_span(const struct store *s, struct openspan *o,
    const struct fact_walk *w, bool *go_on)
{
	const struct err *e = NULL;

	for (uint32_t i = 0; i < o->n_facts && *go_on; i++) {
		const struct open_fact *f = &o->facts[i];
		const uint8_t *data;
		uint32_t subject;

		if (!facts_wanted(w, f))
			continue;
		subject = openspan_subject(o, f);
		if (subject == INTERN_NONE)
			return err_nomem();
		if ((e = openspan_fact(o, f, &data)) != NULL)
			return e;
		*go_on = w->fn(w->arg, f->time_ns,
		    intern_str(&s->syms.strings, subject), data, f->n);
	}
	return NULL;
}

/* Files that may have such facts; one that was open once is known. */
static bool
facts_may_be(const struct fact_walk *w, const struct store *s,
    const struct reader_file *f)
{
	return f->entry.kind != MANIFEST_SUMMARY &&
	    f->entry.first <= reader_slot(s, w->until) &&
	    reader_slot(s, w->from) < f->entry.first + f->entry.slots &&
	    (!f->facts_known || (f->fact_kinds >> (w->kind & 31) & 1));
}

static const struct err *
facts_need(struct store *s, const struct fact_walk *w)
{
	const struct err *e = NULL;
	uint64_t from = reader_slot(s, w->from);
	uint64_t until = reader_slot(s, w->until) + 1;

	missing_gaps(s, from, until);
	for (uint32_t i = 0; i < s->n_files && e == NULL; i++) {
		struct reader_file *f = &s->files[i];

		if (!facts_may_be(w, s, f))
			continue;
		e = reader_need(s, f);
		if (e == NULL && f->sealed != NULL) {
			e = facts_need_subjects(&f->names, w);
			e = e == NULL ? NULL : reader_failed(s, f, e);
		}
		missing_file(s, f, from, until);
	}
	for (uint32_t j = 0; j < s->n_journals && e == NULL; j++)
		e = facts_need_subjects(&s->journals[j]->span, w);
	return e;
}

static const struct err *
facts_of_file(struct store *s, struct reader_file *f,
    const struct fact_walk *w, bool *go_on)
{
	const struct err *e = NULL;

	if (f->sealed != NULL)
		e = facts_of_span(s, &f->names, w, go_on);
	return e == NULL ? NULL : reader_failed(s, f, e);
}

const struct err *
store_each_fact(struct store *s, enum fact_kind kind, int64_t from_ns,
    int64_t until_ns, store_fact_fn *fn, void *arg)
{
	struct fact_walk w = {kind, from_ns, until_ns, fn, arg};
	const struct err *e = NULL;
	bool go_on = true;

	for (int i = 0; i < QUERY_TRIES; i++) {
		if ((e = facts_need(s, &w)) == NULL)
			break;
		if (e->code != ENOENT || (e = store_refresh(s)) != NULL)
			return e;
		e = err_new(ERR_LIMIT, 503,
		    "the store changes too fast to read");
	}
	for (uint32_t i = 0; i < s->n_files && e == NULL && go_on; i++)
		e = facts_of_file(s, &s->files[i], &w, &go_on);
	for (uint32_t i = 0; i < s->n_journals && e == NULL && go_on; i++)
		e = facts_of_span(s, &s->journals[i]->span, &w, &go_on);
	return e;
}
