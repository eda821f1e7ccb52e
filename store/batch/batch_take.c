/*
 * The sections of a record: reading.  The format is in batch.h, that of a
 * journal's in journal.h.  Each number is checked against the table that it
 * points into, and memory is bounded by the record's length.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/batch/batch.h"
#include "store/batch/batch_private.h"
#include "store/batch/frame_code.h"
#include "store/model/histogram.h"

/* One past the highest numbers that a record may use. */
static size_t
batch_strings_end(const struct batch *b)
{
	return b->index->first.strings + b->strings.n - 1;
}

static size_t
batch_frames_end(const struct batch *b)
{
	return b->index->first.frames + b->n_frames;
}

static size_t
batch_labels_end(const struct batch *b)
{
	return b->index->first.labels + b->n_labels - 1;
}

static size_t
batch_nodes_end(const struct batch *b)
{
	return b->index->first.nodes + b->n_nodes - 1;
}

static size_t
batch_series_end(const struct batch *b)
{
	return b->index->first.series + b->n_series;
}

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

/* Room in a table, which may hold some already, for n more. */
#define ROOM_FOR(b, array, used, n)                                            \
	array_room(&(b)->array, (used) + (n) + 1, &(b)->index->cap_##array)

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
		    shared + len > BATCH_MAX_STRING ||
		    shared + len > b->index->budget) {
			c->bad = true;
			break;
		}
		/* two bytes can ask for 64 KiB */
		b->index->budget -= (size_t)shared + len;
		text.len = (size_t)shared;
		buf_put(&text, rest, len);
		fine = !text.failed && intern_push(&b->strings, text.data,
		                           text.len) != INTERN_NONE;
	}
	buf_fini(&text);
	return fine;
}

void
batch_one_frame(struct cur *c, size_t strings, struct batch_frame *f)
{
	f->kind = cur_u8(c);
	f->name = batch_take_below(c, strings);
	f->module = batch_take_below(c, strings);
	f->build_id = batch_take_below(c, strings);
	f->offset = cur_varint(c);
	if (f->kind < FRAME_NATIVE || f->kind > FRAME_MARK)
		c->bad = true;
}

static bool
batch_take_frames(struct batch *b, struct cur *c)
{
	size_t n = batch_take_count(b, c, b->index->coded
	    ? FRAME_CODE_LEAST : 5, sizeof(*b->frames));
	struct frame_code code = {0};

	if (!ROOM_FOR(b, frames, b->n_frames, n))
		return false;
	for (size_t i = 0; i < n && !c->bad; i++) {
		struct batch_frame *f = &b->frames[b->n_frames + i];

		if (b->index->coded)
			frame_code_take(&code, c, (uint32_t)i,
			    batch_strings_end(b), f);
		else
			batch_one_frame(c, batch_strings_end(b), f);
	}
	b->n_frames += n;
	return true;
}

static bool
batch_take_pairs(struct batch *b, struct cur *c, size_t n)
{
	for (size_t i = 0; i < 2 * n && !c->bad; i++) {
		if (!batch_room(b, (void **)&b->pairs, b->n_pairs,
		        &b->index->cap_pairs, sizeof(*b->pairs)))
			return false;
		b->pairs[b->n_pairs++] =
		    batch_take_below(c, batch_strings_end(b));
	}
	return true;
}

/* Names of a set are sorted and none stands twice.  Of a journal's sets the
 * writer has seen to it. */
