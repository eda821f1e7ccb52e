/*
 * Batches of one client after the other, each of whose names goes over the
 * socket once.  The bytes are in batch.h, and the sections are those of
 * batch_write.c and batch_take.c.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/batch/batch_private.h"

#define STREAM_VERSION 1
#define REST_MAX 16384 /* blocks, entries and facts that are kept */

/* ---- sending ---- */

const struct err *
batch_encode_stream(struct batch *b, struct buf *out)
{
	static const uint8_t blank[BATCH_RECORD_HEADER];
	const struct batch_first *from = &b->index->sent;
	const struct err *e = batch_finish(b);
	size_t start = out->len;

	if (e != NULL)
		return e;
	buf_put(out, blank, sizeof(blank));
	buf_put_u8(out, STREAM_VERSION);
	buf_put(out, b->id, sizeof(b->id));
	buf_put_varint(out, b->slot_ns);
	buf_put_varint(out, from->strings);
	buf_put_varint(out, from->frames);
	buf_put_varint(out, from->labels);
	buf_put_varint(out, from->nodes);
	buf_put_varint(out, from->series);
	batch_put_sections(b, from, out);
	if (!out->failed && out->len - start > BATCH_MAX_BYTES)
		return err_new(ERR_LIMIT, 413, "a batch is over %u bytes",
		    BATCH_MAX_BYTES);
	if (!out->failed)
		batch_put_header(out, start, "MLS1", false);
	return out->failed ? err_nomem() : NULL;
}

static struct batch_first
stream_counts(const struct batch *b)
{
	return (struct batch_first){b->strings.n, (uint32_t)b->n_frames,
	    (uint32_t)b->n_labels, (uint32_t)b->n_nodes,
	    (uint32_t)b->n_series};
}

void
batch_sent(struct batch *b)
{
	b->index->sent = stream_counts(b);
}

void
batch_unsent(struct batch *b)
{
	b->index->sent = BATCH_FIRST;
}

bool
batch_renew(struct batch *b)
{
	if (b->failed)
		return false;
	map64_fini(&b->index->blocks);
	free(b->entries);
	b->entries = NULL;
	b->n_blocks = b->n_entries = b->n_facts = b->index->n_adds = 0;
	buf_clear(&b->fact_bytes);
	return getrandom(b->id, sizeof(b->id), 0) == sizeof(b->id);
}

size_t
batch_names_bytes(const struct batch *b)
{
	return b->strings.bytes.len +
	    b->strings.n * sizeof(struct intern_item) +
	    b->n_frames * sizeof(*b->frames) +
	    b->n_labels * sizeof(*b->labels) + b->n_pairs * sizeof(*b->pairs) +
	    b->n_nodes * (sizeof(*b->nodes) + sizeof(uint16_t)) +
	    b->n_series * sizeof(*b->series);
}

/* ---- receiving ---- */

struct batch_stream {
	struct batch *b; /* NULL: nothing came yet */
	uint64_t number; /* of the dictionary */
};

struct batch_stream *
batch_stream_new(void)
{
	struct batch_stream *s = calloc(1, sizeof(*s));

	if (s != NULL && getrandom(&s->number, sizeof(s->number), 0) !=
	    sizeof(s->number)) {
		free(s);
		return NULL;
	}
	return s;
}

void
batch_stream_free(struct batch_stream *s)
{
	if (s != NULL)
		batch_free(s->b);
	free(s);
}

bool
batch_stream_is(const void *header)
{
	return memcmp(header, "MLS", 3) == 0;
}

static bool
stream_same(struct batch_first a, struct batch_first b)
{
	return a.strings == b.strings && a.frames == b.frames &&
	    a.labels == b.labels && a.nodes == b.nodes &&
	    a.series == b.series;
}

static const struct err *
stream_begin(struct batch_stream *s)
{
	batch_free(s->b);
	if ((s->b = batch_alloc()) == NULL)
		return err_nomem();
	s->b->index->names_budget = BATCH_STREAM_BYTES;
	if (++s->number == 0)
		s->number = 1;
	s->b->stream = s->number;
	return NULL;
}

static void
stream_take_first(struct cur *c, struct batch_first *from)
{
	uint32_t *const numbers[] = {&from->strings, &from->frames,
	    &from->labels, &from->nodes, &from->series};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		uint64_t v = cur_varint(c);

		if (v > BATCH_MAX_FIRST)
			c->bad = true;
		*numbers[i] = (uint32_t)v;
	}
}

const struct err *
batch_stream_decode(struct batch_stream *s, const void *record, size_t size,
    struct batch **out)
{
	struct batch_first from;
	const struct err *e;
	struct cur c;
	uint8_t version;
	const uint8_t *id;
	uint64_t slot_ns;

	*out = NULL;
	e = batch_open_record(record, size, &batch_of_stream, &c, &version);
	if (e != NULL)
		return e;
	if (cur_u8(&c) != version)
		c.bad = true;
	id = cur_raw(&c, sizeof(s->b->id));
	slot_ns = cur_varint(&c);
	stream_take_first(&c, &from);
	if (c.bad)
		return err_new(ERR_FORMAT, BATCH_RECORD_HEADER,
		    "a stream's record is malformed");
	if (stream_same(from, BATCH_FIRST)) {
		if ((e = stream_begin(s)) != NULL)
			return e;
	} else if (s->b == NULL || !stream_same(from, stream_counts(s->b))) {
		return err_new(ERR_REQUEST, 409,
		    "this connection does not have those names");
	}
	memcpy(s->b->id, id, sizeof(s->b->id));
	s->b->slot_ns = slot_ns;
	s->b->index->budget = s->b->index->names_budget;
	s->b->n_blocks = s->b->n_entries = s->b->n_facts = 0;
	buf_clear(&s->b->fact_bytes);
	e = batch_take_sections(s->b, &c, record);
	if (e == NULL)
		*out = s->b;
	return e;
}

void
batch_stream_rest(struct batch_stream *s)
{
	struct batch *b = s->b;

	if (b == NULL || b->n_entries + b->n_blocks + b->n_facts < REST_MAX)
		return;
	free(b->entries);
	free(b->blocks);
	free(b->facts);
	b->entries = NULL;
	b->blocks = NULL;
	b->facts = NULL;
	b->n_blocks = b->n_entries = b->n_facts = 0;
	b->index->cap_entries = b->index->cap_blocks = b->index->cap_facts = 0;
	buf_fini(&b->fact_bytes);
}
