/*
 * A heap dump as text: a table of functions, and folded stacks.  Both go
 * over the stacks once, without building a call tree.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap.h"
#include "store/base/err.h"
#include "writer.h"

/* ---- functions ---- */

struct row {
	uint32_t name;
	bool inlined;
	uint32_t seen; /* the last stack it was in, + 1 */
	double self, total;
};

struct table {
	struct row *rows;
	uint32_t *row; /* by frame */
	uint32_t n;
};

/* A function's row, by its name; inlined, it has another. */
static const struct err *
table_rows(struct table *t, const struct heap *h)
{
	struct map64 known = {0};

	t->rows = calloc((size_t)h->n_frames + 1, sizeof(*t->rows));
	t->row = calloc((size_t)h->n_frames + 1, sizeof(*t->row));
	if (t->rows == NULL || t->row == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < h->n_frames; i++) {
		const struct heap_frame *f = &h->frames[i];
		bool inlined = f->kind == FRAME_INLINED;
		uint64_t key = (uint64_t)f->name << 1 | inlined;

		t->row[i] = map64_get(&known, key);
		if (t->row[i] != INTERN_NONE)
			continue;
		t->row[i] = t->n;
		if (!map64_add(&known, key, t->n)) {
			map64_fini(&known);
			return err_nomem();
		}
		t->rows[t->n].name = f->name;
		t->rows[t->n++].inlined = inlined;
	}
	map64_fini(&known);
	return NULL;
}

/* Adds each stack to its functions, once where they recur. */
static void
table_add(struct table *t, const struct heap *h, enum heap_type type)
{
	for (uint32_t i = 0; i < h->n_stacks; i++) {
		const struct heap_stack *s = &h->stacks[i];
		const uint32_t *places = h->places + s->first;
		double v = s->value[type];
		bool leaf = true;

		for (uint32_t p = 0; p < s->n; p++) {
			const struct heap_address *a = &h->addresses[places[p]];

			for (uint32_t k = a->n; k-- > 0; leaf = false) {
				struct row *r =
				    &t->rows[t->row[a->first + k]];

				if (leaf)
					r->self += v;
				if (r->seen != i + 1)
					r->total += v;
				r->seen = i + 1;
			}
		}
	}
}

struct order {
	const struct heap *h;
	bool cumulative;
};

static int
row_order(const void *a, const void *b, void *arg)
{
	const struct order *o = arg;
	const struct row *x = a, *y = b;
	double v = o->cumulative ? x->total : x->self;
	double w = o->cumulative ? y->total : y->self;
	int c;

	if (v != w)
		return v < w ? 1 : -1;
	c = strcmp(intern_str(&o->h->strings, x->name),
	    intern_str(&o->h->strings, y->name));
	return c != 0 ? c : x->inlined - y->inlined;
}

static void
put_amount(struct buf *out, double v, bool whole)
{
	char text[64];

	if (whole)
		snprintf(text, sizeof(text), "%lld", (long long)v);
	else
		snprintf(text, sizeof(text), "%.1f", v / 1048576);
	buf_printf(out, "%8s", text);
}

static void
put_share(struct buf *out, double v, double total)
{
	char text[64];

	snprintf(text, sizeof(text), "%.1f%%", v * 100 / total);
	buf_printf(out, " %6s", total == 0 ? "-" : text);
}

static void
table_print(const struct table *t, const struct heap *h, bool whole,
    struct buf *out)
{
	double total = 0, sum = 0;

	for (uint32_t i = 0; i < t->n; i++)
		total += t->rows[i].self;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct row *r = &t->rows[i];

		if (r->self == 0 && r->total == 0)
			continue;
		sum += r->self;
		put_amount(out, r->self, whole);
		put_share(out, r->self, total);
		put_share(out, sum, total);
		buf_put_u8(out, ' ');
		put_amount(out, r->total, whole);
		put_share(out, r->total, total);
		buf_printf(out, " %s%s\n", intern_str(&h->strings, r->name),
		    r->inlined ? " (inline)" : "");
	}
}

const struct err *
heap_text(const struct heap *h, enum heap_type type, bool bytes,
    bool cumulative, struct buf *out)
{
	bool objects = type == HEAP_INUSE_OBJECTS ||
	    type == HEAP_ALLOC_OBJECTS;
	struct order order = {h, cumulative};
	struct table t = {0};
	const struct err *e = table_rows(&t, h);
	double total = 0;

	if (e == NULL) {
		table_add(&t, h, type);
		qsort_r(t.rows, t.n, sizeof(*t.rows), row_order, &order);
		for (uint32_t i = 0; i < h->n_stacks; i++)
			total += h->stacks[i].value[type];
		buf_printf(out, objects || bytes ? "Total: %.0f %s\n"
		    : "Total: %.1f %s\n",
		    objects || bytes ? trunc(total) : total / 1048576,
		    objects ? "objects" : bytes ? "B" : "MB");
		table_print(&t, h, objects || bytes, out);
	}
	free(t.rows);
	free(t.row);
	return e != NULL || !out->failed ? e : err_nomem();
}

/* ---- folded ---- */

/* One stack by the names of its frames, root first. */
struct fold {
	uint64_t hash;
	uint32_t stack;
	int64_t value;
};

struct folds {
	const struct heap *h;
	uint32_t *look;   /* by frame: equal for those that print the same */
	struct fold *table;
	uint32_t cap;
};

