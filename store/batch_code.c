/*
 * The bytes of a batch: writing and reading of records.  The format is in
 * batch.h.  Decoding trusts nothing: each number is checked against the
 * table that it points into, and memory is bounded by the record's length.
 */
#include "batch.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

#include "batch_private.h"

#define BATCH_VERSION 1

static const uint8_t batch_magic[4] = {'M', 'L', 'B', '1'};

/* ---- writing ---- */

/* How many bytes two strings have in common at their beginning. */
static size_t
batch_shared(const struct intern *t, uint32_t i, uint32_t k)
{
	const uint8_t *a = intern_at(t, i), *b = intern_at(t, k);
	size_t n = t->items[i].len, shared = 0;

	if (n > t->items[k].len)
		n = t->items[k].len;
	while (shared < n && a[shared] == b[shared])
		shared++;
	return shared;
}

static void
batch_put_strings(const struct batch *b, struct buf *out)
{
	const struct intern *t = &b->strings;

	buf_put_varint(out, t->n - 1);
	for (uint32_t i = 1; i < t->n; i++) {
		size_t shared = batch_shared(t, i - 1, i);

		buf_put_varint(out, shared);
		buf_put_bytes(out, (const char *)intern_at(t, i) + shared,
		    t->items[i].len - shared);
	}
}

static void
batch_put_frames(const struct batch *b, struct buf *out)
{
	buf_put_varint(out, b->n_frames);
	for (size_t i = 0; i < b->n_frames; i++) {
		const struct batch_frame *f = &b->frames[i];

		buf_put_u8(out, f->kind);
		buf_put_varint(out, f->name);
		buf_put_varint(out, f->module);
		buf_put_varint(out, f->build_id);
		buf_put_varint(out, f->offset);
	}
}

static void
batch_put_labels(const struct batch *b, struct buf *out)
{
	buf_put_varint(out, b->n_labels - 1);
	for (size_t i = 1; i < b->n_labels; i++) {
		const struct batch_labels *set = &b->labels[i];

		buf_put_varint(out, set->n);
		for (uint32_t p = 0; p < 2 * set->n; p++)
			buf_put_varint(out, b->pairs[2 * set->first + p]);
	}
}

static void
batch_put_nodes(const struct batch *b, struct buf *out)
{
	buf_put_varint(out, b->n_nodes - 1);
	for (size_t i = 1; i < b->n_nodes; i++) {
		buf_put_varint(out, i - b->nodes[i].parent);
		buf_put_varint(out, b->nodes[i].edge);
	}
}

static void
batch_put_series(const struct batch *b, struct buf *out)
{
	buf_put_varint(out, b->n_series);
	for (size_t i = 0; i < b->n_series; i++) {
		const struct batch_series *s = &b->series[i];

		buf_put_u8(out, s->kind);
		buf_put_varint(out, s->name);
		buf_put_varint(out, s->unit);
		buf_put_varint(out, s->labels);
		buf_put_zigzag(out, s->period);
		buf_put_varint(out, s->scale);
	}
}

static void
batch_put_entries(const struct batch *b, const struct batch_block *k,
    struct buf *out)
{
	uint32_t previous = 0;

	buf_put_varint(out, k->n);
	for (uint32_t i = k->first; i < k->first + k->n; i++) {
		buf_put_varint(out, b->entries[i].key - previous);
		buf_put_varint(out, (uint64_t)b->entries[i].value);
		previous = b->entries[i].key;
	}
}

static void
batch_put_value(const struct batch *b, const struct batch_block *k,
    struct buf *out)
{
	switch (b->series[k->series].kind) {
	case SERIES_FLOW:
	case SERIES_STOCK:
		buf_put_varint(out, k->count);
		batch_put_entries(b, k, out);
		break;
	case SERIES_GAUGE:
		buf_put_varint(out, k->count);
		buf_put_zigzag(out, k->min);
		buf_put_varint(out, (uint64_t)k->max - (uint64_t)k->min);
		buf_put_zigzag128(out, k->sum);
		buf_put_zigzag(out, k->last);
		buf_put_zigzag(out, k->last_ns);
		break;
	case SERIES_COUNTER:
		buf_put_varint(out, (uint64_t)k->increase);
		buf_put_varint(out, k->count);
		buf_put_zigzag(out, k->last);
		buf_put_zigzag(out, k->last_ns);
		break;
	default:
		batch_put_entries(b, k, out);
		buf_put_zigzag128(out, k->sum);
		buf_put_zigzag(out, k->min);
		buf_put_zigzag(out, k->max);
		break;
	}
}

