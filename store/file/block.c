/*
 * Folding of blocks and the bytes of strips.
 */
#include "store/file/block.h"

#include <string.h>

#include "store/base/err.h"
#include "store/file/column.h"
#include "store/file/deflate.h"
#include "store/file/segtree.h"

#define STRIP_BYTES 3700 /* of entries: four strips to the smallest page */
#define STRIP_PLAIN 1000 /* so many entries are not worth deflating */
#define STRIP_PACKED 0x80

void
entry_put(struct entry_writer *w, uint32_t key, int128 value)
{
	uint64_t delta = key - w->next;
	unsigned high = delta < 15 ? (unsigned)delta : 15;
	unsigned low = value < 16 ? (unsigned)(value - 1) : 15;

	buf_put_u8(w->out, (uint8_t)(high << 4 | low));
	if (high == 15)
		buf_put_varint(w->out, delta - 15);
	if (low == 15)
		buf_put_varint128(w->out, (uint128)(value - 16));
	w->next = key + 1;
}

bool
entry_next_long(struct entry_reader *r, uint32_t *key, int128 *value)
{
	uint8_t byte = *r->c.p++;

	*key = (uint32_t)(r->next + (byte >> 4));
	*value = (byte & 15) + 1;
	if (byte >> 4 == 15)
		*key = (uint32_t)(r->next + 15 + cur_varint(&r->c));
	if ((byte & 15) == 15)
		*value = (int128)cur_varint128(&r->c) + 16;
	r->next = (uint64_t)*key + 1;
	return !r->c.bad;
}

void
block_fold(enum series_kind kind, struct block *into, const struct block *b,
    int64_t slot_ns)
{
	int64_t at = b->last_ns +
	    (int64_t)(b->start - into->start) * slot_ns;

	if (b->count == 0 && !series_is_profile(kind))
		return;
	if (into->count == 0 || b->min < into->min)
		into->min = b->min;
	if (into->count == 0 || b->max > into->max)
		into->max = b->max;
	if (into->count == 0 || at >= into->last_ns) {
		into->last = b->last;
		into->last_ns = at;
	}
	into->sum += b->sum;
	into->count += b->count;
}

/* ---- strips ---- */

void
strip_begin(struct strip_writer *w, enum series_kind kind, unsigned level)
{
	w->kind = kind;
	w->level = level;
	w->n = 0;
	buf_clear(&w->entries);
}

void
strip_fini(struct strip_writer *w)
{
	buf_fini(&w->entries);
}

bool
strip_full(const struct strip_writer *w, uint64_t start, size_t more)
{
	uint64_t group = seg_slots(w->level) * 64;

	if (w->n == 0)
		return false;
	return w->n == 64 || w->entries.len + more > STRIP_BYTES ||
	    start / group != w->blocks[0].start / group;
}

void
strip_add(struct strip_writer *w, const struct block *b,
    const struct buf *entries)
{
	w->blocks[w->n] = *b;
	if (entries != NULL)
		buf_put(&w->entries, entries->data, entries->len);
	w->ends[w->n] = w->entries.len;
	w->n++;
}

uint64_t
strip_last(const struct strip_writer *w)
{
	return w->blocks[w->n - 1].start;
}

/* What a column holds, as residuals that are small or equal. */
enum column {
	COL_COUNT,
	COL_LAST,
	COL_LOW,  /* last - min */
	COL_HIGH, /* max - last */
	COL_SUM,  /* gauge: sum - count * last; counter: the increase */
	COL_TIME,
	COL_SIZE, /* bytes of entries */
	COLUMNS
};

static const uint8_t gauge_columns[] = {COL_COUNT, COL_LAST, COL_LOW, COL_HIGH,
    COL_SUM, COL_TIME};
static const uint8_t counter_columns[] = {COL_COUNT, COL_SUM, COL_LAST,
    COL_TIME};
static const uint8_t profile_columns[] = {COL_COUNT, COL_SIZE};
static const uint8_t histogram_columns[] = {COL_COUNT, COL_LOW, COL_HIGH,
    COL_SUM, COL_SIZE};

