/*
 * Which series a sealed file has: only those that are asked for get a number
 * in the reader's table, so that the thousands of programs that ran for
 * seconds cost a question about a service nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/model/type.h"
#include "store/read/made.h"
#include "store/read/reader.h"

/* Bytes of lists that stay in memory: to read a page again and inflate a part
 * of it takes longer than all else that a service's few series need. */
#define SERIES_KEPT (32u << 10)

/* ---- opening ---- */

void
reader_series_map_fini(struct reader_series_map *m)
{
	free(m->list);
	free(m->names);
	free(m->heads);
	hashtable_fini(&m->places);
	for (int k = 0; k < INDEX_LISTS; k++) {
		free(m->taken[k]);
		buf_fini(&m->lists[k]);
	}
	*m = (struct reader_series_map){0};
}

size_t
reader_series_map_bytes(const struct reader_file *f)
{
	const struct reader_series_map *m = &f->known;

	return series_index_bytes(&f->index) + m->cap * sizeof(*m->list) +
	    m->places.cap * sizeof(*m->places.slots) +
	    f->index.n_names * sizeof(*m->names) +
	    m->lists[0].cap + m->lists[1].cap +
	    INDEX_LISTS * (f->index.n_services / 8 + 1) + f->index.n_heads;
}

/* The head of the stream, where the file has one; its size is told by its
 * first bytes. */
static const struct err *
series_read_head(struct reader_file *f)
{
	struct buf *b = &f->index.bytes;
	const struct err *e;
	uint32_t size;
	size_t got;

	if (!buf_reserve(b, 4))
		return err_nomem();
	e = sealed_read_part(f->sealed, SEALED_SERIES, 0, b->data, 4, &got);
	if (e != NULL || got < 4)
		return e;
	size = series_index_head(b->data, got);
	if (size == 0 || !buf_reserve(b, size))
		return size == 0 ? NULL : err_nomem();
	e = sealed_read_part(f->sealed, SEALED_SERIES, 0, b->data, size, &got);
	b->len = got;
	return e;
}

/* Files of before, and small ones, have no index; and what it says in vain the
 * dictionary says itself. */
static const struct err *
series_read_index(struct store *s, struct reader_file *f)
{
	const struct err *e = series_read_head(f);

	if (e == NULL && f->index.bytes.len > 0) {
		e = series_index_open(&f->index);
		if (e == NULL || e->domain != ERR_FORMAT)
			return e;
	}
	series_index_fini(&f->index);
	return e != NULL && e->domain != ERR_FORMAT
	    ? e : reader_read_dict(s, f, true);
}

const struct err *
reader_take_index(struct store *s, struct reader_file *f)
{
	struct reader_series_map *m = &f->known;
	const struct err *e = series_read_index(s, f);
	uint32_t bytes = f->index.n_services / 8 + 1;

	if (e == NULL && f->sealed->kinds == NULL)
		e = sealed_set_series(f->sealed, f->index.n);
	if (e != NULL)
		return e;
	f->sealed->n_stacks = f->index.n_stacks;
	f->facts_known = true;
	f->fact_kinds = f->index.fact_kinds;
	m->names = malloc((f->index.n_names + 1) * sizeof(*m->names));
	m->heads = calloc(f->index.n_heads + 1, 1);
	if (m->names == NULL || m->heads == NULL)
		return err_nomem();
	memset(m->names, 0xff, f->index.n_names * sizeof(*m->names));
	for (int k = 0; k < INDEX_LISTS; k++) {
		if ((m->taken[k] = calloc(bytes, 1)) == NULL)
			return err_nomem();
	}
	return NULL;
}

/* ---- what is asked for ---- */

struct series_taker {
	struct store *s;
	struct reader_file *f;
	uint32_t service; /* its string; INTERN_NONE: it has none */
	const uint8_t *heads; /* 1 by head: these are wanted; NULL: all */
	bool failed;      /* out of memory */
};