static void
batch_put_blocks(const struct batch *b, struct buf *out)
{
	uint64_t previous = 0;

	buf_put_varint(out, b->n_blocks);
	for (size_t i = 0; i < b->n_blocks; i++) {
		const struct batch_block *k = &b->blocks[i];

		buf_put_varint(out, k->series);
		buf_put_zigzag(out, (int64_t)(k->slot - previous));
		batch_put_value(b, k, out);
		previous = k->slot;
	}
}

static void
batch_put_facts(const struct batch *b, struct buf *out)
{
	buf_put_varint(out, b->n_facts);
	for (size_t i = 0; i < b->n_facts; i++) {
		const struct batch_fact *f = &b->facts[i];

		buf_put_zigzag(out, f->time_ns);
		buf_put_u8(out, f->kind);
		buf_put_varint(out, f->subject);
		buf_put_bytes(out, b->fact_bytes.data + f->first, f->n);
	}
}

static void (*const batch_sections[])(const struct batch *, struct buf *) = {
    batch_put_strings,
    batch_put_frames,
    batch_put_labels,
    batch_put_nodes,
    batch_put_series,
    batch_put_blocks,
    batch_put_facts,
};
#define BATCH_SECTIONS (sizeof(batch_sections) / sizeof(batch_sections[0]))

static void
batch_put_header(struct buf *out, size_t start)
{
	struct buf header = {0};
	size_t n = out->len - start - BATCH_RECORD_HEADER;

	if (!buf_reserve(&header, BATCH_RECORD_HEADER)) {
		out->failed = true;
		return;
	}
	buf_put(&header, batch_magic, sizeof(batch_magic));
	buf_put_be32(&header, (uint32_t)n);
	buf_put_be32(&header,
	    crc32c(0, out->data + start + BATCH_RECORD_HEADER, n));
	buf_put_be32(&header, crc32c(0, header.data, 12));
	memcpy(out->data + start, header.data, BATCH_RECORD_HEADER);
	buf_fini(&header);
}

static const struct err *
batch_encode_within(struct batch *b, struct buf *out, size_t most)
{
	static const uint8_t blank[BATCH_RECORD_HEADER];
	const struct err *e = batch_finish(b);
	struct buf section = {0};
	size_t start = out->len;

	if (e != NULL)
		return e;
	buf_put(out, blank, sizeof(blank));
	buf_put_u8(out, BATCH_VERSION);
	buf_put(out, b->id, sizeof(b->id));
	buf_put_varint(out, b->slot_ns);
	for (size_t i = 0; i < BATCH_SECTIONS; i++) {
		buf_clear(&section);
		batch_sections[i](b, &section);
		buf_put_varint(out, i + 1);
		buf_put_bytes(out, section.data, section.len);
		if (section.failed)
			out->failed = true;
	}
	buf_fini(&section);
	if (!out->failed && out->len - start > most)
		return err_new(ERR_LIMIT, 413, "a batch is over %zu bytes",
		    most);
	if (!out->failed)
		batch_put_header(out, start);
	return out->failed ? err_nomem() : NULL;
}

const struct err *
batch_encode(struct batch *b, struct buf *out)
{
	return batch_encode_within(b, out, BATCH_MAX_BYTES);
}

const struct err *
batch_encode_dict(struct batch *b, struct buf *out)
{
	return batch_encode_within(b, out, BATCH_DICT_BYTES);
}

/* ---- reading ---- */

/*
 * The count that begins a section.  Each element needs at least `least`
 * bytes here and `size` in memory, which together bound what is allocated:
 * a short record may not ask for a long array.
 */
static size_t
batch_take_count(struct batch *b, struct cur *c, size_t least, size_t size)
{
	uint64_t n = cur_varint(c);

	if (n > cur_left(c) / least || n > b->index->budget / size) {
		c->bad = true;
		return 0;
	}
	b->index->budget -= (size_t)n * size;
	return (size_t)n;
}

/* A number below `bound`. */
static uint32_t
batch_take_below(struct cur *c, size_t bound)
{
	uint64_t v = cur_varint(c);

	if (v >= bound)
		c->bad = true;
	return c->bad ? 0 : (uint32_t)v;
}

