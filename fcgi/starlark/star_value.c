/*
 * Values: made, compared, printed, looked up.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fcgi/starlark/star_private.h"

void
star_end(struct star *s)
{
	longjmp(*s->out, 1);
}

void
star_step(struct star *s, size_t n)
{
	s->steps += (int64_t)n;
	if (s->steps <= s->steps_max)
		return;
	s->over = "it takes too many steps";
	star_end(s);
}

void *
star_alloc(struct star *s, size_t n)
{
	void *p = arena_alloc(&s->arena, n);

	if (p == NULL) {
		s->over = "it takes too much memory";
		star_end(s);
	}
	memset(p, 0, n);
	return p;
}

struct star_value
star_unknown(void)
{
	return (struct star_value){.kind = STAR_UNKNOWN};
}

struct star_value
star_none(void)
{
	return (struct star_value){.kind = STAR_NONE};
}

struct star_value
star_bool(bool yes)
{
	return (struct star_value){.kind = STAR_BOOL, .i = yes};
}

struct star_value
star_int(int64_t i)
{
	return (struct star_value){.kind = STAR_INT, .i = i};
}

struct star_value
star_text(struct star *s, const char *p, size_t n)
{
	struct star_text *t = star_alloc(s, sizeof(*t) + n + 1);

	t->n = n;
	if (n > 0)
		memcpy(t->p, p, n);
	return (struct star_value){.kind = STAR_TEXT, .text = t};
}

struct star_value
star_str(struct star *s, const char *text)
{
	return star_text(s, text, strlen(text));
}

struct star_value
star_list(struct star *s, enum star_kind kind)
{
	return (struct star_value){.kind = kind,
	    .list = star_alloc(s, sizeof(struct star_list))};
}

struct star_value
star_dict(struct star *s, enum star_kind kind)
{
	return (struct star_value){.kind = kind,
	    .dict = star_alloc(s, sizeof(struct star_dict))};
}

struct star_value
star_host(struct star *s, const char *name, star_fn *fn,
    struct star_value self)
{
	struct star_host *h = star_alloc(s, sizeof(*h));

	*h = (struct star_host){name, fn, self};
	return (struct star_value){.kind = STAR_HOST, .host = h};
}

/* Room for one more; the arena keeps what was before. */
static void *
star_grow(struct star *s, void *items, size_t n, size_t *cap, size_t size)
{
	void *more;

	if (n < *cap)
		return items;
	*cap = *cap > 0 ? 2 * *cap : 4;
	more = star_alloc(s, *cap * size);
	if (n > 0)
		memcpy(more, items, n * size);
	return more;
}

void
star_add(struct star *s, struct star_list *list, struct star_value v)
{
	star_step(s, 1);
	list->items = star_grow(s, list->items, list->n, &list->cap,
	    sizeof(*list->items));
	list->items[list->n++] = v;
}

/* ---- dictionaries ---- */

#define STAR_INDEX_MIN 16u /* shorter ones are searched as they are */

static size_t
dict_hash_text(const char *p, size_t n)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)p[i]) * 1099511628211u;
	return (size_t)(h ^ h >> 32);
}

static size_t
dict_hash(struct star_value key)
{
	if (key.kind == STAR_TEXT)
		return dict_hash_text(key.text->p, key.text->n);
	return key.kind == STAR_INT ? (size_t)key.i : (size_t)key.kind;
}

static void
dict_index_put(struct star_dict *d, size_t at)
{
	size_t i = dict_hash(d->pairs[at].key) & (d->n_index - 1);

	while (d->index[i] != 0)
		i = (i + 1) & (d->n_index - 1);
	d->index[i] = (uint32_t)at + 1;
}

/* Of the pair that is the last, or of all. */
static void
dict_index(struct star *s, struct star_dict *d)
{
	if (d->n < STAR_INDEX_MIN)
		return;
	if (d->index != NULL && 2 * d->n <= d->n_index) {
		dict_index_put(d, d->n - 1);
		return;
	}
	star_step(s, d->n);
	for (d->n_index = 64; d->n_index < 4 * d->n;)
		d->n_index *= 2;
	d->index = star_alloc(s, d->n_index * sizeof(*d->index));
	for (size_t i = 0; i < d->n; i++)
		dict_index_put(d, i);
}