static void
put_folded_name(struct buf *b, const char *name, enum frame_kind kind)
{
	size_t at = b->len;

	buf_put_u8(b, ';');
	buf_put(b, name, strlen(name));
	for (size_t i = at + 1; !b->failed && i < b->len; i++) {
		if (b->data[i] == ';')
			b->data[i] = ':';
		else if (b->data[i] == '\n' || b->data[i] == '\r')
			b->data[i] = ' ';
	}
	if (kind == FRAME_INLINED)
		buf_put(b, "_[i]", 4);
}

/* What each frame looks like: frames of one look are one. */
static bool
folds_looks(struct folds *f, struct intern *looks)
{
	const struct heap *h = f->h;
	struct buf b = {0};

	f->look = malloc(((size_t)h->n_frames + 1) * sizeof(*f->look));
	for (uint32_t i = 0; f->look != NULL && i < h->n_frames; i++) {
		buf_clear(&b);
		put_folded_name(&b, intern_str(&h->strings, h->frames[i].name),
		    h->frames[i].kind);
		f->look[i] = b.failed ? INTERN_NONE
		    : intern_put(looks, b.data, b.len);
		if (f->look[i] == INTERN_NONE) {
			buf_fini(&b);
			return false;
		}
	}
	buf_fini(&b);
	return f->look != NULL;
}

/* A walk over the looks of a stack, root first. */
struct walk {
	const struct folds *f;
	const struct heap_stack *s;
	uint32_t place, frame; /* left of the stack; next of the place */
};

static struct walk
walk_of(const struct folds *f, uint32_t stack)
{
	const struct heap_stack *s = &f->h->stacks[stack];

	return (struct walk){f, s, s->n, 0};
}

static bool
walk_next(struct walk *w, uint32_t *look)
{
	const struct heap *h = w->f->h;

	while (w->place > 0) {
		const struct heap_address *a = &h->addresses[
		    h->places[w->s->first + w->place - 1]];

		if (w->frame < a->n) {
			*look = w->f->look[a->first + w->frame++];
			return true;
		}
		w->place--;
		w->frame = 0;
	}
	return false;
}

static bool
walk_equal(struct walk a, struct walk b)
{
	uint32_t x, y;
	bool more, other;

	do {
		more = walk_next(&a, &x);
		other = walk_next(&b, &y);
	} while (more && other && x == y);
	return !more && !other;
}

/* The entry of a stack, new or that of one which looks the same. */
static struct fold *
folds_find(struct folds *f, uint32_t stack)
{
	struct walk w = walk_of(f, stack);
	uint64_t hash = 1;
	uint32_t look, at;

	while (walk_next(&w, &look)) {
		hash = (hash ^ look) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	hash |= 1; /* 0 is a free entry */
	at = (uint32_t)(hash >> 1) & (f->cap - 1);
	while (f->table[at].hash != 0) {
		if (f->table[at].hash == hash && walk_equal(walk_of(f, stack),
		    walk_of(f, f->table[at].stack)))
			return &f->table[at];
		at = (at + 1) & (f->cap - 1);
	}
	f->table[at] = (struct fold){hash, stack, 0};
	return &f->table[at];
}

static bool
folds_add(struct folds *f, enum heap_type type)
{
	double rest = 0;

	f->cap = 64;
	while (f->cap / 2 < f->h->n_stacks && f->cap < 1u << 31)
		f->cap *= 2;
	f->table = calloc(f->cap, sizeof(*f->table));
	if (f->table == NULL)
		return false;
	for (uint32_t i = 0; i < f->h->n_stacks; i++) {
		double v = f->h->stacks[i].value[type];

		if (v == 0)
			continue;
		v += rest;
		rest = v - floor(v);
		folds_find(f, i)->value += (int64_t)floor(v);
	}
	return true;
}

static void
folds_print_one(const struct folds *f, const struct fold *fold,
    const struct intern *looks, struct buf *out)
{
	struct walk w = walk_of(f, fold->stack);
	size_t at = out->len;
	uint32_t look;

	while (walk_next(&w, &look)) {
		const struct intern_item *item = &looks->items[look];
		bool first = out->len == at;

		buf_put(out, looks->bytes.data + item->first + first,
		    item->len - first);
	}
	if (out->len == at)
		buf_put(out, "[no stack]", 10);
	buf_put_u8(out, ' ');
	writer_put_int(out, fold->value);
	buf_put_u8(out, '\n');
}

static int
fold_order(const void *a, const void *b)
{
	const struct fold *x = a, *y = b;

	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* In the order of the dump. */
static void
folds_print(struct folds *f, const struct intern *looks, struct buf *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->cap; i++) {
		if (f->table[i].hash != 0 && f->table[i].value != 0)
			f->table[n++] = f->table[i];
	}
	qsort(f->table, n, sizeof(*f->table), fold_order);
	for (uint32_t i = 0; i < n; i++)
		folds_print_one(f, &f->table[i], looks, out);
}

const struct err *
heap_folded(const struct heap *h, enum heap_type type, struct buf *out)
{
	struct folds f = {.h = h};
	struct intern looks = {0};
	bool good = folds_looks(&f, &looks) && folds_add(&f, type);

	if (good)
		folds_print(&f, &looks, out);
	free(f.look);
	free(f.table);
	intern_fini(&looks);
	return good && !out->failed ? NULL : err_nomem();
}