static bool
batch_take_strings(struct batch *b, struct cur *c)
{
	size_t n = batch_take_count(b, c, 2,
	    sizeof(struct intern_item)), len;
	struct buf text = {0};
	bool fine = true;

	for (size_t i = 0; i < n && fine && !c->bad; i++) {
		uint64_t shared = cur_varint(c);
		const uint8_t *rest = cur_bytes(c, &len);

		if (rest == NULL || shared > text.len ||
		    shared + len > BATCH_MAX_STRING) {
			c->bad = true;
			break;
		}
		text.len = (size_t)shared;
		buf_put(&text, rest, len);
		fine = !text.failed && intern_push(&b->strings, text.data,
		                           text.len) != INTERN_NONE;
	}
	buf_fini(&text);
	return fine;
}

static bool
batch_take_frames(struct batch *b, struct cur *c)
{
	size_t n = batch_take_count(b, c, 5,
	    sizeof(*b->frames));

	b->frames = calloc(n + 1, sizeof(*b->frames));
	if (b->frames == NULL)
		return false;
	for (size_t i = 0; i < n && !c->bad; i++) {
		struct batch_frame *f = &b->frames[i];

		f->kind = cur_u8(c);
		f->name = batch_take_below(c, b->strings.n);
		f->module = batch_take_below(c, b->strings.n);
		f->build_id = batch_take_below(c, b->strings.n);
		f->offset = cur_varint(c);
		if (f->kind < FRAME_NATIVE || f->kind > FRAME_MARK)
			c->bad = true;
	}
	b->n_frames = n;
	return true;
}

static bool
batch_take_pairs(struct batch *b, struct cur *c, size_t n)
{
	for (size_t i = 0; i < 2 * n && !c->bad; i++) {
		if (!batch_room(b, (void **)&b->pairs, b->n_pairs,
		        &b->index->cap_pairs, sizeof(*b->pairs)))
			return false;
		b->pairs[b->n_pairs++] = batch_take_below(c, b->strings.n);
	}
	return true;
}

/* Names of a set are sorted and none stands twice. */
static bool
batch_labels_rise(const struct batch *b, size_t set)
{
	const struct batch_labels *l = &b->labels[set];

	for (uint32_t i = 1; i < l->n; i++) {
		const uint32_t *p = &b->pairs[2 * (l->first + i)];

		if (intern_compare(&b->strings, p[-2], p[0]) >= 0)
			return false;
	}
	return true;
}

static bool
batch_take_labels(struct batch *b, struct cur *c)
{
	size_t n = batch_take_count(b, c, 1,
	    sizeof(*b->labels));

	for (size_t i = 0; i < n && !c->bad; i++) {
		uint64_t pairs = cur_varint(c);

		if (pairs > BATCH_MAX_LABELS) {
			c->bad = true;
			break;
		}
		if (!batch_room(b, (void **)&b->labels, b->n_labels,
		        &b->index->cap_labels, sizeof(*b->labels)))
			return false;
		b->labels[b->n_labels++] = (struct batch_labels){
		    (uint32_t)b->n_pairs / 2, (uint32_t)pairs};
		if (!batch_take_pairs(b, c, (size_t)pairs))
			return false;
		if (!c->bad && !batch_labels_rise(b, b->n_labels - 1))
			c->bad = true;
	}
	return true;
}

static bool
batch_take_nodes(struct batch *b, struct cur *c)
{
	size_t n = batch_take_count(b, c, 2,
	    sizeof(*b->nodes) + 2);
	struct batch_node *nodes = calloc(n + 1, sizeof(*nodes));
	uint16_t *depth = calloc(n + 1, sizeof(*depth));

	if (nodes == NULL || depth == NULL) {
		free(nodes);
		free(depth);
		return false;
	}
	for (size_t i = 1; i <= n && !c->bad; i++) {
		uint64_t up = cur_varint(c);

		if (up == 0 || up > i) {
			c->bad = true;
			break;
		}
		nodes[i].parent = (uint32_t)(i - up);
		nodes[i].edge = batch_take_below(c,
		    up == i ? b->n_labels : b->n_frames);
		depth[i] = (uint16_t)(depth[nodes[i].parent] + 1);
		if (depth[i] > BATCH_MAX_DEPTH)
			c->bad = true;
	}
	free(depth);
	free(b->nodes);
	b->nodes = nodes;
	b->n_nodes = n + 1;
	return true;
}

