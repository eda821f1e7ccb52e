/*
 * Lists of the same sort lie together, so that all profiles of a file are read
 * without its metrics, which are ten times as many.
 */
#include "store/file/series_index.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/batch/symtab.h"

#define INDEX_LABEL "service"

#define INDEX_HEAD_MAX (64u << 20)

static bool
index_is_service(struct index_text label)
{
	return label.n == sizeof(INDEX_LABEL) - 1 &&
	    memcmp(label.p, INDEX_LABEL, label.n) == 0;
}

static int
index_compare(struct index_text a, struct index_text b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int order = n == 0 ? 0 : memcmp(a.p, b.p, n);

	return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

/* ---- making ---- */

/* A series with the strings of its table. */
struct index_raw {
	uint32_t kind, scale, name, unit;
	int64_t period;
	const uint32_t *pairs;
	size_t n;
};

struct index_item {
	struct index_text service; /* p NULL: it has none */
	uint32_t number;
};

struct index_maker {
	const struct batch *dict;   /* or: */
	const struct symtab *table;
	const struct intern *strings;
	uint32_t n;
	struct index_item *items;
	struct intern heads;
	struct buf head, services, lists[INDEX_LISTS];
	uint32_t n_services, n_stacks, fact_kinds;
};

static struct index_raw
index_raw(const struct index_maker *m, uint32_t i)
{
	const struct batch_series *b;
	const struct sym_series *t;

	if (m->dict != NULL) {
		const struct batch_labels *l;

		b = &m->dict->series[i];
		l = &m->dict->labels[b->labels];
		return (struct index_raw){b->kind, b->scale, b->name, b->unit,
		    b->period, m->dict->pairs + 2 * (size_t)l->first, l->n};
	}
	t = symtab_series(m->table, i);
	return (struct index_raw){t->kind, t->scale, t->name, t->unit,
	    t->period, intern_at(&m->table->labels, t->labels),
	    symtab_n_labels(m->table, t->labels)};
}

static struct index_text
index_text(const struct index_maker *m, uint32_t string)
{
	return (struct index_text){intern_at(m->strings, string),
	    m->strings->items[string].len};
}

static void
index_put_text(struct buf *out, struct index_text t)
{
	buf_put_bytes(out, t.p, t.n);
}

static int
index_compare_items(const void *a, const void *b)
{
	const struct index_item *x = a, *y = b;
	int order = (x->service.p != NULL) - (y->service.p != NULL);

	if (order == 0)
		order = index_compare(x->service, y->service);
	return order != 0 ? order : (x->number > y->number) -
	    (x->number < y->number);
}

/* What of a series many have in common. */
static uint32_t
index_put_head(struct index_maker *m, const struct index_raw *r)
{
	buf_clear(&m->head);
	buf_put_u8(&m->head, (uint8_t)r->kind);
	buf_put_u8(&m->head, (uint8_t)r->scale);
	buf_put_zigzag(&m->head, r->period);
	buf_put_varint(&m->head, r->n);
	index_put_text(&m->head, index_text(m, r->name));
	index_put_text(&m->head, index_text(m, r->unit));
	for (size_t i = 0; i < r->n; i++)
		index_put_text(&m->head, index_text(m, r->pairs[2 * i]));
	return m->head.failed
	    ? INTERN_NONE
	    : intern_put(&m->heads, m->head.data, m->head.len);
}

static bool
index_put_series(struct index_maker *m, uint32_t number, uint32_t *before)
{
	struct index_raw r = index_raw(m, number);
	enum index_list list = series_is_profile((enum series_kind)r.kind)
	    ? INDEX_PROFILES : INDEX_METRICS;
	struct buf *out = &m->lists[list];
	uint32_t head = index_put_head(m, &r);

	buf_put_varint(out, number - before[list] - 1);
	buf_put_varint(out, head);
	for (size_t i = 0; i < r.n; i++) {
		if (!index_is_service(index_text(m, r.pairs[2 * i])))
			index_put_text(out, index_text(m, r.pairs[2 * i + 1]));
	}
	before[list] = number;
	return head != INTERN_NONE;
}

/* The lists of the service of item i; *end is that of the next one. */
static bool
index_put_service(struct index_maker *m, uint32_t i, uint32_t *end)
{
	uint32_t before[INDEX_LISTS] = {INTERN_NONE, INTERN_NONE};
	size_t at[INDEX_LISTS] = {m->lists[0].len, m->lists[1].len};
	struct index_text service = {(const uint8_t *)"", 0};
	bool none = m->n_services == 0 &&
	    (m->n == 0 || m->items[0].service.p != NULL);

	*end = i;
	if (!none)
		service = m->items[i].service;
	for (; !none && *end < m->n && (service.p != NULL) ==
	     (m->items[*end].service.p != NULL) && index_compare(service,
	         m->items[*end].service) == 0; (*end)++) {
		if (!index_put_series(m, m->items[*end].number, before))
			return false;
	}
	index_put_text(&m->services, service.p != NULL
	    ? service : (struct index_text){(const uint8_t *)"", 0});
	for (int k = 0; k < INDEX_LISTS; k++)
		buf_put_varint(&m->services, m->lists[k].len - at[k]);
	m->n_services++;
	return true;
}

static bool
index_sort(struct index_maker *m)
{
	m->items = malloc((m->n + 1) * sizeof(*m->items));
	if (m->items == NULL)
		return false;
	for (uint32_t i = 0; i < m->n; i++) {
		struct index_raw r = index_raw(m, i);

		m->items[i] = (struct index_item){.number = i};
		for (size_t k = 0; k < r.n; k++) {
			struct index_text name = index_text(m, r.pairs[2 * k]);

			if (index_is_service(name))
				m->items[i].service = index_text(m,
				    r.pairs[2 * k + 1]);
		}
	}
	qsort(m->items, m->n, sizeof(*m->items), index_compare_items);
	return true;
}

/* All but the lists, with its checksum. */
static void
index_put_all(struct index_maker *m, struct buf *out)
{
	struct buf b = {0};
	size_t start = out->len;

	buf_put_varint(&b, m->n);
	buf_put_varint(&b, m->n_stacks);
	buf_put_varint(&b, m->fact_kinds);
	buf_put_varint(&b, m->heads.n);
	for (uint32_t i = 0; i < m->heads.n; i++)
		buf_put(&b, intern_at(&m->heads, i), m->heads.items[i].len);
	buf_put_varint(&b, m->n_services);
	buf_put(&b, m->services.data, m->services.len);
	buf_put_be32(out, (uint32_t)b.len);
	buf_put(out, b.data, b.len);
	out->failed |= b.failed || m->services.failed;
	if (!out->failed)
		buf_put_be32(out, crc32c(0, out->data + start,
		    out->len - start));
	for (int k = 0; k < INDEX_LISTS; k++) {
		out->failed |= m->lists[k].failed;
		buf_put(out, m->lists[k].data, m->lists[k].len);
	}
	buf_fini(&b);
}

static const struct err *
index_make(struct index_maker *m, struct buf *out)
{
	bool fine = index_sort(m);
	uint32_t i = 0;

	/* the first stands for series without a service, also for none */
	do {
		fine = fine && index_put_service(m, i, &i);
	} while (fine && (i < m->n || m->n_services == 0));
	if (fine)
		index_put_all(m, out);
	free(m->items);
	intern_fini(&m->heads);
	buf_fini(&m->head);
	buf_fini(&m->services);
	for (int k = 0; k < INDEX_LISTS; k++)
		buf_fini(&m->lists[k]);
	return fine && !out->failed ? NULL : err_nomem();
}

const struct err *
series_index_make(const struct batch *dict, uint32_t n_stacks,
    struct buf *out)
{
	struct index_maker m = {.dict = dict, .strings = &dict->strings,
	    .n = (uint32_t)dict->n_series, .n_stacks = n_stacks};

	for (size_t i = 0; i < dict->n_facts; i++)
		m.fact_kinds |= 1u << (dict->facts[i].kind & 31);
	return index_make(&m, out);
}

const struct err *
series_index_make_of(const struct symtab *t, uint32_t fact_kinds,
    uint32_t n_stacks, struct buf *out)
{
	struct index_maker m = {.table = t, .strings = &t->strings,
	    .n = t->series.n, .n_stacks = n_stacks,
	    .fact_kinds = fact_kinds};

	return index_make(&m, out);
}

/* ---- reading ---- */

void
series_index_fini(struct series_index *x)
{
	buf_fini(&x->bytes);
	free(x->heads);
	free(x->services);
	*x = (struct series_index){0};
}

size_t
series_index_bytes(const struct series_index *x)
{
	return x->bytes.cap + x->n_heads * sizeof(*x->heads) +
	    x->n_services * sizeof(*x->services);
}

uint32_t
series_index_head(const void *p, size_t n)
{
	struct cur c = cur_of(p, n);
	uint32_t size = cur_be32(&c);

	return c.bad || size > INDEX_HEAD_MAX ? 0 : size + 8;
}

static struct index_text
index_take_text(struct cur *c)
{
	struct index_text t;

	t.p = cur_bytes(c, &t.n);
	if (t.p == NULL)
		t = (struct index_text){(const uint8_t *)"", 0};
	return t;
}

/* The number of what follows, each of at least so many bytes. */
static uint32_t
index_count(struct cur *c, size_t least)
{
	uint64_t n = cur_varint(c);

	c->bad |= n > cur_left(c) / least;
	return c->bad ? 0 : (uint32_t)n;
}

static void
index_take_head(struct series_index *x, struct cur *c, struct index_head *h)
{
	h->kind = cur_u8(c);
	h->scale = cur_u8(c);
	h->period = cur_zigzag(c);
	h->n = index_count(c, 1);
	h->at = (uint32_t)(c->p - x->bytes.data);
	h->service = h->n;
	h->first = x->n_names;
	c->bad |= h->kind < SERIES_FLOW || h->kind > SERIES_HISTOGRAM ||
	    h->n > BATCH_MAX_LABELS;
	for (uint32_t i = 0; i < h->n + 2 && !c->bad; i++) {
		if (index_is_service(index_take_text(c)) && i >= 2)
			h->service = i - 2;
	}
	x->n_names += h->n + 2;
}

static bool
index_take_services(struct series_index *x, struct cur *c)
{
	uint64_t at[INDEX_LISTS] = {0};

	x->n_services = index_count(c, 3);
	x->services = malloc((x->n_services + 1) * sizeof(*x->services));
	if (x->services == NULL)
		return false;
	for (uint32_t i = 0; i <= x->n_services && !c->bad; i++) {
		struct index_service *s = &x->services[i];

		s->at = (uint32_t)(c->p - x->bytes.data);
		if (i < x->n_services)
			index_take_text(c);
		for (int k = 0; k < INDEX_LISTS; k++) {
			s->lists[k] = (uint32_t)at[k];
			at[k] += i < x->n_services ? cur_varint(c) : 0;
			c->bad |= at[k] > INT32_MAX;
		}
	}
	/* metrics' stand behind all profiles' */
	for (uint32_t i = 0; i <= x->n_services && !c->bad; i++)
		x->services[i].lists[INDEX_METRICS] += (uint32_t)at[0];
	c->bad |= x->n_services == 0 ||
	    (x->whole && at[0] + at[1] != x->bytes.len - x->head);
	return true;
}

static bool
index_take(struct series_index *x, struct cur *c)
{
	x->n = (uint32_t)cur_varint(c);
	x->n_stacks = (uint32_t)cur_varint(c);
	x->fact_kinds = (uint32_t)cur_varint(c);
	x->n_heads = index_count(c, 6);
	x->heads = malloc((x->n_heads + 1) * sizeof(*x->heads));
	if (x->heads == NULL)
		return false;
	for (uint32_t i = 0; i < x->n_heads && !c->bad; i++)
		index_take_head(x, c, &x->heads[i]);
	if (!index_take_services(x, c))
		return false;
	c->bad |= cur_left(c) > 0;
	return true;
}

const struct err *
series_index_open(struct series_index *x)
{
	struct cur c = {.bad = true}, sum;
	bool fine = true;

	x->head = series_index_head(x->bytes.data, x->bytes.len);
	if (x->head > 0 && x->head <= x->bytes.len) {
		c = cur_of(x->bytes.data + 4, x->head - 8);
		sum = cur_of(x->bytes.data + x->head - 4, 4);
		c.bad = cur_be32(&sum) !=
		    crc32c(0, x->bytes.data, x->head - 4);
	}
	if (!c.bad)
		fine = index_take(x, &c);
	if (fine && !c.bad)
		return NULL;
	series_index_fini(x);
	return fine ? err_new(ERR_FORMAT, 0,
	    "the index of a file's series is malformed") : err_nomem();
}

const uint8_t *
series_index_service(const struct series_index *x, uint32_t service,
    size_t *n)
{
	struct cur c = cur_of(x->bytes.data + x->services[service].at,
	    x->head - x->services[service].at);

	return cur_bytes(&c, n);
}

uint32_t
series_index_find(const struct series_index *x, const void *name, size_t n)
{
	uint32_t lo = 1, hi = x->n_services;

	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		struct index_text t;
		int order;

		t.p = series_index_service(x, middle, &t.n);
		order = index_compare(t, (struct index_text){name, n});
		if (order == 0)
			return middle;
		if (order < 0)
			lo = middle + 1;
		else
			hi = middle;
	}
	return INTERN_NONE;
}

