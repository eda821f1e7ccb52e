/*
 * A heap dump as text: a table of functions, and folded stacks.  Both go
 * over the stacks once, without building a call tree.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/folded_name.h"
#include "fcgi/format/heap/heap.h"
#include "fcgi/format/writer.h"
#include "store/base/err.h"
#include "store/base/text.h"

/* ---- functions ---- */

struct row {
	double self, total;
	uint32_t seen; /* the last stack it was in, + 1 */
	uint32_t name; /* times 2, and 1 where it is inlined */
};

struct table {
	struct row *rows;
	uint32_t *row; /* by frame */
	uint32_t *only; /* by address: of its one frame; many: it has not one */
	uint32_t n, many;
};

/* A function's row, by its name; inlined, it has another. */
static const struct err *
table_rows(struct table *t, const struct heap *h)
{
	/* by name: a row + 1 */
	uint32_t *known = calloc((size_t)h->strings.n * 2 + 1,
	    sizeof(*known));

	t->rows = calloc((size_t)h->n_frames + 1, sizeof(*t->rows));
	t->row = calloc((size_t)h->n_frames + 1, sizeof(*t->row));
	t->many = h->n_frames; /* no row of a frame has this number */
	t->only = calloc((size_t)h->n_addresses + 1, sizeof(*t->only));
	if (known == NULL || t->rows == NULL || t->row == NULL ||
	    t->only == NULL) {
		free(known);
		return err_nomem();
	}
	for (uint32_t i = 0; i < h->n_frames; i++) {
		const struct heap_frame *f = &h->frames[i];
		uint32_t name = f->name * 2 + (f->kind == FRAME_INLINED);

		if (known[name] == 0) {
			t->rows[t->n].name = name;
			known[name] = ++t->n;
		}
		t->row[i] = known[name] - 1;
	}
	for (uint32_t i = 0; i < h->n_addresses; i++)
		t->only[i] = h->addresses[i].n != 1 ? t->many
		    : t->row[h->addresses[i].first];
	free(known);
	return NULL;
}

/* What a stack, numbered from 1 on, adds to one of its rows. */
static void
row_add(struct row *r, uint32_t stack, double v, bool leaf)
{
	if (leaf)
		r->self += v;
	if (r->seen != stack)
		r->total += v;
	r->seen = stack;
}

/* The same for an address that is not just one frame; is there still no
 * leaf? */
static bool
table_add_inlined(struct table *t, const struct heap *h, uint32_t place,
    uint32_t stack, double v, bool leaf)
{
	const struct heap_address *a = &h->addresses[place];

	for (uint32_t k = a->n; k-- > 0; leaf = false)
		row_add(&t->rows[t->row[a->first + k]], stack, v, leaf);
	return leaf;
}

#define AHEAD 8 /* places of which the rows are fetched before they are due */

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
			uint32_t row = t->only[places[p]];

			if (p + AHEAD < s->n)
				__builtin_prefetch(&t->rows[
				    t->only[places[p + AHEAD]]]);
			if (row == t->many) {
				leaf = table_add_inlined(t, h, places[p],
				    i + 1, v, leaf);
				continue;
			}
			row_add(&t->rows[row], i + 1, v, leaf);
			leaf = false;
		}
	}
}

/* A row as it is sorted: what nearly always tells two apart is here. */
struct sort_row {
	double value; /* sorted by, largest first, then by name */
	uint64_t part; /* of the name, behind what all have in common */
	uint32_t row;
};

struct order {
	const struct heap *h;
	const struct table *t;
	size_t common; /* bytes with which all names begin */
};

static int
row_order(const void *a, const void *b, void *arg)
{
	const struct order *o = arg;
	const struct sort_row *x = a, *y = b;
	uint32_t p, q;
	int c;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	if (x->part != y->part)
		return x->part > y->part ? 1 : -1;
	p = o->t->rows[x->row].name;
	q = o->t->rows[y->row].name;
	c = strcmp(intern_str(&o->h->strings, p / 2) + o->common,
	    intern_str(&o->h->strings, q / 2) + o->common);
	return c != 0 ? c : (int)(p & 1) - (int)(q & 1);
}

