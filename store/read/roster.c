/*
 * A file's numbers are looked up once, when a list first reads it.
 */
#include "store/read/roster.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/model/type.h"
#include "store/read/reader.h"

void
roster_fini(struct roster *r)
{
	intern_fini(&r->services);
	intern_fini(&r->strings);
	intern_fini(&r->types);
	map64_fini(&r->known);
	free(r->shown);
	free(r->ranks);
	free(r->pairs);
	free(r->firsts);
	free(r->order);
	*r = (struct roster){0};
}

size_t
roster_bytes(const struct roster *r)
{
	return intern_bytes(&r->services) +
	    intern_bytes(&r->strings) +
	    intern_bytes(&r->types) +
	    r->known.cap * sizeof(*r->known.pairs) +
	    r->cap_pairs * sizeof(*r->pairs) +
	    (r->cap_shown + r->cap_ranks + r->cap_firsts + r->cap_order) *
	        sizeof(uint32_t);
}

void
roster_file_free(struct roster_file *x)
{
	if (x == NULL)
		return;
	free(x->services);
	free(x->ends);
	free(x->pairs);
	lives_fini(&x->lives);
	free(x);
}

size_t
roster_file_bytes(const struct roster_file *x)
{
	return x == NULL ? 0
	                 : sizeof(*x) + 2 * x->n * sizeof(uint32_t) +
	        x->cap_pairs * sizeof(*x->pairs) + lives_bytes(&x->lives);
}

/* ---- numbers ---- */

uint32_t
roster_service(struct roster *r, const void *name, size_t n)
{
	uint32_t i = intern_put(&r->services, name, n);

	if (i == INTERN_NONE || !array_room(&r->firsts, (size_t)i + 1,
	        &r->cap_firsts))
		return INTERN_NONE;
	for (; r->n_firsts <= i; r->n_firsts++)
		r->firsts[r->n_firsts] = INTERN_NONE;
	return i;
}

/* How the next type is shown. */
static bool
roster_show(struct roster *r)
{
	const struct roster_type *t = intern_at(&r->types, r->n_shown);
	char buf[TYPE_NAME_MAX];
	const char *name = type_name((enum series_kind)t->kind,
	    intern_str(&r->strings, t->name), intern_str(&r->strings, t->unit),
	    buf);
	uint32_t shown = t->name;

	if (name == buf)
		shown = intern_put(&r->strings, name, strlen(name));
	if (shown == INTERN_NONE || !array_room(&r->shown,
	        (size_t)r->n_shown + 1, &r->cap_shown))
		return false;
	r->shown[r->n_shown++] = shown;
	return true;
}

uint32_t
roster_type(struct roster *r, enum series_kind kind, struct index_text name,
    struct index_text unit)
{
	struct roster_type t = {(uint32_t)kind,
	    intern_put(&r->strings, name.p, name.n),
	    intern_put(&r->strings, unit.p, unit.n)};
	uint32_t i;

	r->types.aligned = true;
	if (t.name == INTERN_NONE || t.unit == INTERN_NONE ||
	    (i = intern_put(&r->types, &t, sizeof(t))) == INTERN_NONE)
		return INTERN_NONE;
	while (r->n_shown <= i)
		if (!roster_show(r))
			return INTERN_NONE;
	return i;
}

uint32_t
roster_pair(struct roster *r, uint32_t service, uint32_t type)
{
	uint64_t key = (uint64_t)service << 32 | type;
	uint32_t i = map64_get(&r->known, key);

	if (i != INTERN_NONE)
		return i;
	if (!array_room(&r->pairs, (size_t)r->n_pairs + 1, &r->cap_pairs) ||
	    !map64_add(&r->known, key, r->n_pairs))
		return INTERN_NONE;
	r->pairs[r->n_pairs] = (struct roster_pair){service, type,
	    r->firsts[service]};
	return r->firsts[service] = r->n_pairs++;
}