uint32_t
reader_head_string(struct store *s, struct reader_file *f, uint32_t head,
    uint32_t i)
{
	const struct index_head *h = &f->index.heads[head];
	struct index_text names[BATCH_MAX_LABELS + 2];
	uint32_t *known = &f->known.names[h->first];

	if (known[i] == INTERN_NONE) {
		series_index_names(&f->index, head, names);
		known[i] = intern_put(&s->syms.strings, names[i].p,
		    names[i].n);
	}
	return known[i];
}

/* Its label set in the reader's table. */
static uint32_t
series_put_labels(struct series_taker *t, const struct index_series *x)
{
	const struct index_head *h = &t->f->index.heads[x->head];
	uint32_t key[2 * BATCH_MAX_LABELS];

	for (uint32_t i = 0; i < h->n; i++) {
		uint32_t name = reader_head_string(t->s, t->f, x->head, i + 2);
		uint32_t value = i == h->service
		    ? t->service
		    : intern_put(&t->s->syms.strings, x->values[i].p,
		          x->values[i].n);

		if (name == INTERN_NONE || value == INTERN_NONE)
			return INTERN_NONE;
		key[2 * i] = name;
		key[2 * i + 1] = value;
	}
	return intern_put(&t->s->syms.labels, key,
	    2 * h->n * sizeof(*key));
}

static uint32_t
known_hash(const void *known, uint32_t i)
{
	return reader_known_hash(
	    ((const struct reader_known *)known)[i].series);
}

static bool
series_put(struct series_taker *t, const struct index_series *x)
{
	const struct index_head *h = &t->f->index.heads[x->head];
	struct reader_series_map *m = &t->f->known;
	struct sym_series key = {h->period, h->kind, h->scale,
	    reader_head_string(t->s, t->f, x->head, 0),
	    reader_head_string(t->s, t->f, x->head, 1),
	    series_put_labels(t, x), 0};
	uint32_t series;

	if (key.name == INTERN_NONE || key.unit == INTERN_NONE ||
	    key.labels == INTERN_NONE ||
	    (series = symtab_put_series(&t->s->syms, key)) == INTERN_NONE ||
	    !open_room((void **)&m->list, m->n + 1, &m->cap,
	        sizeof(*m->list)))
		return false;
	if (reader_series(t->f, series) != INTERN_NONE)
		return true;
	if (!hashtable_room(&m->places, m->n + 1, known_hash, m->list))
		return false;
	t->f->sealed->kinds[x->number] = (uint8_t)h->kind;
	m->list[m->n] = (struct reader_known){x->number, series};
	hashtable_add(&m->places, reader_known_hash(series), m->n);
	m->n++;
	return true;
}