uint64_t
series_index_at(const struct series_index *x, uint32_t from, uint32_t until,
    enum index_list list, size_t *size)
{
	uint32_t at = x->services[from].lists[list];

	*size = x->services[until].lists[list] - at;
	return (uint64_t)x->head + at;
}

void
series_index_names(const struct series_index *x, uint32_t head,
    struct index_text *names)
{
	const struct index_head *h = &x->heads[head];
	struct cur c = cur_of(x->bytes.data + h->at, x->head - h->at);

	for (uint32_t i = 0; i < h->n + 2; i++)
		names[i] = index_take_text(&c);
}

bool
series_index_next(const struct series_index *x, struct cur *c,
    struct index_series *s)
{
	const struct index_head *h;
	uint64_t apart, head;

	if (cur_left(c) == 0)
		return false;
	apart = cur_varint(c);
	head = cur_varint(c);
	if (c->bad || head >= x->n_heads ||
	    apart >= x->n - (s->number + 1)) {
		c->bad = true;
		return false;
	}
	s->number += (uint32_t)apart + 1;
	s->head = (uint32_t)head;
	h = &x->heads[head];
	for (uint32_t i = 0; i < h->n; i++) {
		if (i != h->service)
			s->values[i] = index_take_text(c);
	}
	return !c->bad;
}