/* ---- orders ---- */

static int
roster_compare(const void *a, const void *b, void *services)
{
	return intern_compare(services, *(const uint32_t *)a,
	    *(const uint32_t *)b);
}

/* The new ones by themselves, then among the others. */
static bool
roster_sort_services(struct roster *r)
{
	uint32_t old = r->n_order, n = r->services.n - old, to = old + n;
	uint32_t *new;

	if (n == 0)
		return true;
	new = malloc(n * sizeof(*new));
	if (new == NULL || !array_room(&r->order, to, &r->cap_order)) {
		free(new);
		return false;
	}
	for (uint32_t i = 0; i < n; i++)
		new[i] = old + i;
	qsort_r(new, n, sizeof(*new), roster_compare, &r->services);
	r->n_order = to;
	while (n > 0) {
		if (old > 0 && intern_compare(&r->services, r->order[old - 1],
		        new[n - 1]) > 0)
			r->order[--to] = r->order[--old];
		else
			r->order[--to] = new[--n];
	}
	free(new);
	return true;
}

/* As symtab_compare_series() has series that differ in these alone. */
static int
roster_compare_types(const struct roster *r, uint32_t a, uint32_t b)
{
	const struct roster_type *x = intern_at(&r->types, a);
	const struct roster_type *y = intern_at(&r->types, b);
	int order = intern_compare(&r->strings, x->name, y->name);

	if (order == 0)
		order = (x->kind > y->kind) - (x->kind < y->kind);
	return order != 0 ? order
	                  : intern_compare(&r->strings, x->unit, y->unit);
}

/* There are few. */
static bool
roster_sort_types(struct roster *r)
{
	uint32_t n = r->types.n;

	if (r->n_ranks == n)
		return true;
	if (!array_room(&r->ranks, n, &r->cap_ranks))
		return false;
	for (; r->n_ranks < n; r->n_ranks++) {
		uint32_t rank = 0;

		for (uint32_t k = 0; k < r->n_ranks; k++) {
			bool before = roster_compare_types(r, k,
			    r->n_ranks) < 0;

			rank += before;
			r->ranks[k] += !before;
		}
		r->ranks[r->n_ranks] = rank;
	}
	return true;
}

bool
roster_sort(struct roster *r)
{
	return roster_sort_services(r) && roster_sort_types(r);
}

/* ---- files ---- */

struct roster_taker {
	struct store *s;
	struct reader_file *f;
	struct roster_file *x;
	uint32_t *types; /* by head, or INTERN_NONE */
	uint32_t service;
};

/* Services before this one have no more profiles. */
static void
roster_end(struct roster_taker *t, uint32_t service)
{
	for (; t->service < service; t->service++)
		t->x->ends[t->service] = t->x->n_pairs;
}

static const struct err *
roster_take_profile(void *arg, uint32_t service, const struct index_series *x)
{
	struct roster_taker *t = arg;
	struct roster *r = &t->s->roster;
	uint32_t *type = &t->types[x->head], pair = INTERN_NONE;
	struct index_text names[BATCH_MAX_LABELS + 2];

	if (*type == INTERN_NONE) {
		series_index_names(&t->f->index, x->head, names);
		*type = roster_type(r,
		    (enum series_kind)t->f->index.heads[x->head].kind,
		    names[0], names[1]);
	}
	if (*type == INTERN_NONE || !array_room(&t->x->pairs,
	        (size_t)t->x->n_pairs + 1, &t->x->cap_pairs))
		return err_nomem();
	if (service > 0)
		pair = roster_pair(r, t->x->services[service], *type);
	if (service > 0 && pair == INTERN_NONE)
		return err_nomem();
	roster_end(t, service);
	t->x->pairs[t->x->n_pairs++] = pair;
	return NULL;
}