static bool
series_bit(const uint8_t *bits, uint32_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

/* All of one service's list, which is at c. */
static const struct err *
series_take_service(struct series_taker *t, uint32_t service,
    enum index_list list, struct cur c)
{
	struct index_series x = {.number = INTERN_NONE};
	const uint8_t *name;
	size_t n;

	if (cur_left(&c) > 0) {
		name = series_index_service(&t->f->index, service, &n);
		t->service = intern_put(&t->s->syms.strings, name, n);
		t->failed |= t->service == INTERN_NONE;
	}
	while (!t->failed && series_index_next(&t->f->index, &c, &x))
		t->failed = (t->heads == NULL || t->heads[x.head]) &&
		    !series_put(t, &x);
	if (c.bad && !t->failed)
		return err_new(ERR_FORMAT, 0,
		    "the index of a file's series is malformed");
	if (t->heads == NULL)
		t->f->known.taken[list][service / 8] |=
		    (uint8_t)(1u << service % 8);
	return t->failed ? err_nomem() : NULL;
}

static const struct err *
series_read(const struct reader_file *f, uint64_t at, size_t n,
    struct buf *out)
{
	const struct err *e;
	size_t got;

	if (!buf_reserve(out, n))
		return err_nomem();
	e = sealed_read_part(f->sealed, SEALED_SERIES, at, out->data, n, &got);
	if (e == NULL && got < n)
		return err_new(ERR_FORMAT, 0,
		    "the index of a file's series is cut");
	out->len = e == NULL ? n : 0;
	return e;
}

/* The lists of services [from, until), wherever the index has them: those of
 * one sort are kept, unless they are many. */
static const struct err *
series_read_lists(struct reader_file *f, uint32_t from, uint32_t until,
    enum index_list list, struct buf *room, const uint8_t **p)
{
	struct buf *kept = &f->known.lists[list];
	size_t n, all;
	uint64_t at = series_index_at(&f->index, from, until, list, &n);
	uint64_t start = series_index_at(&f->index, 0, f->index.n_services,
	    list, &all);
	const struct err *e = NULL;

	*p = f->index.bytes.data + at;
	if (f->index.whole || n == 0)
		return NULL;
	if (all <= SERIES_KEPT) {
		if (kept->len == 0)
			e = series_read(f, start, all, kept);
		*p = kept->data + (at - start);
		return e;
	}
	e = series_read(f, at, n, room);
	*p = room->data;
	return e;
}

const struct err *
reader_each_listed(struct reader_file *f, enum index_list list,
    reader_listed_fn *fn, void *arg)
{
	struct buf room = {0};
	const uint8_t *p;
	const struct err *e = series_read_lists(f, 0, f->index.n_services,
	    list, &room, &p);

	for (uint32_t i = 0; i < f->index.n_services && e == NULL; i++) {
		struct index_series x = {.number = INTERN_NONE};
		struct cur c;
		size_t n;

		series_index_at(&f->index, i, i + 1, list, &n);
		c = cur_of(p, n);
		while (e == NULL && series_index_next(&f->index, &c, &x))
			e = fn(arg, i, &x);
		if (e == NULL && c.bad)
			e = err_new(ERR_FORMAT, 0,
			    "the index of a file's series is malformed");
		p += n;
	}
	buf_fini(&room);
	return e;
}

const struct err *
reader_read_lists(struct reader_file *f, struct buf *room,
    const uint8_t **p)
{
	size_t n, more;
	uint64_t at = series_index_at(&f->index, 0, f->index.n_services,
	    INDEX_PROFILES, &n);
	const struct err *e = NULL;

	series_index_at(&f->index, 0, f->index.n_services, INDEX_METRICS,
	    &more);
	*p = f->index.bytes.data + at;
	if (f->index.whole || n + more == 0)
		return NULL;
	e = series_read(f, at, n + more, room);
	*p = room->data;
	return e;
}

static const struct err *
series_take(struct store *s, struct reader_file *f, uint32_t from,
    uint32_t until, enum index_list list, const uint8_t *heads)
{
	struct series_taker t = {.s = s, .f = f, .heads = heads};
	struct buf room = {0};
	const uint8_t *p;
	const struct err *e = series_read_lists(f, from, until, list, &room,
	    &p);

	for (uint32_t i = from; i < until && e == NULL; i++) {
		size_t n;

		series_index_at(&f->index, i, i + 1, list, &n);
		if (!series_bit(f->known.taken[list], i))
			e = series_take_service(&t, i, list, cur_of(p, n));
		p += n;
	}
	buf_fini(&room);
	return e;
}

/* ---- of all services ---- */

/* May series with this head match? */
static const struct err *
series_match_head(struct store *s, struct reader_file *f,
    const struct selector *sel, const struct type *made, uint32_t head,
    bool *match)
{
	enum series_kind kind = (enum series_kind)f->index.heads[head].kind;
	uint32_t name = reader_head_string(s, f, head, 0);
	uint32_t unit = reader_head_string(s, f, head, 1);
	struct series_desc d = {.kind = kind};
	char buf[TYPE_NAME_MAX];

	if (name == INTERN_NONE || unit == INTERN_NONE)
		return err_nomem();
	d.name = intern_str(&s->syms.strings, name);
	d.unit = intern_str(&s->syms.strings, unit);
	if (series_is_profile(kind))
		d.name = type_name(kind, d.name, d.unit, buf);
	*match = reader_match_name(sel, made, d);
	return NULL;
}

/* Which heads of a list may match and are not known yet; how many they are,
 * and whether all others of the list are known. */
struct series_heads {
	uint8_t *wanted; /* 1 by head */
	uint32_t n;
	bool all;
};

static const struct err *
series_want_heads(struct store *s, struct reader_file *f,
    const struct selector *sel, enum index_list list, struct series_heads *h)
{
	const struct type *made = made_type(sel);
	const struct err *e = NULL;

	*h = (struct series_heads){.wanted = calloc(f->index.n_heads + 1, 1),
	    .all = true};
	if (h->wanted == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < f->index.n_heads && e == NULL; i++) {
		bool profile = series_is_profile(
		    (enum series_kind)f->index.heads[i].kind);
		bool match = false;

		if (profile != (list == INDEX_PROFILES) || f->known.heads[i])
			continue;
		e = series_match_head(s, f, sel, made, i, &match);
		h->wanted[i] = match;
		h->n += match;
		h->all &= match;
	}
	return e;
}

/* All lists of services that lived in these slots, as far as is known. */
static const struct err *
series_take_living(struct store *s, struct reader_file *f,
    enum index_list list, const struct reader_range *r)
{
	const struct roster_file *x = f->roster;
	uint32_t from = roster_block(x, r->from);
	uint32_t until = roster_block_end(x, r->until), begin = 0;
	const struct err *e = NULL;

	for (uint32_t i = 0; i <= x->n && e == NULL; i++) {
		bool wanted = i < x->n && roster_newest(x, i, from, until) !=
		    UINT32_MAX && !series_bit(f->known.taken[list], i);

		if (!wanted && begin < i)
			e = series_take(s, f, begin, i, list, NULL);
		begin = wanted ? begin : i + 1;
	}
	return e;
}

/* Of all services those with heads that may match: who asks for a metric that
 * few have takes up nothing of the others, and who asks for all of an hour
 * nothing of those that were not there. */
static const struct err *
series_need_heads(struct store *s, struct reader_file *f,
    const struct selector *sel, enum index_list list,
    const struct reader_range *range)
{
	struct series_heads h;
	const struct err *e = series_want_heads(s, f, sel, list, &h);

	if (e == NULL && h.n > 0 && h.all && range != NULL)
		e = roster_take_lives(s, f);
	if (e == NULL && h.n > 0 && h.all && range != NULL &&
	    f->roster->lives.n > 0) {
		e = series_take_living(s, f, list, range);
		free(h.wanted);
		return e;
	}
	if (e == NULL && h.n > 0)
		e = series_take(s, f, 0, f->index.n_services, list,
		    h.all ? NULL : h.wanted);
	for (uint32_t i = 0; i < f->index.n_heads && e == NULL; i++)
		f->known.heads[i] |= h.wanted[i];
	if (e == NULL)
		f->known.all[list] = h.all;
	free(h.wanted);
	return e;
}

/* Those of one list that may match. */
static const struct err *
series_need_list(struct store *s, struct reader_file *f,
    const struct selector *sel, enum index_list list,
    const struct reader_range *range)
{
	const char *name = sel == NULL ? NULL : selector_equals(sel, "service");
	const struct err *e = NULL;
	uint32_t i;

	if (f->known.all[list])
		return NULL;
	if (name == NULL)
		return series_need_heads(s, f, sel, list, range);
	if (*name == '\0' && !series_bit(f->known.taken[list], 0))
		e = series_take(s, f, 0, 1, list, NULL); /* "" is none */
	i = series_index_find(&f->index, name, strlen(name));
	if (e == NULL && i != INTERN_NONE &&
	    !series_bit(f->known.taken[list], i))
		e = series_take(s, f, i, i + 1, list, NULL);
	return e;
}

const struct err *
reader_need_series(struct store *s, struct reader_file *f,
    const struct selector *sel, unsigned kinds,
    const struct reader_range *range)
{
	const struct err *e = NULL;

	if (kinds & READER_PROFILES)
		e = series_need_list(s, f, sel, INDEX_PROFILES, range);
	if (e == NULL && (kinds & ~READER_PROFILES) != 0)
		e = series_need_list(s, f, sel, INDEX_METRICS, range);
	return e == NULL ? NULL : reader_failed(s, f, e);
}