/* Bytes with which the names of all rows begin. */
static size_t
order_common(const struct order *o)
{
	const char *first = intern_str(&o->h->strings,
	    o->t->rows[0].name / 2);
	size_t common = strlen(first);

	for (uint32_t i = 1; i < o->t->n; i++) {
		const char *name = intern_str(&o->h->strings,
		    o->t->rows[i].name / 2);
		size_t n = 0;

		while (n < common && name[n] == first[n])
			n++;
		common = n;
	}
	return common;
}

/* Eight bytes as a number that is ordered as strcmp() does. */
static uint64_t
name_part(const char *name)
{
	uint64_t part = 0;

	for (unsigned i = 0; i < 8; i++) {
		part = part << 8 | (unsigned char)*name;
		name += *name != '\0';
	}
	return part;
}

/* The rows in order; the caller frees them.  NULL: out of memory. */
static struct sort_row *
table_sort(const struct table *t, const struct heap *h, bool cumulative)
{
	struct order o = {h, t, 0};
	struct sort_row *sorted = calloc((size_t)t->n + 1, sizeof(*sorted));

	if (sorted == NULL || t->n == 0)
		return sorted;
	o.common = order_common(&o);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct row *r = &t->rows[i];

		sorted[i] = (struct sort_row){
		    cumulative ? r->total : r->self,
		    name_part(intern_str(&h->strings, r->name / 2) +
		        o.common), i};
	}
	qsort_r(sorted, t->n, sizeof(*sorted), row_order, &o);
	return sorted;
}

/* Digits of a number from 0 on, with ".d" behind them where d is not 0. */
static int
number(char *text, int64_t v, char d)
{
	char digits[24];
	int n = 0, len = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while ((v /= 10) > 0);
	while (n > 0)
		text[len++] = digits[--n];
	if (d != 0) {
		text[len++] = '.';
		text[len++] = d;
	}
	return len;
}

/*
 * "%.1f" as printf() rounds it: by the exact value of the double.  Its tenfold
 * is `tenth` and what that was rounded by, which matters only at a half.
 */
static int
tenths(char *text, size_t size, double v)
{
	double tenth = v * 10, part;
	int64_t n;

	if (signbit(v) || !(v < 1e14))
		return snprintf(text, size, "%.1f", v);
	n = (int64_t)tenth;
	part = tenth - (double)n;
	if (part == 0.5) {
		double rest = fma(v, 10, -tenth);

		n += rest > 0 || (rest == 0 && (n & 1) != 0);
	} else {
		n += part > 0.5;
	}
	return number(text, n / 10, (char)('0' + n % 10));
}

/* At the right of so many columns. */
static void
put_right(struct buf *out, const char *text, int n, int columns)
{
	static const char blanks[] = "        ";

	if (n < columns)
		buf_put(out, blanks, (size_t)(columns - n));
	buf_put(out, text, (size_t)n);
}

static void
put_amount(struct buf *out, double v, bool whole)
{
	char text[400];
	int n;

	if (!whole)
		n = tenths(text, sizeof(text), v / 1048576);
	else if (v >= 0 && v < 1e18)
		n = number(text, (int64_t)v, 0);
	else
		n = snprintf(text, sizeof(text), "%lld", (long long)v);
	put_right(out, text, n, 8);
}

static void
put_share(struct buf *out, double v, double total)
{
	char text[400] = "-";
	int n = 1;

	if (total != 0) {
		n = tenths(text, sizeof(text) - 1, v * 100 / total);
		text[n++] = '%';
	}
	buf_put_u8(out, ' ');
	put_right(out, text, n, 6);
}