static size_t
columns_of(enum series_kind kind, const uint8_t **columns)
{
	switch (kind) {
	case SERIES_GAUGE:
		*columns = gauge_columns;
		return sizeof(gauge_columns);
	case SERIES_COUNTER:
		*columns = counter_columns;
		return sizeof(counter_columns);
	case SERIES_HISTOGRAM:
		*columns = histogram_columns;
		return sizeof(histogram_columns);
	default:
		*columns = profile_columns;
		return sizeof(profile_columns);
	}
}

static int128
column_value(const struct strip_writer *w, uint8_t column, size_t i)
{
	const struct block *b = &w->blocks[i];

	switch (column) {
	case COL_COUNT:
		return (int128)b->count;
	case COL_LAST: /* a counter's raw value is mostly the last one more */
		if (w->kind == SERIES_COUNTER && i > 0)
			return (int128)b->last - w->blocks[i - 1].last - b->sum;
		return b->last;
	case COL_LOW:
		return (int128)b->last - b->min;
	case COL_HIGH:
		return (int128)b->max - b->last;
	case COL_SUM:
		if (w->kind == SERIES_GAUGE)
			return b->sum - (int128)b->count * b->last;
		return b->sum;
	case COL_TIME:
		return b->last_ns;
	default:
		return (int128)(w->ends[i] - (i ? w->ends[i - 1] : 0));
	}
}

/* All but the number of blocks and the entries. */
static void
strip_put_columns(const struct strip_writer *w, struct buf *out)
{
	uint64_t size = seg_slots(w->level), first = w->blocks[0].start / size;
	const uint8_t *columns;
	size_t n_columns = columns_of(w->kind, &columns);
	int128 values[64];

	buf_put_varint(out, first);
	for (size_t i = 1; i < w->n; i++)
		values[i - 1] = (int128)((w->blocks[i].start -
		    w->blocks[i - 1].start) / size);
	if (w->n > 1)
		column_put(out, values, w->n - 1);
	for (size_t k = 0; k < n_columns; k++) {
		for (size_t i = 0; i < w->n; i++)
			values[i] = column_value(w, columns[k], i);
		column_put(out, values, w->n);
	}
}

static const struct err *
strip_put_packed(const struct strip_writer *w, struct buf *out)
{
	struct buf rest = {0};
	const struct err *e;

	strip_put_columns(w, &rest);
	e = deflate_put(&rest, w->entries.data, w->entries.len, true);
	buf_put_u8(out, (uint8_t)(STRIP_PACKED | w->n));
	buf_put_be32(out, (uint32_t)(5 + rest.len));
	buf_put(out, rest.data, rest.len);
	out->failed |= rest.failed;
	buf_fini(&rest);
	return e;
}

const struct err *
strip_take(struct strip_writer *w, struct buf *out)
{
	const struct err *e = NULL;

	if (w->entries.len > STRIP_PLAIN) {
		e = strip_put_packed(w, out);
	} else {
		buf_put_u8(out, (uint8_t)w->n);
		strip_put_columns(w, out);
		buf_put(out, w->entries.data, w->entries.len);
	}
	if (e == NULL && (w->entries.failed || out->failed))
		e = err_nomem();
	strip_begin(w, w->kind, w->level);
	return e;
}

bool
strip_is_packed(const void *p, size_t n)
{
	return n > 0 && *(const uint8_t *)p & STRIP_PACKED;
}

size_t
strip_size(const void *p, size_t n)
{
	struct cur c = cur_of(p, n);
	uint8_t first = cur_u8(&c);
	size_t size = cur_be32(&c);

	return first & STRIP_PACKED && !c.bad ? size : n;
}

unsigned
strip_blocks(const void *p, size_t n)
{
	struct cur c = cur_of(p, n);

	return cur_u8(&c) & ~(unsigned)STRIP_PACKED;
}

