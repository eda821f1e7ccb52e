/*
 * Lists are chains, the newest series first: a journal gets them one by one.
 */
#include "store/journal/open_series.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/batch/symtab.h"

void
open_series_fini(struct open_series *x)
{
	intern_fini(&x->names);
	intern_fini(&x->heads);
	free(x->services);
	free(x->members);
	*x = (struct open_series){0};
}

size_t
open_series_bytes(const struct open_series *x)
{
	return intern_bytes(&x->names) +
	    intern_bytes(&x->heads) +
	    x->cap_services * sizeof(*x->services) +
	    x->cap * sizeof(*x->members);
}

/* Which of a set's pairs is the service; NULL: none is. */
static const struct intern_item *
open_series_label(const struct symtab *t, uint32_t set)
{
	const uint32_t *pairs = intern_at(&t->labels, set);

	for (size_t i = 0, n = symtab_n_labels(t, set); i < n; i++)
		if (strcmp(intern_str(&t->strings, pairs[2 * i]),
		        "service") == 0)
			return &t->strings.items[pairs[2 * i + 1]];
	return NULL;
}

/* Service numbers up to this one are there. */
static bool
open_series_room(struct open_series *x, uint32_t service)
{
	if (!array_room(&x->services, (size_t)service + 1, &x->cap_services))
		return false;
	for (; x->n_services <= service; x->n_services++)
		x->services[x->n_services] = (struct open_service){
		    .first = {INTERN_NONE, INTERN_NONE}};
	return true;
}

/* The service of a label set; INTERN_NONE: out of memory. */
static uint32_t
open_series_service(struct open_series *x, const struct symtab *t,
    uint32_t set)
{
	const struct intern_item *name;
	uint32_t i;

	if (x->n > 0 && x->last_set == set)
		return x->members[x->n - 1].service;
	name = open_series_label(t, set);
	if (name == NULL)
		return 0;
	i = intern_put(&x->names, t->strings.bytes.data + name->first,
	    name->len);
	return i == INTERN_NONE ? INTERN_NONE : i + 1;
}

static bool
open_series_take_one(struct open_series *x, const struct symtab *t)
{
	const struct sym_series *s = symtab_series(t, x->n);
	struct open_head head = {s->kind, s->name, s->unit};
	struct open_member m = {.service = open_series_service(x, t,
	    s->labels)};
	uint32_t *first;

	x->heads.aligned = true;
	m.head = intern_put(&x->heads, &head, sizeof(head));
	if (m.head == INTERN_NONE || m.service == INTERN_NONE ||
	    !open_series_room(x, m.service) ||
	    !array_room(&x->members, (size_t)x->n + 1, &x->cap))
		return false;
	first = &x->services[m.service].first[series_is_profile(
	    (enum series_kind)s->kind) ? OPEN_PROFILES : OPEN_METRICS];
	m.next = *first;
	*first = x->n;
	x->members[x->n++] = m;
	x->last_set = s->labels;
	return true;
}

bool
open_series_take(struct open_series *x, const struct symtab *t)
{
	while (x->n < t->series.n)
		if (!open_series_take_one(x, t))
			return false;
	return true;
}

uint32_t
open_series_find(const struct open_series *x, const void *name, size_t n)
{
	uint32_t i = intern_find(&x->names, name, n);

	return i == INTERN_NONE ? INTERN_NONE : i + 1;
}