static void
row_print(const struct row *r, const struct heap *h, double total,
    double sum, bool whole, struct buf *out)
{
	uint32_t name = r->name / 2;

	put_amount(out, r->self, whole);
	put_share(out, r->self, total);
	put_share(out, sum, total);
	buf_put_u8(out, ' ');
	put_amount(out, r->total, whole);
	put_share(out, r->total, total);
	buf_put_u8(out, ' ');
	text_put(out, intern_at(&h->strings, name),
	    h->strings.items[name].len);
	if (r->name & 1)
		buf_put(out, " (inline)", 9);
	buf_put_u8(out, '\n');
}

static const struct err *
table_print(const struct table *t, const struct heap *h, bool whole,
    bool cumulative, struct buf *out)
{
	struct sort_row *sorted = table_sort(t, h, cumulative);
	double total = 0, sum = 0;

	if (sorted == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < t->n; i++)
		total += t->rows[sorted[i].row].self;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct row *r = &t->rows[sorted[i].row];

		if (r->self == 0 && r->total == 0)
			continue;
		sum += r->self;
		row_print(r, h, total, sum, whole, out);
	}
	free(sorted);
	return NULL;
}

const struct err *
heap_text(const struct heap *h, enum heap_type type, bool bytes,
    bool cumulative, struct buf *out)
{
	bool objects = type == HEAP_INUSE_OBJECTS ||
	    type == HEAP_ALLOC_OBJECTS;
	struct table t = {0};
	const struct err *e = table_rows(&t, h);
	double total = 0;

	if (e == NULL) {
		table_add(&t, h, type);
		for (uint32_t i = 0; i < h->n_stacks; i++)
			total += h->stacks[i].value[type];
		buf_printf(out, objects || bytes ? "Total: %.0f %s\n"
		    : "Total: %.1f %s\n",
		    objects || bytes ? trunc(total) : total / 1048576,
		    objects ? "objects" : bytes ? "B" : "MB");
		e = table_print(&t, h, objects || bytes, cumulative, out);
	}
	free(t.rows);
	free(t.row);
	free(t.only);
	return e != NULL || !out->failed ? e : err_nomem();
}

/* ---- folded ---- */

/* What an address adds to a line: ";outer;inner_[i]". */
struct piece {
	uint32_t first, n; /* in folds.text */
	uint64_t hash, power;
};

/* One stack by its text, root first. */
struct fold {
	uint64_t hash;
	size_t room; /* for the text and 1 more; 0: no entry */
	uint32_t stack;
	int64_t value;
};

/* A line's hash is that of its characters however they are divided among
 * addresses: h(ab) = h(a) power(b) + h(b), with power(b) = K^|b|. */
#define FOLD_K 0x9e3779b97f4a7c15u
#define PIECE_SHORT 32

struct folds {
	const struct heap *h;
	struct buf text;
	struct piece *pieces; /* by address */
	struct fold *table;
	uint32_t cap;
};

static void
put_folded_name(struct buf *b, const char *name, enum frame_kind kind)
{
	buf_put_u8(b, ';');
	folded_put_name(b, name, false);
	if (kind == FRAME_INLINED)
		buf_put(b, "_[i]", 4);
}

static const struct err *
folds_pieces(struct folds *f)
{
	const struct heap *h = f->h;

	f->pieces = malloc(((size_t)h->n_addresses + 1) * sizeof(*f->pieces));
	for (uint32_t i = 0; f->pieces != NULL && i < h->n_addresses; i++) {
		const struct heap_address *a = &h->addresses[i];
		struct piece *p = &f->pieces[i];

		*p = (struct piece){(uint32_t)f->text.len, 0, 0, 1};
		for (uint32_t k = a->first; k < a->first + a->n; k++)
			put_folded_name(&f->text, intern_str(&h->strings,
			    h->frames[k].name), h->frames[k].kind);
		if (f->text.len > UINT32_MAX)
			return err_new(ERR_LIMIT, 0, "over 4 GB of names");
		p->n = (uint32_t)f->text.len - p->first;
		for (uint32_t k = 0; !f->text.failed && k < p->n; k++) {
			p->hash = p->hash * FOLD_K +
			    f->text.data[p->first + k] + 1;
			p->power *= FOLD_K;
		}
	}
	return f->pieces == NULL || !buf_reserve(&f->text, PIECE_SHORT)
	    ? err_nomem() : NULL;
}