/* The next position that may hold a key of that hash, d->n at the end;
 * *at counts what was looked at. */
static size_t
dict_next(struct star *s, const struct star_dict *d, size_t hash, size_t *at)
{
	size_t i;

	star_step(s, 1);
	if (d->index == NULL)
		return (*at)++;
	do {
		i = d->index[(hash + (*at)++) & (d->n_index - 1)];
	} while (i > d->n);
	return i > 0 ? i - 1 : d->n;
}

struct star_value *
star_get(struct star *s, const struct star_dict *d, struct star_value key)
{
	size_t hash = d->index != NULL ? dict_hash(key) : 0, at = 0, i;

	while ((i = dict_next(s, d, hash, &at)) < d->n)
		if (star_is_equal(s, d->pairs[i].key, key))
			return &d->pairs[i].value;
	return NULL;
}

struct star_value *
star_field(struct star *s, const struct star_dict *d, const char *key)
{
	size_t hash = d->index != NULL ? dict_hash_text(key, strlen(key)) : 0,
	    at = 0, i;

	while ((i = dict_next(s, d, hash, &at)) < d->n)
		if (d->pairs[i].key.kind == STAR_TEXT &&
		    strcmp(d->pairs[i].key.text->p, key) == 0)
			return &d->pairs[i].value;
	return NULL;
}

void
star_set(struct star *s, struct star_dict *d, struct star_value key,
    struct star_value v)
{
	struct star_value *there = star_get(s, d, key);

	if (there != NULL) {
		*there = v;
		return;
	}
	d->pairs = star_grow(s, d->pairs, d->n, &d->cap, sizeof(*d->pairs));
	d->pairs[d->n++] = (struct star_pair){key, v};
	dict_index(s, d);
}

struct star_value *
star_arg(struct star *s, const struct star_call *c, size_t i,
    const char *name)
{
	return i < c->args.n ? &c->args.items[i]
			     : star_field(s, &c->named, name);
}

const char *
star_cstr(const struct star_value *v)
{
	return v != NULL && v->kind == STAR_TEXT ? v->text->p : NULL;
}

struct star_value
star_say(struct star *s, const struct star_module *m, int line,
    const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->ops->report(s, m->path, line, text);
	return star_unknown();
}

/* ---- compared ---- */

bool
star_is_true(struct star_value v)
{
	switch (v.kind) {
	case STAR_NONE:
	case STAR_UNKNOWN:
		return false;
	case STAR_BOOL:
	case STAR_INT:
		return v.i != 0;
	case STAR_TEXT:
		return v.text->n > 0;
	case STAR_LIST:
	case STAR_TUPLE:
		return v.list->n > 0;
	case STAR_DICT:
		return v.dict->n > 0;
	default:
		return true;
	}
}

static bool
star_is_equal_list(struct star *s, const struct star_list *a,
    const struct star_list *b)
{
	bool same = a->n == b->n;

	if (++s->depth > STAR_DEPTH_MAX) {
		s->over = "a list is too deep";
		star_end(s);
	}
	for (size_t i = 0; same && i < a->n; i++)
		same = star_is_equal(s, a->items[i], b->items[i]);
	s->depth--;
	return same;
}

bool
star_is_equal(struct star *s, struct star_value a, struct star_value b)
{
	star_step(s, 1);
	if (a.kind != b.kind)
		return false;
	switch (a.kind) {
	case STAR_NONE:
		return true;
	case STAR_BOOL:
	case STAR_INT:
		return a.i == b.i;
	case STAR_TEXT:
		return a.text->n == b.text->n &&
		    memcmp(a.text->p, b.text->p, a.text->n) == 0;
	case STAR_LIST:
	case STAR_TUPLE:
		return star_is_equal_list(s, a.list, b.list);
	default:
		return a.dict == b.dict;
	}
}