static const struct err *
roster_take_services(struct roster_taker *t)
{
	const struct series_index *x = &t->f->index;

	t->x->services[0] = INTERN_NONE;
	for (uint32_t i = 1; i < x->n_services; i++) {
		size_t n;
		const uint8_t *name = series_index_service(x, i, &n);

		t->x->services[i] = roster_service(&t->s->roster, name, n);
		if (t->x->services[i] == INTERN_NONE)
			return err_nomem();
	}
	return NULL;
}

/* ---- lives ---- */

static const struct err *
roster_take_kind(void *arg, uint32_t service, const struct index_series *x)
{
	struct reader_file *f = arg;

	(void)service;
	f->sealed->kinds[x->number] = (uint8_t)f->index.heads[x->head].kind;
	return NULL;
}

/* Of a summary that does not tell them. */
static const struct err *
roster_make_lives(struct reader_file *f, struct buf *out)
{
	struct lives series = {0};
	struct buf room = {0};
	const uint8_t *lists = NULL;
	const struct err *e = NULL;

	for (int k = 0; k < INDEX_LISTS && e == NULL; k++)
		e = reader_each_listed(f, (enum index_list)k,
		    roster_take_kind, f);
	if (e == NULL)
		e = lives_of_blocks(f->sealed, &series);
	if (e == NULL)
		e = reader_read_lists(f, &room, &lists);
	if (e == NULL)
		e = lives_make(&f->index, lists, &series, out);
	lives_fini(&series);
	buf_fini(&room);
	return e;
}

/* What it says in vain the blocks say themselves; but only of a summary all
 * has to be known. */
static const struct err *
roster_read_lives(struct reader_file *f, struct roster_file *x)
{
	struct buf bytes = {0};
	const struct err *e = sealed_read_lives(f->sealed, &bytes);

	if (e == NULL && bytes.len > 0) {
		e = lives_open(&x->lives, bytes.data, bytes.len);
		if (e == NULL && x->lives.n != x->n + x->n_pairs)
			lives_fini(&x->lives);
		e = e == NULL || e->domain == ERR_FORMAT ? NULL : e;
	}
	buf_clear(&bytes);
	if (e == NULL && x->lives.n == 0 &&
	    f->entry.kind == MANIFEST_SUMMARY) {
		e = roster_make_lives(f, &bytes);
		if (e == NULL)
			e = lives_open(&x->lives, bytes.data, bytes.len);
	}
	buf_fini(&bytes);
	return e;
}

/* ---- the whole ---- */

static const struct err *
roster_take_all(struct roster_taker *t)
{
	struct roster_file *x = t->x;
	const struct err *e;

	x->n = t->f->index.n_services;
	x->services = malloc(x->n * sizeof(*x->services));
	x->ends = malloc(x->n * sizeof(*x->ends));
	t->types = malloc((t->f->index.n_heads + 1) * sizeof(*t->types));
	if (x->services == NULL || x->ends == NULL || t->types == NULL)
		return err_nomem();
	memset(t->types, 0xff, t->f->index.n_heads * sizeof(*t->types));
	e = roster_take_services(t);
	if (e == NULL)
		e = reader_each_listed(t->f, INDEX_PROFILES,
		    roster_take_profile, t);
	roster_end(t, x->n);
	return e;
}

const struct err *
roster_take(struct store *s, struct reader_file *f)
{
	struct roster_taker t = {.s = s, .f = f};
	const struct err *e;

	if (f->roster != NULL)
		return NULL;
	if ((t.x = calloc(1, sizeof(*t.x))) == NULL)
		return err_nomem();
	e = roster_take_all(&t);
	free(t.types);
	if (e != NULL)
		roster_file_free(t.x);
	else
		f->roster = t.x;
	return e;
}

const struct err *
roster_take_lives(struct store *s, struct reader_file *f)
{
	const struct err *e = roster_take(s, f);

	if (e == NULL && !f->roster->asked) {
		e = roster_read_lives(f, f->roster);
		f->roster->asked = e == NULL;
	}
	return e;
}