/* The text of a stack, without the first semicolon.  Most pieces are short:
 * copies of a fixed size are quicker, and there is room behind both. */
static void
put_stack(const struct folds *f, const struct heap_stack *s, size_t room,
    struct buf *out)
{
	uint8_t *to;

	if (!buf_reserve(out, room + PIECE_SHORT))
		return;
	to = out->data + out->len;
	for (uint32_t i = s->n; i-- > 0;) {
		const struct piece *p =
		    &f->pieces[f->h->places[s->first + i]];
		const uint8_t *from = f->text.data + p->first;

		if (i >= AHEAD)
			__builtin_prefetch(f->text.data + f->pieces[
			    f->h->places[s->first + i - AHEAD]].first);
		if (p->n <= PIECE_SHORT)
			memcpy(to, from, PIECE_SHORT);
		else
			memcpy(to, from, p->n);
		to += p->n;
	}
	room = (size_t)(to - (out->data + out->len));
	if (room > 0)
		memmove(out->data + out->len, out->data + out->len + 1,
		    room - 1);
	out->len += room > 0 ? room - 1 : 0;
}

/* Have two stacks the same text? */
static bool
fold_equal(const struct folds *f, const struct fold *a, uint32_t stack)
{
	struct buf s = {0}, t = {0};
	bool equal;

	put_stack(f, &f->h->stacks[a->stack], a->room, &s);
	put_stack(f, &f->h->stacks[stack], a->room, &t);
	equal = s.len == t.len &&
	    (s.len == 0 || memcmp(s.data, t.data, s.len) == 0);
	buf_fini(&s);
	buf_fini(&t);
	return equal;
}

/* The entry of a stack, new or that of one which looks the same. */
static struct fold *
folds_find(struct folds *f, uint32_t stack)
{
	const struct heap_stack *s = &f->h->stacks[stack];
	uint64_t hash = 0;
	size_t room = 1;
	uint32_t at;

	for (uint32_t i = s->n; i-- > 0;) {
		const struct piece *p =
		    &f->pieces[f->h->places[s->first + i]];

		if (i >= AHEAD)
			__builtin_prefetch(&f->pieces[
			    f->h->places[s->first + i - AHEAD]]);
		hash = hash * p->power + p->hash;
		room += p->n;
	}
	at = (uint32_t)(hash >> 32 ^ hash >> 11) & (f->cap - 1);
	while (f->table[at].room != 0) {
		if (f->table[at].hash == hash && f->table[at].room == room &&
		    fold_equal(f, &f->table[at], stack))
			return &f->table[at];
		at = (at + 1) & (f->cap - 1);
	}
	f->table[at] = (struct fold){hash, room, stack, 0};
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

static int
fold_order(const void *a, const void *b)
{
	const struct fold *x = a, *y = b;

	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* In the order of the dump. */
static void
folds_print(struct folds *f, struct buf *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->cap; i++) {
		if (f->table[i].room != 0 && f->table[i].value != 0)
			f->table[n++] = f->table[i];
	}
	qsort(f->table, n, sizeof(*f->table), fold_order);
	for (uint32_t i = 0; i < n; i++) {
		size_t at = out->len;

		put_stack(f, &f->h->stacks[f->table[i].stack],
		    f->table[i].room, out);
		if (out->len == at)
			buf_put(out, "[no stack]", 10);
		buf_put_u8(out, ' ');
		writer_put_int(out, f->table[i].value);
		buf_put_u8(out, '\n');
	}
}

const struct err *
heap_folded(const struct heap *h, enum heap_type type, struct buf *out)
{
	struct folds f = {.h = h};
	const struct err *e = folds_pieces(&f);

	if (e == NULL && !folds_add(&f, type))
		e = err_nomem();
	if (e == NULL)
		folds_print(&f, out);
	buf_fini(&f.text);
	free(f.pieces);
	free(f.table);
	return e != NULL || !out->failed ? e : err_nomem();
}
