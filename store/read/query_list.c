/*
 * What is there: series and types; services are in query_services.c.
 */
#include "store/read/query_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/file/format.h"
#include "store/model/type.h"

#define LIST_NEWEST 2 /* spans that are opened beside the summary */

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

/* Has it what is asked for, for all that is known without opening it? */
static bool
list_wants(const struct list *l, const struct reader_file *f)
{
	return !reader_lacks(f, l->sel, l->kinds) &&
	    (!l->told || f->entry.of[0] == '\0');
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
		    list_overlaps(l, f) && !list_summarized(l, f) &&
		    list_wants(l, f))
			e = reader_need(l->s, f);
	}
	return e;
}

void
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

uint64_t
list_end(const struct list *l, const struct reader_file *f)
{
	bool told = l->told && f->entry.of[0] != '\0' && !f->broken;

	if ((f->sealed == NULL && !told) ||
	    f->entry.kind == MANIFEST_SUMMARY ||
	    f->entry.first >= l->until || l->from >= f->entry.until ||
	    (!list_has_span(l, f) && list_summarized(l, f)))
		return 0;
	return f->entry.until < l->until ? f->entry.until : l->until;
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

const struct err *
list_summary_last(struct list *l, uint32_t series, uint64_t *last)
{
	struct reader_file *f = l->summary;
	uint32_t number = reader_series(f, series);
	uint64_t end = f->entry.first + f->entry.slots, start;
	const struct err *e;

	if (f->sealed == NULL || number == INTERN_NONE)
		return NULL;
	e = list_newest_block(f->sealed, number, l->from,
	    l->until < end ? l->until : end, &start);
	if (e != NULL)
		return reader_failed(l->s, f, e);
	if (start == UINT64_MAX)
		return NULL;
	end = start + seg_slots(f->sealed->meta.base);
	if (end > f->entry.until)
		end = f->entry.until;
	*last = end < l->until ? end : l->until;
	return NULL;
}

/* The end of the newest slot known of a series; 0: it has none. */
static const struct err *
list_last(struct list *l, uint32_t series, uint64_t *last)
{
	struct store *s = l->s;

	*last = reader_newest_open(s, series, l->from, l->until);
	for (uint32_t i = 0; i < s->n_files; i++) {
		uint64_t end = list_end(l, &s->files[i]);

		if (end > *last && reader_series(&s->files[i], series) !=
		    INTERN_NONE)
			*last = end;
	}
	return *last != 0 || l->known || l->summary == NULL
	    ? NULL : list_summary_last(l, series, last);
}

void
list_fini(struct list *l)
{
	free(l->order);
}

const struct err *
list_init(struct list *l, struct store *s, const struct selector *sel,
    unsigned kinds, bool told, int64_t from_ns, int64_t until_ns)
{
	*l = (struct list){.s = s, .sel = sel, .kinds = kinds, .told = told,
	    .from = reader_slot(s, from_ns),
	    .until = reader_slot(s, until_ns + s->manifest.slot_ns - 1)};
	for (int i = 0; i < QUERY_TRIES; i++) {
		uint64_t breaks = s->breaks;
		const struct err *e = list_need(l);

		list_fini(l);
		l->order = NULL;
		if (e == NULL && kinds != 0)
			e = reader_match(s, sel, kinds, &l->order, &l->found);
		if (e == NULL && s->breaks == breaks)
			return NULL;
		if (e != NULL && (e->code != ENOENT ||
		        (e = store_refresh(s)) != NULL))
			return e;
	}
	return err_new(ERR_LIMIT, 503, "the store changes too fast to read");
}

static const struct err *
list_series(struct store *s, const struct selector *sel, unsigned kinds,
    int64_t from_ns, int64_t until_ns, store_series_fn *fn, void *arg)
{
	struct label labels[BATCH_MAX_LABELS];
	struct series_desc d;
	struct list l;
	const struct err *e = list_init(&l, s, sel, kinds, false, from_ns,
	    until_ns);
	bool more = true;

	for (size_t i = 0; e == NULL && i < l.found && more; i++) {
		uint64_t last;

		e = list_last(&l, l.order[i], &last);
		if (e != NULL || last == 0)
			continue;
		symtab_desc(&s->syms, l.order[i], &d, labels,
		    BATCH_MAX_LABELS);
		more = fn(arg, &d, (int64_t)last * s->manifest.slot_ns);
	}
	if (e == NULL)
		list_missing(&l);
	list_fini(&l);
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

/* ---- types ---- */

static void
types_tell(enum series_kind kind, const char *name, const char *unit,
    store_type_fn *fn, void *arg)
{
	char buf[TYPE_NAME_MAX];

	if (series_is_profile(kind))
		fn(arg, kind, type_name(kind, name, unit, buf), unit);
}

/* Of a file that was not opened. */
static void
types_of_word(const char *of, store_type_fn *fn, void *arg)
{
	struct apart_item t;

	for (const char *at = of; apart_next(&at, &t);)
		if (t.profile)
			types_tell((enum series_kind)t.kind, t.name, t.unit,
			    fn, arg);
}

/* What profiles a file has is told by what its series have in common. */
static const struct err *
types_of_file(struct store *s, struct reader_file *f, store_type_fn *fn,
    void *arg)
{
	for (uint32_t i = 0; f->sealed != NULL && i < f->index.n_heads; i++) {
		enum series_kind kind =
		    (enum series_kind)f->index.heads[i].kind;
		uint32_t name = reader_head_string(s, f, i, 0);
		uint32_t unit = reader_head_string(s, f, i, 1);

		if (name == INTERN_NONE || unit == INTERN_NONE)
			return err_nomem();
		types_tell(kind, intern_str(&s->syms.strings, name),
		    intern_str(&s->syms.strings, unit), fn, arg);
	}
	return NULL;
}

/* What came right before is not told again. */
static void
types_of_journal(const struct openspan *o, store_type_fn *fn, void *arg)
{
	const struct open_series *x = &o->lists;
	const struct intern *strings = &o->series.strings;
	uint32_t before = INTERN_NONE;

	for (uint32_t i = 0; i < x->n_services; i++) {
		uint32_t m = x->services[i].first[OPEN_PROFILES];

		for (; m != INTERN_NONE; m = x->members[m].next) {
			uint32_t head = x->members[m].head;
			const struct open_head *h = open_series_head(x, head);

			if (o->ends[m] == 0 || head == before)
				continue;
			before = head;
			types_tell((enum series_kind)h->kind,
			    intern_str(strings, h->name),
			    intern_str(strings, h->unit), fn, arg);
		}
	}
}

const struct err *
store_each_type(struct store *s, store_type_fn *fn, void *arg)
{
	int64_t slot_ns = s->manifest.slot_ns;
	uint64_t from, until;
	struct list l;
	const struct err *e;

	reader_bounds(s, &from, &until);
	e = list_init(&l, s, NULL, 0, true, (int64_t)from * slot_ns,
	    (int64_t)until * slot_ns);
	for (uint32_t i = 0; i < s->n_files && e == NULL; i++) {
		types_of_word(s->files[i].entry.of, fn, arg);
		if (s->files[i].used == s->requests)
			e = types_of_file(s, &s->files[i], fn, arg);
	}
	for (uint32_t j = 0; j < s->n_journals && e == NULL; j++)
		types_of_journal(&s->journals[j]->span, fn, arg);
	if (e == NULL)
		list_missing(&l);
	list_fini(&l);
	return e;
}
