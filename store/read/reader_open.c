/*
 * Questions to the reader's journals: which series they have, of which only
 * those that are asked for get a number in the reader's table, and what these
 * have.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/model/type.h"
#include "store/read/made.h"
#include "store/read/reader.h"

#define READER_AHEAD (8u << 20) /* bytes that a question reads ahead */

/* ---- series ---- */

struct listed {
	struct openspan *o;
	const struct selector *sel;
	const struct type *made; /* that it asks for, or NULL */
	unsigned kinds;
	const struct reader_range *range; /* or NULL */
	uint8_t *heads; /* 0: not asked yet; else LISTED_NO or _YES */
};

enum { LISTED_YES = 1, LISTED_NO };

/* May series with this head match? */
static bool
listed_head(struct listed *l, uint32_t head)
{
	const struct open_head *h = open_series_head(&l->o->lists, head);
	enum series_kind kind = (enum series_kind)h->kind;
	const struct intern *strings = &l->o->series.strings;
	struct series_desc d = {.kind = kind,
	    .name = intern_str(strings, h->name),
	    .unit = intern_str(strings, h->unit)};
	char buf[TYPE_NAME_MAX];
	bool match;

	if (l->heads[head] == 0) {
		if (series_is_profile(kind))
			d.name = type_name(kind, d.name, d.unit, buf);
		match = (l->kinds >> kind & 1) != 0 &&
		    reader_match_name(l->sel, l->made, d);
		l->heads[head] = match ? LISTED_YES : LISTED_NO;
	}
	return l->heads[head] == LISTED_YES;
}

static const struct err *
listed_all(struct listed *l)
{
	const struct open_series *x = &l->o->lists;
	const struct err *e = NULL;

	l->heads = calloc(x->heads.n + 1, 1);
	if (l->heads == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < l->o->n_strips && e == NULL; i++) {
		if ((l->range == NULL || l->o->ends[i] > l->range->from) &&
		    listed_head(l, x->members[i].head))
			e = openspan_name_strip(l->o, i);
	}
	free(l->heads);
	return e;
}

static const struct err *
listed_of_service(struct listed *l, uint32_t service)
{
	const struct open_service *x = &l->o->lists.services[service];
	const unsigned kinds[OPEN_LISTS] = {READER_PROFILES,
	    ~READER_PROFILES};
	const struct err *e = NULL;

	for (int k = 0; k < OPEN_LISTS; k++) {
		uint32_t i = l->kinds & kinds[k] ? x->first[k] : INTERN_NONE;

		for (; i != INTERN_NONE && e == NULL;
		     i = l->o->lists.members[i].next)
			e = openspan_name_strip(l->o, i);
	}
	return e;
}

static const struct err *
listed_of_journal(struct listed *l)
{
	const char *name = l->sel == NULL
	    ? NULL : selector_equals(l->sel, "service");
	const struct err *e = NULL;
	uint32_t service;

	if (name == NULL)
		return listed_all(l);
	if (*name == '\0' && l->o->lists.n_services > 0)
		e = listed_of_service(l, 0);
	service = open_series_find(&l->o->lists, name, strlen(name));
	return e == NULL && service != INTERN_NONE
	    ? listed_of_service(l, service) : e;
}

const struct err *
reader_need_listed(struct store *s, const struct selector *sel,
    unsigned kinds, const struct reader_range *range)
{
	const struct err *e = NULL;

	for (uint32_t j = 0; j < s->n_journals && e == NULL; j++) {
		struct listed l = {&s->journals[j]->span, sel, made_type(sel),
		    kinds, range, NULL};

		e = listed_of_journal(&l);
	}
	return e;
}

/* ---- what they have ---- */

const struct err *
reader_read_open(struct store *s, const uint32_t *series, size_t n,
    uint64_t from, uint64_t until)
{
	const struct err *e = NULL;

	for (uint32_t j = 0; j < s->n_journals && e == NULL; j++)
		e = openspan_read_ahead(&s->journals[j]->span, series, n,
		    from, until, READER_AHEAD);
	return e;
}

void
reader_rest_open(struct store *s)
{
	for (uint32_t j = 0; j < s->n_journals; j++)
		openspan_drop_ahead(&s->journals[j]->span);
}

const struct err *
reader_need_open(struct store *s, const uint32_t *series, size_t n,
    uint64_t from, uint64_t until)
{
	const struct err *e = reader_read_open(s, series, n, from, until);

	for (uint32_t j = 0; j < s->n_journals && e == NULL; j++) {
		struct openspan *o = &s->journals[j]->span;
		const struct err *done;

		for (size_t i = 0; i < n && e == NULL; i++)
			e = openspan_need(o, series[i], from, until);
		done = openspan_resolve(o, s->most_nodes);
		e = e == NULL ? done : e;
	}
	return e;
}

uint64_t
reader_newest_open(const struct store *s, uint32_t series, uint64_t from,
    uint64_t until)
{
	uint64_t newest = 0;

	for (uint32_t j = 0; j < s->n_journals; j++) {
		uint64_t end = openspan_newest(&s->journals[j]->span, series,
		    from, until);

		newest = end > newest ? end : newest;
	}
	return newest;
}