static void
column_apply(struct strip *s, enum series_kind kind, uint8_t column,
    const int128 *v, struct cur *c)
{
	for (size_t i = 0; i < s->n; i++) {
		struct block *b = &s->blocks[i];

		switch (column) {
		case COL_COUNT:
			b->count = (uint64_t)v[i];
			break;
		case COL_LAST:
			b->last = (int64_t)v[i];
			if (kind == SERIES_COUNTER && i > 0)
				b->last = (int64_t)(v[i] + b[-1].last + b->sum);
			break;
		case COL_LOW:
			b->min = (int64_t)(b->last - v[i]);
			break;
		case COL_HIGH:
			b->max = (int64_t)(b->last + v[i]);
			break;
		case COL_SUM:
			b->sum = v[i];
			if (kind == SERIES_GAUGE)
				b->sum += (int128)b->count * b->last;
			break;
		case COL_TIME:
			b->last_ns = (int64_t)v[i];
			break;
		default: /* the entries follow the last column */
			if (v[i] < 0 || v[i] > (int128)cur_left(c)) {
				c->bad = true;
				break;
			}
			b->entries = cur_of(c->p, (size_t)v[i]);
			c->p += (size_t)v[i];
			break;
		}
	}
}

/* The starts of blocks. */
static void
strip_read_starts(struct strip *s, unsigned level, struct cur *c)
{
	uint64_t index = cur_varint(c);
	int128 values[64];

	if (s->n == 0 || s->n > 64 || index > UINT64_C(1) << 40)
		c->bad = true;
	if (!c->bad && s->n > 1)
		column_take(c, values, s->n - 1);
	for (size_t i = 0; i < s->n && !c->bad; i++) {
		if (i > 0 && (values[i - 1] <= 0 || values[i - 1] > 63)) {
			c->bad = true;
			break;
		}
		if (i > 0)
			index += (uint64_t)values[i - 1];
		s->blocks[i].start = index * seg_slots(level);
	}
}

/* Puts the entries, whose sizes are known, in the place of the strip. */
static const struct err *
strip_unpack(const int128 *sizes, size_t n, struct cur *c, struct buf *bytes)
{
	struct buf plain = {0};
	int128 sum = 0;
	const struct err *e;

	for (size_t i = 0; i < n; i++) {
		c->bad |= sizes[i] < 0 || sizes[i] > UINT32_MAX;
		sum += sizes[i];
	}
	if (c->bad)
		return NULL;
	e = deflate_take(&plain, (size_t)sum, c->p, cur_left(c));
	if (e != NULL) {
		buf_fini(&plain);
		return e;
	}
	buf_fini(bytes);
	*bytes = plain;
	*c = cur_of(bytes->data, bytes->len);
	return NULL;
}

const struct err *
strip_read(struct strip *s, enum series_kind kind, unsigned level,
    struct buf *bytes)
{
	struct cur c = cur_of(bytes->data, bytes->len);
	const uint8_t *columns;
	size_t n_columns = columns_of(kind, &columns);
	const struct err *e = NULL;
	int128 values[64];
	uint8_t first;
	bool packed;

	memset(s->blocks, 0, sizeof(s->blocks));
	first = cur_u8(&c);
	packed = first & STRIP_PACKED;
	s->n = first & ~STRIP_PACKED;
	if (packed && (cur_be32(&c) != bytes->len ||
	        !series_has_entries(kind)))
		c.bad = true;
	strip_read_starts(s, level, &c);
	for (size_t k = 0; k < n_columns && !c.bad && e == NULL; k++) {
		column_take(&c, values, s->n);
		if (packed && columns[k] == COL_SIZE)
			e = strip_unpack(values, s->n, &c, bytes);
		if (e == NULL)
			column_apply(s, kind, columns[k], values, &c);
	}
	if (e == NULL && (c.bad || c.p != c.end))
		e = err_new(ERR_FORMAT, (int)(c.p - bytes->data),
		    "a strip is malformed");
	if (e != NULL)
		s->n = 0;
	return e;
}
