/*
 * Which services there are, and until when.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/read/query_list.h"

struct services {
	struct list l;
	struct intern names;
	uint64_t *last; /* by name: the end of its newest slot, */
	uint32_t cap;   /* 0: not known yet */
	uint64_t *born; /* the same: the start of its first one in the
	                 * summary, where that was looked for */
};

/* The number of a service that ends at `last` or later. */
static uint32_t
services_put(struct services *v, const void *name, size_t n, uint64_t last)
{
	uint32_t before = v->names.n;
	uint32_t i = intern_put(&v->names, name, n);

	if (i == INTERN_NONE || !array_room(&v->last, i + 1, &v->cap))
		return INTERN_NONE;
	if (v->names.n > before)
		v->last[i] = 0;
	if (last > v->last[i])
		v->last[i] = last;
	return i;
}

static bool
services_of_file(struct services *v, const struct reader_file *f)
{
	uint64_t end = list_end(&v->l, f);
	const char *at = f->entry.of;
	struct apart_item told;
	const uint8_t *name;
	size_t n;

	while (end != 0 && apart_next(&at, &told))
		if (services_put(v, told.service, strlen(told.service),
		        end) == INTERN_NONE)
			return false;
	for (uint32_t i = 1; end != 0 && i < f->index.n_services; i++) {
		name = series_index_service(&f->index, i, &n);
		if (services_put(v, name, n, end) == INTERN_NONE)
			return false;
	}
	return true;
}

/* Of each string that is a service the number among those, and one. */
static bool
services_of_journals(struct services *v)
{
	struct store *s = v->l.s;
	const struct intern *strings = &s->syms.strings;
	uint32_t *known = calloc(strings->n + 1, sizeof(*known));
	bool fine = known != NULL;

	for (uint32_t i = 0; i < s->n_sorted && fine; i++) {
		const struct reader_series *x = &s->sorted[i];
		uint64_t end;

		if (x->service == INTERN_NONE || (end = reader_newest_open(s,
		        x->series, v->l.from, v->l.until)) == 0)
			continue;
		if (known[x->service] == 0)
			known[x->service] = 1 + services_put(v,
			    intern_at(strings, x->service),
			    strings->items[x->service].len, end);
		fine = known[x->service] != 0;
		if (fine && end > v->last[known[x->service] - 1])
			v->last[known[x->service] - 1] = end;
	}
	free(known);
	return fine;
}

/* The number of a series' service, if it is one of those from `first` on. */
static uint32_t
services_find(const struct services *v, uint32_t series, uint32_t first)
{
	const struct intern *strings = &v->l.s->syms.strings;
	uint32_t service = reader_service(v->l.s, series), i = INTERN_NONE;

	if (service != INTERN_NONE)
		i = intern_find(&v->names, intern_at(strings, service),
		    strings->items[service].len);
	return i != INTERN_NONE && i >= first ? i : INTERN_NONE;
}

