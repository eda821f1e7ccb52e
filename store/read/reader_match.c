/*
 * Which series match a selector.  A reader may know tens of thousands, of
 * programs that ran for seconds: what their names and their labels have to do
 * with the selector is asked once for each name and label set, and their order
 * is kept from one question to the next.  Most questions are of one service:
 * series of others are passed over by its number.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/model/types.h"
#include "store/read/made.h"
#include "store/read/reader.h"

#define MATCH_FEW 256 /* new series that are sorted as they are */

/* What is known so far; 0: not asked yet. */
enum { MATCH_YES = 1, MATCH_NO };

struct match {
	struct store *s;
	const struct selector *sel;
	const struct type *made; /* whose parts match, too, or NULL */
	uint8_t *sets; /* by label set, of metrics and profiles */
	uint32_t service; /* string; INTERN_NONE: of any */
};

static int
match_compare(const void *a, const void *b, void *syms)
{
	const struct reader_series *x = a, *y = b;

	return symtab_compare_series(syms, x->series, y->series);
}

/* Puts n new ones, in order, among those that are sorted. */
static void
match_merge(struct store *s, const struct reader_series *new, uint32_t n)
{
	uint32_t old = s->n_sorted, to = old + n;

	s->n_sorted = to;
	while (n > 0) {
		if (old > 0 && match_compare(&s->sorted[old - 1], &new[n - 1],
		        &s->syms) > 0)
			s->sorted[--to] = s->sorted[--old];
		else
			s->sorted[--to] = new[--n];
	}
}

static void
match_runs(struct store *s)
{
	for (uint32_t i = s->n_sorted; i-- > 0;) {
		struct reader_series *x = &s->sorted[i];
		const struct reader_series *y = x + 1;

		x->next = i + 1 < s->n_sorted && x->name == y->name &&
		    x->unit == y->unit && x->kind == y->kind
		    ? y->next
		    : i + 1;
	}
}

/* The value of the label `service`, or INTERN_NONE. */
static uint32_t
match_service(const struct symtab *t, uint32_t set)
{
	const uint32_t *pairs = intern_at(&t->labels, set);

	for (size_t i = 0, n = symtab_n_labels(t, set); i < n; i++) {
		if (strcmp(intern_str(&t->strings, pairs[2 * i]),
		        "service") == 0)
			return pairs[2 * i + 1];
	}
	return INTERN_NONE;
}

uint32_t
reader_service(const struct store *s, uint32_t series)
{
	return match_service(&s->syms, symtab_series(&s->syms, series)->labels);
}

/* ---- the order of new ones ---- */

static int
match_compare_sets(const void *a, const void *b, void *syms)
{
	return symtab_compare_labels(syms, *(const uint32_t *)a,
	    *(const uint32_t *)b);
}

/* Of all label sets the place in their order: there are far fewer of them than
 * of series, whose comparison they are most of.  NULL: out of memory. */
static uint32_t *
match_rank_sets(const struct symtab *t)
{
	uint32_t n = t->labels.n;
	uint32_t *ranks = malloc((n + 1) * sizeof(*ranks));
	uint32_t *sets = malloc((n + 1) * sizeof(*sets));

	for (uint32_t i = 0; i < n && sets != NULL; i++)
		sets[i] = i;
	if (ranks != NULL && sets != NULL) {
		qsort_r(sets, n, sizeof(*sets), match_compare_sets,
		    (void *)(uintptr_t)t);
		for (uint32_t i = 0; i < n; i++)
			ranks[sets[i]] = i;
	} else {
		free(ranks);
		ranks = NULL;
	}
	free(sets);
	return ranks;
}

struct match_order {
	const struct symtab *syms;
	const uint32_t *ranks;
};

/* symtab_compare_series()'s order. */
static int
match_compare_new(const void *a, const void *b, void *arg)
{
	const struct reader_series *x = a, *y = b;
	const struct match_order *o = arg;
	uint32_t left, right;

	if (symtab_series(o->syms, x->series)->name !=
	    symtab_series(o->syms, y->series)->name || x->labels == y->labels)
		return symtab_compare_series(o->syms, x->series, y->series);
	left = o->ranks[x->labels];
	right = o->ranks[y->labels];
	return left < right ? -1 : 1;
}

static const struct err *
match_sort_new(const struct symtab *t, struct reader_series *new, uint32_t n)
{
	struct match_order o = {t, n > MATCH_FEW ? match_rank_sets(t) : NULL};

	if (n > MATCH_FEW && o.ranks == NULL)
		return err_nomem();
	if (n > MATCH_FEW)
		qsort_r(new, n, sizeof(*new), match_compare_new, &o);
	else
		qsort_r(new, n, sizeof(*new), match_compare,
		    (void *)(uintptr_t)t);
	free((void *)(uintptr_t)o.ranks);
	return NULL;
}

