/*
 * The bytes of a batch: writing of self-contained records.  The format is in
 * batch.h; what journals add to it is in journal_dict.c.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/batch/batch_private.h"
#include "store/batch/frame_code.h"

#define BATCH_VERSION 1

size_t
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
batch_put_strings(const struct batch *b, const struct batch_first *from,
    struct buf *out)
{
	const struct intern *t = &b->strings;

	buf_put_varint(out, t->n - from->strings);
	for (uint32_t i = from->strings; i < t->n; i++) {
		size_t shared = i > from->strings ? batch_shared(t, i - 1, i)
		                                  : 0;

		buf_put_varint(out, shared);
		buf_put_bytes(out, (const char *)intern_at(t, i) + shared,
		    t->items[i].len - shared);
	}
}

static void
batch_put_frames(const struct batch *b, const struct batch_first *from,
    struct buf *out)
{
	struct frame_code code = {0};

	buf_put_varint(out, b->n_frames - from->frames);
	for (size_t i = from->frames; i < b->n_frames; i++) {
		const struct batch_frame *f = &b->frames[i];

		if (b->index->coded) {
			frame_code_put(&code, out, (uint32_t)i, f);
			continue;
		}
		buf_put_u8(out, f->kind);
		buf_put_varint(out, f->name);
		buf_put_varint(out, f->module);
		buf_put_varint(out, f->build_id);
		buf_put_varint(out, f->offset);
	}
}

static void
batch_put_labels(const struct batch *b, const struct batch_first *from,
    struct buf *out)
{
	buf_put_varint(out, b->n_labels - from->labels);
	for (size_t i = from->labels; i < b->n_labels; i++) {
		const struct batch_labels *set = &b->labels[i];

		buf_put_varint(out, set->n);
		for (uint32_t p = 0; p < 2 * set->n; p++)
			buf_put_varint(out, b->pairs[2 * set->first + p]);
	}
}

static void
batch_put_node(struct buf *out, size_t number, uint32_t parent, uint32_t edge)
{
	buf_put_varint(out, number - parent);
	buf_put_varint(out, edge);
}

uint32_t
batch_code_node(struct batch *b, uint32_t parent, uint32_t edge)
{
	batch_put_node(&b->index->node_bytes, b->n_nodes, parent, edge);
	return (uint32_t)b->n_nodes++;
}

static void
batch_put_nodes(const struct batch *b, const struct batch_first *from,
    struct buf *out)
{
	const struct buf *coded = &b->index->node_bytes;

	buf_put_varint(out, b->n_nodes - from->nodes);
	out->failed |= coded->failed;
	if (coded->len > 0) {
		buf_put(out, coded->data, coded->len);
		return;
	}
	for (size_t i = from->nodes; i < b->n_nodes; i++)
		batch_put_node(out, i, b->nodes[i].parent, b->nodes[i].edge);
}

static void
batch_put_series(const struct batch *b, const struct batch_first *from,
    struct buf *out)
{
	buf_put_varint(out, b->n_series - from->series);
	for (size_t i = from->series; i < b->n_series; i++) {
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

void
batch_put_numbers(const struct batch_block *k, struct buf *out)
{
	switch (k->kind) {
	case SERIES_FLOW:
	case SERIES_STOCK:
		buf_put_varint(out, k->count);
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
		buf_put_zigzag128(out, k->sum);
		buf_put_zigzag(out, k->min);
		buf_put_zigzag(out, k->max);
		break;
	}
}

static void
batch_put_value(const struct batch *b, const struct batch_block *k,
    struct buf *out)
{
	if (k->kind == SERIES_HISTOGRAM)
		batch_put_entries(b, k, out);
	batch_put_numbers(k, out);
	if (k->kind == SERIES_FLOW || k->kind == SERIES_STOCK)
		batch_put_entries(b, k, out);
}

static void
batch_put_blocks(const struct batch *b, const struct batch_first *from,
    struct buf *out)
{
	uint64_t previous = 0;

	(void)from;
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
batch_put_facts(const struct batch *b, const struct batch_first *from,
    struct buf *out)
{
	(void)from;
	buf_put_varint(out, b->n_facts);
	for (size_t i = 0; i < b->n_facts; i++) {
		const struct batch_fact *f = &b->facts[i];

		fact_put(out, &(struct fact){f->time_ns, f->kind, f->subject,
		    b->fact_bytes.data + f->first, f->n});
	}
}

typedef void batch_put_fn(const struct batch *b,
    const struct batch_first *from, struct buf *out);
static batch_put_fn *const batch_sections[BATCH_SECTIONS] = {
    batch_put_strings,
    batch_put_frames,
    batch_put_labels,
    batch_put_nodes,
    batch_put_series,
    batch_put_blocks,
    batch_put_facts,
};

void
batch_put_sections(const struct batch *b, const struct batch_first *from,
    struct buf *out)
{
	struct buf section = {0};

	for (size_t i = 0; i < BATCH_SECTIONS; i++) {
		buf_clear(&section);
		batch_sections[i](b, from, &section);
		buf_put_varint(out, i + 1);
		buf_put_bytes(out, section.data, section.len);
		if (section.failed)
			out->failed = true;
	}
	buf_fini(&section);
}

void
batch_put_header(struct buf *out, size_t start, const char *magic, bool more)
{
	size_t n = out->len - start - BATCH_RECORD_HEADER;
	uint32_t flag = more ? BATCH_RECORD_MORE : 0;
	struct buf header = {out->data + start, 0, BATCH_RECORD_HEADER, false};

	buf_put(&header, magic, 4);
	buf_put_be32(&header, (uint32_t)n | flag);
	buf_put_be32(&header,
	    crc32c(0, out->data + start + BATCH_RECORD_HEADER, n));
	buf_put_be32(&header, crc32c(0, header.data, 12));
}

static const struct err *
batch_encode_within(struct batch *b, struct buf *out, size_t most,
    uint8_t version)
{
	const char magic[] = {'M', 'L', 'B', (char)('0' + version), 0};
	static const uint8_t blank[BATCH_RECORD_HEADER];
	const struct err *e = batch_finish(b);
	size_t start = out->len;

	if (e != NULL)
		return e;
	buf_put(out, blank, sizeof(blank));
	buf_put_u8(out, version);
	buf_put(out, b->id, sizeof(b->id));
	buf_put_varint(out, b->slot_ns);
	batch_put_sections(b, &BATCH_FIRST, out);
	if (!out->failed && out->len - start > most)
		return err_new(ERR_LIMIT, 413, "a batch is over %zu bytes",
		    most);
	if (!out->failed)
		batch_put_header(out, start, magic, b->more);
	return out->failed ? err_nomem() : NULL;
}

const struct err *
batch_encode(struct batch *b, struct buf *out)
{
	return batch_encode_within(b, out, BATCH_MAX_BYTES, BATCH_VERSION);
}

const struct err *
batch_encode_dict(struct batch *b, struct buf *out)
{
	const struct err *e = frame_code_drop_names(b);

	b->index->coded = true;
	return e != NULL ? e : batch_encode_within(b, out, BATCH_DICT_BYTES,
	    BATCH_VERSION_DICT);
}