static int
services_compare(const void *a, const void *b)
{
	const struct reader_known *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* The start of a series' first block in the summary, if that is less. */
static const struct err *
services_first(const struct services *v, struct reader_file *f,
    uint32_t number, uint64_t *born)
{
	const struct block *b;
	const struct err *e;

	if (f->sealed == NULL) /* it has broken */
		return NULL;
	e = sealed_seek(f->sealed, number, f->sealed->meta.base, 0, &b);
	if (e != NULL)
		return reader_failed(v->l.s, f, e);
	if (b != NULL && b->start < *born)
		*born = b->start;
	return NULL;
}

/* Series of services from `first` on, in the order in which the file has
 * them: to read its large pages here and there takes thirty times as long. */
static const struct err *
services_seek(struct services *v, struct reader_file *f, uint32_t first)
{
	struct reader_known *list = malloc((f->known.n + 1) * sizeof(*list));
	const struct err *e = list == NULL ? err_nomem() : NULL;
	uint64_t most = f->entry.until < v->l.until ? f->entry.until
	                                            : v->l.until;
	uint32_t n = 0;

	for (uint32_t k = 0; list != NULL && k < f->known.n; k++)
		if (services_find(v, f->known.list[k].series, first) !=
		    INTERN_NONE)
			list[n++] = f->known.list[k];
	if (n > 0)
		qsort(list, n, sizeof(*list), services_compare);
	for (uint32_t k = 0; k < n && e == NULL; k++) {
		uint32_t i = services_find(v, list[k].series, first);
		uint64_t last = 0;

		if (v->last[i] >= most) /* no series ends later */
			continue;
		e = services_first(v, f, list[k].number, &v->born[i]);
		if (e == NULL && v->born[i] < v->l.until)
			e = list_summary_last(&v->l, list[k].series, &last);
		if (last > v->last[i])
			v->last[i] = last;
	}
	free(list);
	return e;
}

/* Is it known that a service of the summary began later? */
static bool
services_later(const struct services *v, const struct reader_file *f,
    uint32_t i)
{
	return f->born != NULL && f->born[i] >= v->l.until;
}

/* Keeps when those began that have nothing in the range: programs that ran for
 * seconds are most of a list, and each of their series was looked for. */
static void
services_keep_born(struct services *v, struct reader_file *f, uint32_t first)
{
	const uint8_t *name;
	uint32_t known;
	size_t n;

	if (f->sealed != NULL && f->born == NULL)
		f->born = calloc(f->index.n_services, sizeof(*f->born));
	for (uint32_t i = 1; f->sealed != NULL && f->born != NULL &&
	     i < f->index.n_services; i++) {
		name = series_index_service(&f->index, i, &n);
		known = intern_find(&v->names, name, n);
		if (known != INTERN_NONE && known >= first &&
		    v->last[known] == 0)
			f->born[i] = v->born[known];
	}
}

/* Takes up those that no other file has told of. */
static const struct err *
services_need(struct services *v, struct reader_file *f, uint32_t first)
{
	const struct err *e = NULL;

	for (uint32_t i = 1; f->sealed != NULL && e == NULL &&
	     i < f->index.n_services; i++) {
		const uint8_t *name;
		uint32_t known;
		size_t n;

		if (services_later(v, f, i))
			continue;
		name = series_index_service(&f->index, i, &n);
		known = services_put(v, name, n, 0);
		if (known == INTERN_NONE)
			return err_nomem();
		for (int k = 0; k < INDEX_LISTS && known >= first &&
		     f->sealed != NULL && e == NULL; k++)
			e = reader_need_service(v->l.s, f, i, k);
	}
	return e;
}

/* Series by series. */
static const struct err *
services_of_summary(struct services *v)
{
	struct reader_file *f = v->l.summary;
	uint32_t first = v->names.n;
	const struct err *e = services_need(v, f, first);

	v->born = malloc((v->names.n + 1) * sizeof(*v->born));
	if (v->born == NULL)
		return err_nomem();
	memset(v->born, 0xff, (v->names.n + 1) * sizeof(*v->born));
	if (e == NULL)
		e = services_seek(v, f, first);
	if (e == NULL)
		services_keep_born(v, f, first);
	return e;
}

static const struct err *
services_find_all(struct services *v, int64_t from_ns, int64_t until_ns)
{
	struct store *s = v->l.s;
	const struct err *e = list_init(&v->l, s, NULL, 0, true, from_ns,
	    until_ns);
	bool fine = true;

	if (e == NULL)
		e = reader_sort(s);
	if (e != NULL)
		return e;
	for (uint32_t i = 0; i < s->n_files && fine; i++)
		fine = services_of_file(v, &s->files[i]);
	if (!fine || !services_of_journals(v))
		return err_nomem();
	e = v->l.known || v->l.summary == NULL ? NULL : services_of_summary(v);
	if (e == NULL)
		list_missing(&v->l);
	return e;
}

const struct err *
store_each_service(struct store *s, int64_t from_ns, int64_t until_ns,
    store_service_fn *fn, void *arg)
{
	struct services v = {.l = {.s = s}};
	const struct err *e = services_find_all(&v, from_ns, until_ns);

	for (uint32_t i = 0; e == NULL && i < v.names.n; i++) {
		if (v.last[i] != 0 && !fn(arg, intern_str(&v.names, i),
		        (int64_t)v.last[i] * s->manifest.slot_ns))
			break;
	}
	list_fini(&v.l);
	intern_fini(&v.names);
	free(v.last);
	free(v.born);
	return e;
}
