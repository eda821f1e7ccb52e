/*
 * Which services there are, until when, and their types of profiles: of the
 * numbers that each file has for them (roster.h), and not of its series.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/read/query_list.h"

struct services {
	struct list l;
	struct roster *roster;
	uint64_t *last; /* by service: the end of its newest slot, */
	uint32_t cap;   /* 0: none is known */
	uint8_t *has;   /* by pair */
	uint32_t cap_has, n_last, n_has;
};

/* Memory for all that have numbers by now. */
static bool
services_room(struct services *v)
{
	uint32_t services = v->roster->services.n, pairs = v->roster->n_pairs;

	if (!array_room(&v->last, services, &v->cap) ||
	    !array_room(&v->has, pairs, &v->cap_has))
		return false;
	if (services > v->n_last)
		memset(v->last + v->n_last, 0,
		    (services - v->n_last) * sizeof(*v->last));
	if (pairs > v->n_has)
		memset(v->has + v->n_has, 0, pairs - v->n_has);
	v->n_last = services;
	v->n_has = pairs;
	return true;
}

static void
services_saw(struct services *v, uint32_t service, uint64_t end)
{
	if (end > v->last[service])
		v->last[service] = end;
}

/* ---- files ---- */

static struct index_text
services_text(const char *s)
{
	return (struct index_text){(const uint8_t *)s, strlen(s)};
}

/* By the word of a file's line in the manifest. */
static bool
services_of_word(struct services *v, const char *of, uint64_t end)
{
	struct apart_item t;

	while (apart_next(&of, &t)) {
		uint32_t service = roster_service(v->roster, t.service,
		    strlen(t.service)), type, pair = 0;

		if (service == INTERN_NONE)
			return false;
		if (t.profile) {
			type = roster_type(v->roster,
			    (enum series_kind)t.kind, services_text(t.name),
			    services_text(t.unit));
			pair = type == INTERN_NONE ? INTERN_NONE
			    : roster_pair(v->roster, service, type);
		}
		if (pair == INTERN_NONE || !services_room(v))
			return false;
		services_saw(v, service, end);
		if (t.profile)
			v->has[pair] = 1;
	}
	return true;
}

static void
services_of_file(struct services *v, const struct roster_file *x,
    uint64_t end)
{
	for (uint32_t i = 1; i < x->n; i++)
		services_saw(v, x->services[i], end);
	for (uint32_t k = 0; k < x->n_pairs; k++)
		if (x->pairs[k] != INTERN_NONE)
			v->has[x->pairs[k]] = 1;
}

/* Which files of the range there are, and what they have, is known. */
static const struct err *
services_take_files(struct services *v)
{
	struct store *s = v->l.s;
	const struct err *e = NULL;

	for (uint32_t i = 0; i < s->n_files && e == NULL; i++) {
		struct reader_file *f = &s->files[i];

		if (f->sealed == NULL || f->entry.of[0] != '\0' ||
		    (list_end(&v->l, f) == 0 &&
		    (f != v->l.summary || v->l.known)))
			continue;
		e = f == v->l.summary ? roster_take_lives(s, f)
		                      : roster_take(s, f);
		e = e == NULL ? NULL : reader_failed(s, f, e);
	}
	return e;
}

static bool
services_of_files(struct services *v)
{
	struct store *s = v->l.s;

	for (uint32_t i = 0; i < s->n_files; i++) {
		struct reader_file *f = &s->files[i];
		uint64_t end = list_end(&v->l, f);

		if (end == 0)
			continue;
		if (f->entry.of[0] != '\0') {
			if (!services_of_word(v, f->entry.of, end))
				return false;
		} else if (f->roster != NULL) {
			services_of_file(v, f->roster, end);
		}
	}
	return true;
}

/* ---- journals ---- */

/* The end of the newest slot of a service in the range; 0: it has none. */
static uint64_t
services_newest(const struct services *v, struct openspan *o,
    const struct open_service *x)
{
	uint64_t newest = 0;

	if (x->end <= v->l.until)
		return x->end > v->l.from ? x->end : 0;
	for (int k = 0; k < OPEN_LISTS; k++) {
		uint32_t i = x->first[k];

		for (; i != INTERN_NONE; i = o->lists.members[i].next) {
			uint64_t end = openspan_strip_newest(o, i, v->l.from,
			    v->l.until);

			newest = end > newest ? end : newest;
		}
	}
	return newest;
}

/* The type of a head; `known` are those that were asked for. */
static uint32_t
services_type(struct services *v, const struct openspan *o, uint32_t head,
    uint32_t *known)
{
	const struct open_head *h = open_series_head(&o->lists, head);
	const struct intern *t = &o->series.strings;

	if (known[head] == INTERN_NONE)
		known[head] = roster_type(v->roster,
		    (enum series_kind)h->kind,
		    (struct index_text){intern_at(t, h->name),
		        t->items[h->name].len},
		    (struct index_text){intern_at(t, h->unit),
		        t->items[h->unit].len});
	return known[head];
}

static bool
services_open_profiles(struct services *v, struct openspan *o,
    uint32_t first, uint32_t service, uint32_t *types)
{
	for (uint32_t i = first; i != INTERN_NONE;
	     i = o->lists.members[i].next) {
		uint32_t type, pair;

		if (openspan_strip_newest(o, i, v->l.from, v->l.until) == 0)
			continue;
		type = services_type(v, o, o->lists.members[i].head, types);
		pair = type == INTERN_NONE ? INTERN_NONE
		    : roster_pair(v->roster, service, type);
		if (pair == INTERN_NONE || !services_room(v))
			return false;
		v->has[pair] = 1;
	}
	return true;
}