const struct err *
reader_sort(struct store *s)
{
	uint32_t n = s->syms.series.n - s->n_sorted;
	struct reader_series *new = n == 0 ? NULL : malloc(n * sizeof(*new));
	const struct err *e;

	if (n == 0)
		return NULL;
	if (new == NULL || !open_room((void **)&s->sorted, s->syms.series.n,
	        &s->cap_sorted, sizeof(*s->sorted))) {
		free(new);
		return err_nomem();
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t series = s->n_sorted + i;
		const struct sym_series *x = symtab_series(&s->syms, series);

		new[i] = (struct reader_series){series, x->labels,
		    x->shown != 0 ? x->shown : x->name, x->unit, x->kind,
		    match_service(&s->syms, x->labels), 0};
	}
	e = match_sort_new(&s->syms, new, n);
	if (e == NULL) {
		match_merge(s, new, n);
		match_runs(s);
	}
	free(new);
	return e;
}

bool
reader_match_name(const struct selector *sel, const struct type *made,
    struct series_desc d)
{
	if (made != NULL && series_is_profile(d.kind) &&
	    made_part(made, d.name) > 0)
		d.name = made->name;
	return sel == NULL || selector_match_name(sel, &d);
}

static bool
match_name(const struct match *m, const struct reader_series *x)
{
	struct series_desc d;

	symtab_desc(&m->s->syms, x->series, &d, NULL, 0);
	return reader_match_name(m->sel, m->made, d);
}

static bool
match_labels(struct match *m, const struct reader_series *x)
{
	uint8_t *set = &m->sets[2 * x->labels +
	    series_is_profile((enum series_kind)x->kind)];
	struct label labels[BATCH_MAX_LABELS];
	struct series_desc d;

	if (m->sel == NULL)
		return true;
	if (*set == 0) {
		symtab_desc(&m->s->syms, x->series, &d, labels,
		    BATCH_MAX_LABELS);
		*set = selector_match_labels(m->sel, &d) ? MATCH_YES
		                                         : MATCH_NO;
	}
	return *set == MATCH_YES;
}

/* Does the selector name a service?  False: one that nothing has. */
static bool
match_wants_service(struct match *m)
{
	const char *name = m->sel == NULL
	    ? NULL : selector_equals(m->sel, "service");

	m->service = INTERN_NONE;
	if (name == NULL || *name == '\0')
		return true;
	m->service = intern_find(&m->s->syms.strings, name, strlen(name));
	return m->service != INTERN_NONE;
}

/* What the files of this request may have of them. */
static const struct err *
match_need(struct store *s, const struct selector *sel, unsigned kinds,
    const struct reader_range *range)
{
	const struct err *e = NULL;

	for (uint32_t i = 0; i < s->n_files && e == NULL; i++) {
		struct reader_file *f = &s->files[i];

		if (f->sealed != NULL && f->used == s->requests)
			e = reader_need_series(s, f, sel, kinds, range);
	}
	return e;
}

const struct err *
reader_match(struct store *s, const struct selector *sel, unsigned kinds,
    uint32_t **series, size_t *n)
{
	return reader_match_range(s, sel, kinds, NULL, series, n);
}

const struct err *
reader_match_range(struct store *s, const struct selector *sel,
    unsigned kinds, const struct reader_range *range, uint32_t **series,
    size_t *n)
{
	struct match m = {.s = s, .sel = sel, .made = made_type(sel)};
	const struct err *e = match_need(s, sel, kinds, range);
	bool any;

	*n = 0;
	if (e == NULL)
		e = reader_need_listed(s, sel, kinds, range);
	if (e == NULL)
		e = reader_sort(s);
	any = match_wants_service(&m);
	*series = malloc((s->syms.series.n + 1) * sizeof(**series));
	m.sets = calloc(2 * (size_t)s->syms.labels.n + 2, 1);
	if (e == NULL && (*series == NULL || m.sets == NULL))
		e = err_nomem();
	for (uint32_t i = 0, end; i < s->n_sorted && any && e == NULL;
	     i = end) {
		const struct reader_series *x = &s->sorted[i];

		end = x->next;
		if (!(kinds >> x->kind & 1) || !match_name(&m, x))
			continue;
		for (; i < end; i++, x++)
			if ((m.service == INTERN_NONE ||
			        x->service == m.service) &&
			    match_labels(&m, x))
				(*series)[(*n)++] = x->series;
	}
	if (e == NULL)
		e = selector_check(sel);
	free(m.sets);
	return e;
}