int
star_order(struct star_value a, struct star_value b)
{
	int order = 0;

	if (a.kind == STAR_TEXT && b.kind == STAR_TEXT)
		return strcmp(a.text->p, b.text->p);
	if (a.kind <= STAR_INT && b.kind <= STAR_INT)
		return a.i < b.i ? -1 : a.i > b.i;
	if ((a.kind != STAR_LIST && a.kind != STAR_TUPLE) || a.kind != b.kind)
		return 0;
	for (size_t i = 0; order == 0 && i < a.list->n && i < b.list->n; i++)
		if (a.list->items[i].kind < STAR_LIST)
			order = star_order(a.list->items[i],
			    b.list->items[i]);
	return order != 0 ? order
	    : a.list->n < b.list->n ? -1 : a.list->n > b.list->n;
}

/* ---- printed ---- */

static void
star_print_items(struct star *s, const struct star_list *list,
    const char *brackets)
{
	buf_put_u8(&s->scratch, (uint8_t)brackets[0]);
	for (size_t i = 0; i < list->n; i++) {
		if (i > 0)
			buf_put(&s->scratch, ", ", 2);
		star_print(s, list->items[i], true);
	}
	if (list->n == 1 && brackets[0] == '(')
		buf_put_u8(&s->scratch, ',');
	buf_put_u8(&s->scratch, (uint8_t)brackets[1]);
}

static void
star_print_pairs(struct star *s, const struct star_dict *d)
{
	buf_put_u8(&s->scratch, '{');
	for (size_t i = 0; i < d->n; i++) {
		if (i > 0)
			buf_put(&s->scratch, ", ", 2);
		star_print(s, d->pairs[i].key, true);
		buf_put(&s->scratch, ": ", 2);
		star_print(s, d->pairs[i].value, true);
	}
	buf_put_u8(&s->scratch, '}');
}

static void
star_print_one(struct star *s, struct star_value v, bool quoted)
{
	struct buf *out = &s->scratch;

	switch (v.kind) {
	case STAR_NONE:
		buf_put(out, "None", 4);
		break;
	case STAR_BOOL:
		buf_printf(out, "%s", v.i ? "True" : "False");
		break;
	case STAR_INT:
		buf_printf(out, "%" PRId64, v.i);
		break;
	case STAR_TEXT:
		if (quoted)
			buf_put_u8(out, '"');
		buf_put(out, v.text->p, v.text->n);
		if (quoted)
			buf_put_u8(out, '"');
		break;
	case STAR_LIST:
		star_print_items(s, v.list, "[]");
		break;
	case STAR_TUPLE:
		star_print_items(s, v.list, "()");
		break;
	case STAR_DICT:
		star_print_pairs(s, v.dict);
		break;
	default:
		buf_printf(out, "<unknown>");
	}
}

void
star_print(struct star *s, struct star_value v, bool quoted)
{
	star_step(s, 1);
	if (++s->depth > STAR_DEPTH_MAX || s->scratch.failed ||
	    s->scratch.len > STAR_MEMORY_MAX / 4) {
		s->over = "a text is too long";
		star_end(s);
	}
	star_print_one(s, v, quoted);
	s->depth--;
}

struct star_value
star_taken(struct star *s, size_t at)
{
	struct star_value v;

	if (s->scratch.failed || s->scratch.len > STAR_MEMORY_MAX / 4) {
		s->over = "a text is too long";
		star_end(s);
	}
	v = s->scratch.len == at ? star_text(s, "", 0)
	    : star_text(s, (const char *)s->scratch.data + at,
	        s->scratch.len - at);
	s->scratch.len = at;
	return v;
}

bool
star_items(struct star *s, struct star_value v, struct star_list *out)
{
	*out = (struct star_list){0};
	if (v.kind == STAR_LIST || v.kind == STAR_TUPLE) {
		*out = *v.list;
		out->cap = 0; /* a list that grows meanwhile is another */
		return true;
	}
	if (v.kind != STAR_DICT)
		return false;
	for (size_t i = 0; i < v.dict->n; i++)
		star_add(s, out, v.dict->pairs[i].key);
	return true;
}