static bool
batch_take_series(struct batch *b, struct cur *c)
{
	size_t n = batch_take_count(b, c, 6,
	    sizeof(*b->series));

	b->series = calloc(n + 1, sizeof(*b->series));
	if (b->series == NULL)
		return false;
	for (size_t i = 0; i < n && !c->bad; i++) {
		struct batch_series *s = &b->series[i];

		s->kind = cur_u8(c);
		s->name = batch_take_below(c, b->strings.n);
		s->unit = batch_take_below(c, b->strings.n);
		s->labels = batch_take_below(c, b->n_labels);
		s->period = cur_zigzag(c);
		s->scale = (uint8_t)batch_take_below(c, 19);
		if (s->kind < SERIES_FLOW || s->kind > SERIES_HISTOGRAM ||
		    s->name == 0)
			c->bad = true;
	}
	b->n_series = n;
	return true;
}

/* Entries rise strictly by key and their values are positive. */
static bool
batch_take_entries(struct batch *b, struct cur *c, struct batch_block *k,
    size_t *cap, size_t bound)
{
	size_t n = batch_take_count(b, c, 2,
	    sizeof(*b->entries));
	uint64_t key = 0;

	k->first = (uint32_t)b->n_entries;
	k->n = (uint32_t)n;
	for (size_t i = 0; i < n && !c->bad; i++) {
		uint64_t delta = cur_varint(c), value = cur_varint(c);

		key += delta;
		if (delta >= bound || key >= bound || (i > 0 && delta == 0) ||
		    value == 0 || value > INT64_MAX) {
			c->bad = true;
			break;
		}
		if (!batch_room(b, (void **)&b->entries, b->n_entries, cap,
		        sizeof(*b->entries)))
			return false;
		b->entries[b->n_entries++] = (struct batch_entry){
		    (uint32_t)key, (int64_t)value};
	}
	return true;
}

static void
batch_take_gauge(struct cur *c, struct batch_block *k)
{
	uint64_t spread;

	k->count = cur_varint(c);
	k->min = cur_zigzag(c);
	spread = cur_varint(c);
	k->max = (int64_t)((uint64_t)k->min + spread);
	k->sum = cur_zigzag128(c);
	k->last = cur_zigzag(c);
	k->last_ns = cur_zigzag(c);
	if (k->count == 0 || k->max < k->min)
		c->bad = true;
}

static void
batch_take_counter(struct cur *c, struct batch_block *k)
{
	k->increase = (int64_t)cur_varint(c);
	k->count = cur_varint(c);
	k->last = cur_zigzag(c);
	k->last_ns = cur_zigzag(c);
	if (k->count == 0 || k->increase < 0)
		c->bad = true;
}

static bool
batch_take_value(struct batch *b, struct cur *c, struct batch_block *k,
    size_t *cap)
{
	bool fine = true;

	switch (b->series[k->series].kind) {
	case SERIES_FLOW:
	case SERIES_STOCK:
		k->count = cur_varint(c);
		fine = batch_take_entries(b, c, k, cap, b->n_nodes);
		break;
	case SERIES_GAUGE:
		batch_take_gauge(c, k);
		break;
	case SERIES_COUNTER:
		batch_take_counter(c, k);
		break;
	default:
		fine = batch_take_entries(b, c, k, cap, HISTOGRAM_BUCKETS);
		k->sum = cur_zigzag128(c);
		k->min = cur_zigzag(c);
		k->max = cur_zigzag(c);
		for (uint32_t i = 0; fine && i < k->n && !c->bad; i++)
			k->count +=
			    (uint64_t)b->entries[k->first + i].value;
		break;
	}
	return fine;
}

static bool
batch_take_blocks(struct batch *b, struct cur *c)
{
	size_t n = batch_take_count(b, c, 3,
	    sizeof(*b->blocks)), cap = 0;
	uint64_t slot = 0;

	b->blocks = calloc(n + 1, sizeof(*b->blocks));
	if (b->blocks == NULL)
		return false;
	for (size_t i = 0; i < n && !c->bad; i++) {
		struct batch_block *k = &b->blocks[i];

		k->series = batch_take_below(c, b->n_series);
		slot += (uint64_t)cur_zigzag(c);
		k->slot = slot;
		if (c->bad || slot >> 40 != 0)
			c->bad = true;
		else if (!batch_take_value(b, c, k, &cap))
			return false;
	}
	b->n_blocks = n;
	return true;
}