static bool
batch_labels_rise(const struct batch *b, size_t set)
{
	const struct batch_labels *l = &b->labels[set];

	if (b->index->dictionary != 0)
		return true;
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

/* The depth is checked within the record. */
void
batch_one_node(struct cur *c, uint32_t own, uint32_t first, size_t labels,
    size_t frames, uint16_t *depths, struct batch_node *n)
{
	uint64_t up = cur_varint(c);
	uint16_t depth = 1;

	*n = (struct batch_node){0};
	if (up == 0 || up > own) {
		c->bad = true;
		return;
	}
	n->parent = (uint32_t)(own - up);
	n->edge = batch_take_below(c, n->parent == 0 ? labels : frames);
	if (depths == NULL)
		return;
	if (n->parent >= first)
		depth = (uint16_t)(depth + depths[n->parent - first + 1]);
	depths[own - first + 1] = depth;
	if (depth > BATCH_MAX_DEPTH)
		c->bad = true;
}

static bool
batch_take_nodes(struct batch *b, struct cur *c)
{
	size_t n = batch_take_count(b, c, 2,
	    sizeof(*b->nodes) + 2);
	uint32_t first = b->index->first.nodes;

	if (!ROOM_FOR(b, nodes, b->n_nodes, n) ||
	    !array_room(&b->index->depths, b->n_nodes + n + 1,
	        &b->index->cap_depths))
		return false;
	for (size_t i = b->n_nodes; i < b->n_nodes + n && !c->bad; i++)
		batch_one_node(c, (uint32_t)(first + i - 1), first,
		    batch_labels_end(b), batch_frames_end(b),
		    b->index->depths, &b->nodes[i]);
	b->n_nodes += n;
	return true;
}

void
batch_one_series(struct cur *c, size_t strings, size_t labels,
    struct batch_series *s)
{
	s->kind = cur_u8(c);
	s->name = batch_take_below(c, strings);
	s->unit = batch_take_below(c, strings);
	s->labels = batch_take_below(c, labels);
	s->period = cur_zigzag(c);
	s->scale = (uint8_t)batch_take_below(c, 19);
	if (s->kind < SERIES_FLOW || s->kind > SERIES_HISTOGRAM ||
	    s->name == 0)
		c->bad = true;
}

static bool
batch_take_series(struct batch *b, struct cur *c)
{
	size_t n = batch_take_count(b, c, 6,
	    sizeof(*b->series));

	if (!ROOM_FOR(b, series, b->n_series, n))
		return false;
	for (size_t i = 0; i < n && !c->bad; i++)
		batch_one_series(c, batch_strings_end(b), batch_labels_end(b),
		    &b->series[b->n_series + i]);
	b->n_series += n;
	return true;
}

/* Values are positive; entries rise strictly by key, but for a journal's,
 * where they stand in the order of the batch they came from. */
void
batch_one_entry(struct cur *c, bool rising, bool first, size_t bound,
    uint64_t *key, int64_t *value)
{
	uint64_t delta = rising ? cur_varint(c) : (uint64_t)cur_zigzag(c);
	uint64_t v = cur_varint(c);

	*key += delta;
	*value = (int64_t)v;
	if (*key >= bound || v == 0 || v > INT64_MAX ||
	    (rising && (delta >= bound || (!first && delta == 0))))
		c->bad = true;
}

static bool
batch_take_entries(struct batch *b, struct cur *c, struct batch_block *k,
    size_t bound)
{
	size_t n = batch_take_count(b, c, 2,
	    sizeof(*b->entries));
	bool rising = b->index->dictionary == 0;
	uint64_t key = 0;

	k->first = (uint32_t)b->n_entries;
	k->n = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		int64_t value;

		batch_one_entry(c, rising, i == 0, bound, &key, &value);
		if (c->bad)
			break;
		if (!batch_room(b, (void **)&b->entries, b->n_entries,
		        &b->index->cap_entries, sizeof(*b->entries)))
			return false;
		b->entries[b->n_entries++] = (struct batch_entry){
		    (uint32_t)key, value};
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

void
batch_one_number(struct cur *c, struct batch_block *k)
{
	if (k->kind == SERIES_GAUGE)
		batch_take_gauge(c, k);
	else
		batch_take_counter(c, k);
}

static bool
batch_take_value(struct batch *b, struct cur *c, struct batch_block *k)
{
	bool fine = true;

	switch (k->kind) {
	case SERIES_FLOW:
	case SERIES_STOCK:
		k->count = cur_varint(c);
		fine = batch_take_entries(b, c, k, batch_nodes_end(b));
		break;
	case SERIES_GAUGE:
	case SERIES_COUNTER:
		batch_one_number(c, k);
		break;
	default:
		fine = batch_take_entries(b, c, k, HISTOGRAM_BUCKETS);
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
	    sizeof(*b->blocks));
	uint64_t slot = 0;

	if (!ROOM_FOR(b, blocks, 0, n))
		return false;
	for (size_t i = 0; i < n && !c->bad; i++) {
		struct batch_block *k = &b->blocks[i];

		*k = (struct batch_block){0};
		k->series = batch_take_below(c, batch_series_end(b));
		if (b->index->dictionary != 0)
			k->kind = cur_u8(c);
		else if (!c->bad)
			k->kind = b->series[k->series].kind;
		slot += (uint64_t)cur_zigzag(c);
		k->slot = slot;
		if (c->bad || slot >> 40 != 0 || k->kind < SERIES_FLOW ||
		    k->kind > SERIES_HISTOGRAM)
			c->bad = true;
		else if (!batch_take_value(b, c, k))
			return false;
	}
	b->n_blocks = n;
	return true;
}

static bool
batch_take_facts(struct batch *b, struct cur *c)
{
	size_t n = batch_take_count(b, c, 4, sizeof(*b->facts));

	if (!ROOM_FOR(b, facts, 0, n))
		return false;
	for (size_t i = 0; i < n && !c->bad; i++) {
		struct fact f;

		fact_take(c, &f);
		if (f.subject >= batch_strings_end(b))
			c->bad = true;
		b->facts[i] = (struct batch_fact){f.time_ns, f.kind,
		    (uint32_t)f.subject, (uint32_t)b->fact_bytes.len,
		    (uint32_t)f.n};
		buf_put(&b->fact_bytes, f.data, f.n);
	}
	b->n_facts = n;
	return !b->fact_bytes.failed;
}

void
batch_take_first(struct batch *b, struct cur *c)
{
	batch_one_first(c, &b->index->dictionary, &b->index->first);
}

void
batch_one_first(struct cur *c, uint32_t *dictionary, struct batch_first *f)
{
	*dictionary = batch_take_below(c, UINT32_MAX);
	f->strings = batch_take_below(c, BATCH_MAX_FIRST);
	f->frames = batch_take_below(c, BATCH_MAX_FIRST);
	f->labels = batch_take_below(c, BATCH_MAX_FIRST);
	f->nodes = batch_take_below(c, BATCH_MAX_FIRST);
	f->series = batch_take_below(c, BATCH_MAX_FIRST);
	if (*dictionary == 0 || f->strings == 0 || f->labels == 0 ||
	    f->nodes == 0)
		c->bad = true;
}

bool (*const batch_takers[BATCH_SECTIONS])(struct batch *, struct cur *) = {
    batch_take_strings,
    batch_take_frames,
    batch_take_labels,
    batch_take_nodes,
    batch_take_series,
    batch_take_blocks,
    batch_take_facts,
};