static bool
services_of_journal(struct services *v, struct openspan *o)
{
	const struct open_series *x = &o->lists;
	uint32_t *types = malloc((x->heads.n + 1) * sizeof(*types));
	bool fine = types != NULL;

	if (fine)
		memset(types, 0xff, x->heads.n * sizeof(*types));
	for (uint32_t i = 1; i < x->n_services && fine; i++) {
		uint64_t end = services_newest(v, o, &x->services[i]);
		uint32_t service;

		if (end == 0)
			continue;
		service = roster_service(v->roster,
		    intern_at(&x->names, i - 1), x->names.items[i - 1].len);
		fine = service != INTERN_NONE && services_room(v);
		if (!fine)
			break;
		services_saw(v, service, end);
		fine = services_open_profiles(v, o,
		    x->services[i].first[OPEN_PROFILES], service, types);
	}
	free(types);
	return fine;
}

/* ---- the summary ---- */

/* The end of the summary's block with this number. */
static uint64_t
services_block_end(const struct services *v, uint32_t block)
{
	const struct reader_file *f = v->l.summary;
	uint64_t end = ((uint64_t)block + 1) *
	    seg_slots(f->roster->lives.level);

	end = end < f->entry.until ? end : f->entry.until;
	return end < v->l.until ? end : v->l.until;
}

/* Of those that no other file has told of: all that the range touches. */
static void
services_of_summary(struct services *v)
{
	const struct roster_file *x = v->l.summary->roster;
	uint32_t from = roster_block(x, v->l.from);
	uint32_t until = roster_block_end(x, v->l.until);

	for (uint32_t i = 1, k = x->ends[0]; i < x->n; i++) {
		uint32_t block = roster_newest(x, i, from, until);
		uint32_t service = x->services[i];

		if (block != UINT32_MAX && v->last[service] == 0)
			v->last[service] = services_block_end(v, block);
		for (; k < x->ends[i]; k++)
			if (block != UINT32_MAX && roster_newest_profile(x, i,
			        k, from, until) != UINT32_MAX)
				v->has[x->pairs[k]] = 1;
	}
}

/* ---- the whole ---- */

/* Again where a file is found broken. */
static const struct err *
services_find_files(struct services *v, struct store *s, int64_t from_ns,
    int64_t until_ns)
{
	for (int i = 0; i < QUERY_TRIES; i++) {
		uint64_t breaks = s->breaks;
		const struct err *e = list_init(&v->l, s, NULL, 0, true,
		    from_ns, until_ns);

		if (e == NULL)
			e = services_take_files(v);
		if (e != NULL || s->breaks == breaks)
			return e;
	}
	return err_new(ERR_LIMIT, 503, "the store changes too fast to read");
}

static const struct err *
services_find_all(struct services *v, int64_t from_ns, int64_t until_ns)
{
	struct store *s = v->l.s;
	const struct err *e = services_find_files(v, s, from_ns, until_ns);
	bool fine;

	if (e != NULL)
		return e;
	fine = services_room(v) && services_of_files(v);
	for (uint32_t j = 0; j < s->n_journals && fine; j++)
		fine = services_of_journal(v, &s->journals[j]->span);
	if (fine && !v->l.known && v->l.summary != NULL &&
	    v->l.summary->roster != NULL)
		services_of_summary(v);
	if (!fine || !roster_sort(v->roster))
		return err_nomem();
	list_missing(&v->l);
	return NULL;
}

/* Types of a service that were found, in their order; there is room. */
static size_t
services_profiles(const struct services *v, uint32_t service,
    uint32_t *types)
{
	const struct roster *r = v->roster;
	size_t n = 0;

	for (uint32_t i = r->firsts[service]; i != INTERN_NONE;
	     i = r->pairs[i].next) {
		uint32_t type = r->pairs[i].type;
		size_t at = n;

		if (!v->has[i])
			continue;
		for (; at > 0 && r->ranks[types[at - 1]] > r->ranks[type];
		     at--)
			types[at] = types[at - 1];
		types[at] = type;
		n++;
	}
	return n;
}

static const struct err *
services_tell(const struct services *v, store_service_fn *fn, void *arg)
{
	const struct roster *r = v->roster;
	uint32_t *types = malloc((r->types.n + 1) * sizeof(*types));
	const char **names = malloc((r->types.n + 1) * sizeof(*names));
	const struct err *e = types == NULL || names == NULL ? err_nomem()
	                                                     : NULL;
	bool more = e == NULL;

	for (uint32_t i = 0; i < r->n_order && more; i++) {
		uint32_t service = r->order[i];
		struct store_service x = {intern_str(&r->services, service),
		    (int64_t)v->last[service] * v->l.s->manifest.slot_ns,
		    names, 0};

		if (v->last[service] == 0)
			continue;
		x.n_profiles = services_profiles(v, service, types);
		for (size_t k = 0; k < x.n_profiles; k++)
			names[k] = intern_str(&r->strings,
			    r->shown[types[k]]);
		more = fn(arg, &x);
	}
	free(types);
	free(names);
	return e;
}

const struct err *
store_each_service(struct store *s, int64_t from_ns, int64_t until_ns,
    store_service_fn *fn, void *arg)
{
	struct services v = {.l = {.s = s}, .roster = &s->roster};
	const struct err *e = services_find_all(&v, from_ns, until_ns);

	if (e == NULL)
		e = services_tell(&v, fn, arg);
	list_fini(&v.l);
	free(v.last);
	free(v.has);
	return e;
}
