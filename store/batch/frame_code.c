/*
 * The coding of frames, and what it does to a dictionary's strings.  Half of
 * the functions of a host whose programs are stripped are addresses.
 */
#include "store/batch/frame_code.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/batch/batch_private.h"

/* ---- one frame ---- */

static void
frame_code_begin(struct frame_code *c, uint32_t number)
{
	if (number % FRAME_CODE_ROW == 0)
		c->name = c->n = 0;
}

/* Puts *f in front, in the place of the one at `place`, or as a new one. */
static void
frame_code_use(struct frame_code *c, uint32_t place,
    const struct batch_frame *f)
{
	if (place == c->n)
		c->n++;
	memmove(&c->of[1], &c->of[0], place * sizeof(c->of[0]));
	c->of[0] = *f;
}

static uint32_t
frame_code_find(const struct frame_code *c, const struct batch_frame *f)
{
	uint32_t i = 0;

	while (i < c->n && (c->of[i].kind != f->kind ||
	        c->of[i].module != f->module ||
	        c->of[i].build_id != f->build_id))
		i++;
	return i;
}

static uint64_t
frame_code_zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

void
frame_code_put(struct frame_code *c, struct buf *out, uint32_t number,
    const struct batch_frame *f)
{
	uint64_t offset = 0;
	uint32_t place;

	frame_code_begin(c, number);
	place = frame_code_find(c, f);
	if (place < c->n) {
		buf_put_varint(out, place + 1);
		offset = c->of[place].offset;
	} else {
		buf_put_varint(out, 0);
		buf_put_u8(out, f->kind);
		buf_put_varint(out, f->module);
		buf_put_varint(out, f->build_id);
	}
	if (f->name == INTERN_NONE) {
		buf_put_varint(out, 0);
	} else {
		buf_put_varint(out, (f->kind == FRAME_ADDRESS) +
		    frame_code_zigzag((uint64_t)f->name - c->name));
		c->name = f->name;
	}
	buf_put_varint(out, frame_code_zigzag(f->offset - offset));
	frame_code_use(c, place, f);
}

static void
frame_code_take_name(struct frame_code *c, struct cur *in, size_t strings,
    struct batch_frame *f)
{
	uint64_t told = cur_varint(in), name;

	f->name = INTERN_NONE;
	if (f->kind == FRAME_ADDRESS && told-- == 0)
		return;
	name = c->name + (told >> 1 ^ -(told & 1));
	if (name >= strings || name >= INTERN_NONE)
		in->bad = true;
	else
		c->name = f->name = (uint32_t)name;
}

void
frame_code_take(struct frame_code *c, struct cur *in, uint32_t number,
    size_t strings, struct batch_frame *f)
{
	uint64_t place, module, build_id;

	frame_code_begin(c, number);
	*f = (struct batch_frame){0};
	place = cur_varint(in);
	if (place > c->n || (place == 0 && c->n == FRAME_CODE_ROW)) {
		in->bad = true;
		return;
	}
	if (place > 0) {
		*f = c->of[--place];
	} else {
		f->kind = cur_u8(in);
		module = cur_varint(in);
		build_id = cur_varint(in);
		if (f->kind < FRAME_NATIVE || f->kind > FRAME_MARK ||
		    module >= strings || build_id >= strings ||
		    module >= INTERN_NONE || build_id >= INTERN_NONE)
			in->bad = true;
		f->module = in->bad ? 0 : (uint32_t)module;
		f->build_id = in->bad ? 0 : (uint32_t)build_id;
		place = c->n;
	}
	frame_code_take_name(c, in, strings, f);
	f->offset += (uint64_t)cur_zigzag(in);
	if (!in->bad)
		frame_code_use(c, (uint32_t)place, f);
}

/* ---- names of addresses ---- */

void
frame_code_address(struct buf *out, const void *module, size_t n,
    uint64_t offset)
{
	buf_put(out, module, n);
	buf_printf(out, "+0x%" PRIx64, offset);
}

static void
frame_code_address_of(const struct batch *b, const struct batch_frame *f,
    struct buf *out)
{
	frame_code_address(out, intern_at(&b->strings, f->module),
	    b->strings.items[f->module].len, f->offset);
}

/* Changes string numbers to others. */
static void
frame_code_renumber(struct batch *b, const uint32_t *to)
{
	for (size_t i = 0; i < b->n_frames; i++) {
		struct batch_frame *f = &b->frames[i];

		if (f->name != INTERN_NONE)
			f->name = to[f->name];
		f->module = to[f->module];
		f->build_id = to[f->build_id];
	}
	for (size_t i = 0; i < b->n_pairs; i++)
		b->pairs[i] = to[b->pairs[i]];
	for (size_t i = 0; i < b->n_series; i++) {
		b->series[i].name = to[b->series[i].name];
		b->series[i].unit = to[b->series[i].unit];
	}
	for (size_t i = 0; i < b->n_facts; i++)
		b->facts[i].subject = to[b->facts[i].subject];
}

/* Takes the names away that can be made again; what of strings the rest
 * needs. */