static bool
batch_take_facts(struct batch *b, struct cur *c)
{
	size_t n = batch_take_count(b, c, 4,
	    sizeof(*b->facts)), len;

	b->facts = calloc(n + 1, sizeof(*b->facts));
	if (b->facts == NULL)
		return false;
	for (size_t i = 0; i < n && !c->bad; i++) {
		struct batch_fact *f = &b->facts[i];
		const uint8_t *data;

		f->time_ns = cur_zigzag(c);
		f->kind = cur_u8(c);
		f->subject = batch_take_below(c, b->strings.n);
		data = cur_bytes(c, &len);
		f->first = (uint32_t)b->fact_bytes.len;
		f->n = (uint32_t)len;
		buf_put(&b->fact_bytes, data, len);
	}
	b->n_facts = n;
	return !b->fact_bytes.failed;
}

static bool (*const batch_takers[])(struct batch *, struct cur *) = {
    batch_take_strings,
    batch_take_frames,
    batch_take_labels,
    batch_take_nodes,
    batch_take_series,
    batch_take_blocks,
    batch_take_facts,
};

static const struct err *
batch_header_within(const void *p, size_t *n, size_t most)
{
	struct cur c = cur_of(p, BATCH_RECORD_HEADER);
	const uint8_t *magic = cur_raw(&c, sizeof(batch_magic));

	*n = cur_be32(&c);
	cur_be32(&c);
	if (memcmp(magic, batch_magic, sizeof(batch_magic)) != 0)
		return err_new(ERR_FORMAT, 0, "no record begins here");
	if (cur_be32(&c) != crc32c(0, p, 12))
		return err_new(ERR_FORMAT, 12, "the record's header is damaged");
	if (*n > most)
		return err_new(ERR_FORMAT, 4, "the record is too long");
	return NULL;
}

const struct err *
batch_record_header(const void *p, size_t *n)
{
	return batch_header_within(p, n, BATCH_MAX_BYTES);
}

static const struct err *
batch_take_payload(struct batch *b, struct cur *c, const uint8_t *start)
{
	const uint8_t *id;
	uint8_t version = cur_u8(c);

	if (version != BATCH_VERSION)
		return err_new(ERR_FORMAT, BATCH_RECORD_HEADER,
		    "batch version %u is not known here", version);
	id = cur_raw(c, sizeof(b->id));
	b->slot_ns = cur_varint(c);
	if (id != NULL)
		memcpy(b->id, id, sizeof(b->id));
	for (size_t i = 0; i < BATCH_SECTIONS && !c->bad; i++) {
		uint64_t tag = cur_varint(c);
		size_t n;
		const uint8_t *p = cur_bytes(c, &n);
		struct cur section = cur_of(p, n);

		if (p == NULL || tag != i + 1)
			break;
		if (!batch_takers[i](b, &section))
			return err_nomem();
		if (section.bad || section.p != section.end)
			return err_new(ERR_FORMAT, (int)(section.p - start),
			    "section %zu of a batch is malformed", i + 1);
		if (i + 1 == BATCH_SECTIONS && cur_left(c) == 0)
			return NULL;
	}
	return err_new(ERR_FORMAT, (int)(c->p - start),
	    "a batch does not have its seven sections");
}

static const struct err *
batch_decode_within(const void *record, size_t size, size_t most,
    size_t budget, struct batch **out)
{
	const uint8_t *start = record;
	const struct err *e;
	struct batch *b;
	struct cur c;
	size_t n;

	*out = NULL;
	if (size < BATCH_RECORD_HEADER)
		return err_new(ERR_FORMAT, (int)size, "a record is cut short");
	if ((e = batch_header_within(record, &n, most)) != NULL)
		return e;
	if (size != n + BATCH_RECORD_HEADER)
		return err_new(ERR_FORMAT, (int)size, "a record is cut short");
	c = cur_of(start + 8, 4);
	if (cur_be32(&c) != crc32c(0, start + BATCH_RECORD_HEADER, n))
		return err_new(ERR_FORMAT, 8, "the record's payload is damaged");
	b = batch_alloc();
	if (b == NULL)
		return err_nomem();
	b->index->budget = budget;
	c = cur_of(start + BATCH_RECORD_HEADER, n);
	e = batch_take_payload(b, &c, start);
	if (e != NULL)
		batch_free(b);
	else
		*out = b;
	return e;
}

const struct err *
batch_decode(const void *record, size_t size, struct batch **out)
{
	return batch_decode_within(record, size, BATCH_MAX_BYTES,
	    BATCH_BUDGET, out);
}

const struct err *
batch_decode_dict(const void *record, size_t size, struct batch **out)
{
	return batch_decode_within(record, size, BATCH_DICT_BYTES,
	    SIZE_MAX, out);
}
