/*
 * Marks are made by scanning the dictionary once, as a reader would, when the
 * file is written.  Symbols of one record have numbers and bytes in a row, so
 * that a mark is told by how many bytes its symbols take.
 */
#include "store/journal/open_marks.h"

#include <string.h>

#include "store/base/err.h"

#define MARKS_STRINGS 128 /* what the first shares costs most of the bytes */

/* How many symbols one mark stands for here. */
static uint32_t
marks_most(enum open_kind kind)
{
	return kind == OPEN_STRINGS ? MARKS_STRINGS : open_mark_most(kind);
}

/* ---- writing ---- */

struct marks_source {
	const uint8_t *data;
	size_t n;
};

static const struct err *
marks_read(void *arg, uint64_t offset, void *to, size_t n, size_t *got)
{
	const struct marks_source *s = arg;

	*got = offset >= s->n ? 0 : s->n - (size_t)offset;
	*got = *got < n ? *got : n;
	memcpy(to, s->data + offset, *got);
	return NULL;
}

static void
marks_put_kind(const struct open_dict *d, enum open_kind kind,
    struct buf *out)
{
	const struct open_marks *m = &d->marks[kind];
	uint32_t step = marks_most(kind) / open_mark_most(kind);

	buf_put_varint(out, (m->n + step - 1) / step);
	if (m->n == 0)
		return;
	buf_put_varint(out, m->marks[0].first);
	buf_put_varint(out, m->end);
	buf_put_varint(out, m->marks[0].at);
	for (uint32_t i = 0; i < m->n; i += step) {
		const struct open_mark *k = &m->marks[i];
		uint32_t last = i + step < m->n ? i + step - 1 : m->n - 1;

		buf_put_varint(out, m->marks[last].at + m->marks[last].size -
		    k->at);
		if (kind != OPEN_STRINGS)
			continue;
		buf_put_varint(out, k->shared);
		if (k->shared > 0)
			buf_put(out, d->prefixes.data + k->prefix, k->shared);
	}
}

const struct err *
open_marks_make(const void *record, size_t size, struct buf *out)
{
	struct marks_source source = {record, size};
	struct openspan o = {.pages = {.fd = -1, .read = marks_read,
	    .arg = &source}};
	const struct err *e = openspan_take_dict(&o, record, size);
	size_t start = out->len;

	if (e == NULL) {
		buf_put_varint(out, size);
		for (int i = 0; i < OPEN_KINDS; i++)
			marks_put_kind(&o.dicts[0], i, out);
		for (int i = 0; i < OPEN_PLACES; i++) {
			buf_put_varint(out, o.dict_at[i].at);
			buf_put_varint(out, o.dict_at[i].size);
		}
		if (!out->failed)
			buf_put_be32(out, crc32c(0, out->data + start,
			    out->len - start));
	}
	openspan_fini(&o);
	return e == NULL && out->failed ? err_nomem() : e;
}

/* ---- reading ---- */

static bool
marks_take_kind(struct open_dict *d, enum open_kind kind, struct cur *c,
    uint64_t size)
{
	uint64_t n = cur_varint(c), number, end, at;
	uint32_t most = marks_most(kind);

	if (c->bad || n == 0)
		return true;
	number = cur_varint(c);
	end = cur_varint(c);
	at = cur_varint(c);
	c->bad |= number > 1 || end >= INTERN_NONE || end <= number ||
	    n != (end - number + most - 1) / most || at > size;
	for (; n > 0 && !c->bad; n--) {
		struct open_mark k = {.first = (uint32_t)number,
		    .n = (uint32_t)(end - number < most ? end - number : most),
		    .at = (uint32_t)at};
		uint64_t bytes = cur_varint(c);
		const uint8_t *text = c->p;

		if (kind == OPEN_STRINGS)
			k.shared = (uint32_t)cur_varint(c);
		if (k.shared > 0)
			text = cur_raw(c, k.shared);
		c->bad |= bytes > size - at;
		k.size = (uint32_t)bytes;
		if (!c->bad && !open_dict_put_mark(d, kind, &k, text))
			return false;
		number += k.n;
		at += bytes;
	}
	return true;
}

static void
marks_take_places(struct openspan *o, struct cur *c, uint64_t size)
{
	for (int i = 0; i < OPEN_PLACES; i++) {
		uint64_t at = cur_varint(c), n = cur_varint(c);

		c->bad |= at > size || n > size - at;
		o->dict_at[i].at = (uint32_t)at;
		o->dict_at[i].size = (uint32_t)n;
	}
}

static const struct err *
marks_take(struct openspan *o, struct cur *c)
{
	uint64_t size = cur_varint(c);
	bool fine = true;

	if (c->bad || size > BATCH_DICT_BYTES ||
	    !open_room((void **)&o->dicts, 1, &o->cap_dicts,
	        sizeof(*o->dicts)))
		return c->bad ? NULL : err_nomem();
	o->dicts[o->n_dicts++] = (struct open_dict){0};
	for (int i = 0; i < OPEN_KINDS && fine; i++)
		fine = marks_take_kind(&o->dicts[0], i, c, size);
	if (fine)
		marks_take_places(o, c, size);
	c->bad |= cur_left(c) > 0;
	if (!fine || c->bad)
		return fine ? NULL : err_nomem();
	return open_pages_trust(&o->pages, (uint32_t)size);
}

const struct err *
openspan_take_marks(struct openspan *o, const void *marks, size_t size,
    unsigned dict, bool series)
{
	const uint8_t *p = marks;
	struct cur c = cur_of(p, size < 4 ? 0 : size - 4), sum;
	const struct err *e = NULL;

	sum = cur_of(p + cur_left(&c), size < 4 ? 0 : 4);
	c.bad = cur_be32(&sum) != crc32c(0, p, cur_left(&c)) || sum.bad;
	if (!c.bad)
		e = marks_take(o, &c);
	if (e == NULL && !c.bad) {
		o->dicts[0].coded = dict == BATCH_VERSION_DICT;
		e = openspan_take_places(o, series);
	}
	if (e == NULL && c.bad)
		e = err_new(ERR_FORMAT, 0, "a dictionary's marks are "
		    "malformed");
	if (e != NULL)
		openspan_fini(o);
	return e;
}