static const struct err *
frame_code_mark(struct batch *b, uint8_t *used, size_t *dropped)
{
	struct buf text = {0};
	bool failed;

	used[0] = 1;
	for (size_t i = 0; i < b->n_frames; i++) {
		struct batch_frame *f = &b->frames[i];

		used[f->module] = used[f->build_id] = 1;
		buf_clear(&text);
		if (f->kind == FRAME_ADDRESS)
			frame_code_address_of(b, f, &text);
		if (text.len > 0 &&
		    text.len == b->strings.items[f->name].len &&
		    memcmp(text.data, intern_at(&b->strings, f->name),
		        text.len) == 0) {
			f->name = INTERN_NONE;
			++*dropped;
		} else {
			used[f->name] = 1;
		}
	}
	for (size_t i = 0; i < b->n_pairs; i++)
		used[b->pairs[i]] = 1;
	for (size_t i = 0; i < b->n_series; i++)
		used[b->series[i].name] = used[b->series[i].unit] = 1;
	for (size_t i = 0; i < b->n_facts; i++)
		used[b->facts[i].subject] = 1;
	failed = text.failed;
	buf_fini(&text);
	return failed ? err_nomem() : NULL;
}

/* In the place of all strings; the first of them is there. */
static void
frame_code_replace(struct batch *b, struct intern *strings,
    const uint32_t *to)
{
	intern_fini(&b->strings);
	b->strings = *strings;
	*strings = (struct intern){0};
	frame_code_renumber(b, to);
}

const struct err *
frame_code_drop_names(struct batch *b)
{
	uint8_t *used = calloc(b->strings.n + 1, 1);
	uint32_t *to = calloc(b->strings.n + 1, sizeof(*to));
	struct intern kept = {0};
	const struct err *e = NULL;
	size_t dropped = 0;

	if (used == NULL || to == NULL)
		e = err_nomem();
	if (e == NULL)
		e = frame_code_mark(b, used, &dropped);
	for (uint32_t i = 0; i < b->strings.n && e == NULL && dropped > 0;
	     i++) {
		if (!used[i])
			continue;
		to[i] = intern_push(&kept, intern_at(&b->strings, i),
		    b->strings.items[i].len);
		if (to[i] == INTERN_NONE)
			e = err_nomem();
	}
	if (e == NULL && dropped > 0)
		frame_code_replace(b, &kept, to);
	intern_fini(&kept);
	free(used);
	free(to);
	return e;
}

/* A name that is to be made: bytes of `text`. */
struct frame_name {
	uint32_t frame, n;
	size_t first;
	uint32_t number; /* that it gets */
};

struct frame_names {
	struct frame_name *names;
	size_t n;
	struct buf text;
};

static int
frame_code_order(const void *a, size_t n, const void *b, size_t m)
{
	int order = memcmp(a, b, n < m ? n : m);

	return order != 0 ? order : n < m ? -1 : n > m;
}

static int
frame_code_compare(const void *a, const void *b, void *text)
{
	const struct frame_name *x = a, *y = b;
	const uint8_t *p = ((const struct buf *)text)->data;

	return frame_code_order(p + x->first, x->n, p + y->first, y->n);
}

static const struct err *
frame_code_collect(const struct batch *b, struct frame_names *m)
{
	m->names = malloc((b->n_frames + 1) * sizeof(*m->names));
	if (m->names == NULL)
		return err_nomem();
	for (size_t i = 0; i < b->n_frames; i++) {
		size_t first = m->text.len;

		if (b->frames[i].name != INTERN_NONE)
			continue;
		frame_code_address_of(b, &b->frames[i], &m->text);
		m->names[m->n++] = (struct frame_name){(uint32_t)i,
		    (uint32_t)(m->text.len - first), first, 0};
	}
	if (m->text.failed)
		return err_nomem();
	if (m->n > 0)
		qsort_r(m->names, m->n, sizeof(*m->names),
		    frame_code_compare, &m->text);
	return NULL;
}

/* The made names before string `before`, or all that are left; one that is
 * there twice, or is that string, is one. */
static bool
frame_code_merge(const struct batch *b, struct frame_names *m, size_t *at,
    uint32_t before, struct intern *all)
{
	const struct intern *t = &b->strings;

	for (; *at < m->n; ++*at) {
		struct frame_name *x = &m->names[*at];
		const uint8_t *p = m->text.data + x->first;
		uint32_t last = all->n - 1;
		int order = before == t->n ? -1 : frame_code_order(p, x->n,
		    intern_at(t, before), t->items[before].len);

		if (order > 0)
			break;
		if (order == 0)
			last = all->n; /* that string will be the next */
		else if (all->items[last].len != x->n ||
		    memcmp(intern_at(all, last), p, x->n) != 0)
			last = intern_push(all, p, x->n);
		if (last == INTERN_NONE)
			return false;
		x->number = last;
	}
	return true;
}

const struct err *
frame_code_make_names(struct batch *b)
{
	uint32_t n = b->strings.n, *to = calloc(n + 1, sizeof(*to));
	struct frame_names m = {0};
	struct intern all = {0};
	const struct err *e = to == NULL ? err_nomem()
	                                 : frame_code_collect(b, &m);
	size_t at = 0;

	for (uint32_t i = 0; i <= n && e == NULL && m.n > 0; i++) {
		if (i > 0 && !frame_code_merge(b, &m, &at, i, &all))
			e = err_nomem();
		else if (i < n && (to[i] = intern_push(&all,
		    intern_at(&b->strings, i), b->strings.items[i].len)) ==
		    INTERN_NONE)
			e = err_nomem();
	}
	if (e == NULL && m.n > 0)
		frame_code_replace(b, &all, to);
	for (size_t i = 0; i < m.n && e == NULL; i++)
		b->frames[m.names[i].frame].name = m.names[i].number;
	intern_fini(&all);
	buf_fini(&m.text);
	free(m.names);
	free(to);
	return e;
}
