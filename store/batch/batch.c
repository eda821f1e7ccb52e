/*
 * Building a batch: interning of what it names, and taking of what is added,
 * which batch_finish.c folds.  The bytes are batch_write.c and batch_read.c.
 */
#include "store/batch/batch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "store/base/array.h"
#include "store/batch/batch_private.h"
#include "store/model/histogram.h"

/* Makes room for one more element of a growing array. */
bool
batch_room(struct batch *b, void **array, size_t n, size_t *cap, size_t size)
{
	if (n < *cap || array_grow(array, size, n + 1, cap, sizeof(*cap)))
		return true;
	b->failed = true;
	return false;
}

#define ROOM(b, array, counter)                                                \
	batch_room(b, (void **)&(b)->array, (b)->counter,                      \
	    &(b)->index->cap_##array, sizeof(*(b)->array))

struct batch *
batch_alloc(void)
{
	struct batch *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return NULL;
	b->index = calloc(1, sizeof(*b->index));
	if (b->index != NULL)
		b->index->first = b->index->sent = BATCH_FIRST;
	if (b->index == NULL || intern_put(&b->strings, "", 0) != 0 ||
	    !ROOM(b, labels, n_labels) || !ROOM(b, nodes, n_nodes)) {
		batch_free(b);
		return NULL;
	}
	b->labels[b->n_labels++] = (struct batch_labels){0, 0};
	b->nodes[b->n_nodes++] = (struct batch_node){0, 0};
	return b;
}

struct batch *
batch_new(uint64_t slot_ns)
{
	struct batch *b = batch_alloc();

	if (b == NULL)
		return NULL;
	b->slot_ns = slot_ns;
	if (intern_put(&b->index->label_sets, "", 0) != 0 ||
	    getrandom(b->id, sizeof(b->id), 0) != sizeof(b->id)) {
		batch_free(b);
		return NULL;
	}
	return b;
}

void
batch_free(struct batch *b)
{
	if (b == NULL)
		return;
	if (b->index != NULL) {
		intern_fini(&b->index->frames);
		intern_fini(&b->index->label_sets);
		intern_fini(&b->index->series);
		map64_fini(&b->index->nodes);
		map64_fini(&b->index->blocks);
		free(b->index->adds);
		free(b->index->depths);
		buf_fini(&b->index->node_bytes);
		free(b->index);
	}
	intern_fini(&b->strings);
	buf_fini(&b->fact_bytes);
	free(b->frames);
	free(b->labels);
	free(b->pairs);
	free(b->nodes);
	free(b->series);
	free(b->blocks);
	free(b->entries);
	free(b->facts);
	free(b);
}

const char *
batch_str(const struct batch *b, uint32_t string)
{
	return intern_str(&b->strings, string);
}

uint32_t
batch_string(struct batch *b, const char *s, size_t n)
{
	uint32_t i;

	if (n > BATCH_MAX_STRING)
		n = BATCH_MAX_STRING;
	i = intern_put(&b->strings, s, n);
	if (i != INTERN_NONE)
		return i;
	b->failed = true;
	return 0;
}

static uint32_t
batch_cstring(struct batch *b, const char *s)
{
	return s == NULL ? 0 : batch_string(b, s, strlen(s));
}

uint32_t
batch_frame(struct batch *b, const struct frame *f)
{
	struct batch_frame frame;
	uint32_t i;

	memset(&frame, 0, sizeof(frame)); /* padding is part of the key */
	frame.kind = (uint8_t)f->kind;
	frame.name = batch_cstring(b, f->name);
	frame.module = batch_cstring(b, f->module);
	frame.build_id = batch_cstring(b, f->build_id);
	frame.offset = f->offset;
	i = intern_put(&b->index->frames, &frame, sizeof(frame));
	if (i == INTERN_NONE || !ROOM(b, frames, n_frames)) {
		b->failed = true;
		return 0;
	}
	if (i == b->n_frames)
		b->frames[b->n_frames++] = frame;
	return i;
}

static int
label_compare(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Sorts into `sorted`; of equal names the later one stays. */
static size_t
label_sort(const struct label *labels, size_t n, struct label *sorted)
{
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		size_t j = 0;

		while (j < used && strcmp(sorted[j].name, labels[i].name) != 0)
			j++;
		sorted[j] = labels[i];
		used += j == used;
	}
	qsort(sorted, used, sizeof(*sorted), label_compare);
	return used;
}

uint32_t
batch_labels(struct batch *b, const struct label *labels, size_t n)
{
	struct label sorted[BATCH_MAX_LABELS];
	uint32_t key[2 * BATCH_MAX_LABELS], set;
	size_t used;

	if (n > BATCH_MAX_LABELS) {
		b->failed = true;
		return 0;
	}
	used = label_sort(labels, n, sorted);
	for (size_t i = 0; i < used; i++) {
		key[2 * i] = batch_cstring(b, sorted[i].name);
		key[2 * i + 1] = batch_cstring(b, sorted[i].value);
	}
	set = intern_put(&b->index->label_sets, key, used * 2 * sizeof(*key));
	if (set == INTERN_NONE || !ROOM(b, labels, n_labels)) {
		b->failed = true;
		return 0;
	}
	if (set < b->n_labels)
		return set;
	b->labels[set] = (struct batch_labels){(uint32_t)b->n_pairs / 2,
	    (uint32_t)used};
	for (size_t i = 0; i < 2 * used; i++) {
		if (!ROOM(b, pairs, n_pairs))
			return 0;
		b->pairs[b->n_pairs++] = key[i];
	}
	b->n_labels++;
	return set;
}

uint32_t
batch_node(struct batch *b, uint32_t parent, uint32_t edge)
{
	uint64_t key = (uint64_t)parent << 32 | edge;
	uint32_t i = map64_get(&b->index->nodes, key);

	if (i != INTERN_NONE)
		return i;
	i = (uint32_t)b->n_nodes;
	if (!ROOM(b, nodes, n_nodes) || !map64_add(&b->index->nodes, key, i)) {
		b->failed = true;
		return 0;
	}
	b->nodes[b->n_nodes++] = (struct batch_node){parent, edge};
	return i;
}

uint32_t
batch_frame_new(struct batch *b, const struct frame *f, uint32_t module,
    uint32_t build_id)
{
	struct batch_frame frame;
	size_t n = strlen(f->name);
	uint32_t i;

	memset(&frame, 0, sizeof(frame));
	frame.kind = (uint8_t)f->kind;
	frame.name = intern_push(&b->strings, f->name,
	    n < BATCH_MAX_STRING ? n : BATCH_MAX_STRING);
	frame.module = module;
	frame.build_id = build_id;
	frame.offset = f->offset;
	i = intern_push(&b->index->frames, &frame, sizeof(frame));
	if (frame.name == INTERN_NONE || i == INTERN_NONE ||
	    !ROOM(b, frames, n_frames)) {
		b->failed = true;
		return 0;
	}
	b->frames[b->n_frames++] = frame;
	return i;
}

uint32_t
batch_node_new(struct batch *b, uint32_t parent, uint32_t edge)
{
	if (!ROOM(b, nodes, n_nodes)) {
		b->failed = true;
		return 0;
	}
	b->nodes[b->n_nodes] = (struct batch_node){parent, edge};
	return (uint32_t)b->n_nodes++;
}

uint32_t
batch_series(struct batch *b, const struct series_desc *d)
{
	struct batch_series s;
	uint32_t i;

	memset(&s, 0, sizeof(s));
	s.kind = (uint8_t)d->kind;
	s.scale = d->scale;
	s.name = batch_cstring(b, d->name);
	s.unit = batch_cstring(b, d->unit);
	s.labels = batch_labels(b, d->labels, d->n_labels);
	s.period = d->period;
	i = intern_put(&b->index->series, &s, sizeof(s));
	if (i == INTERN_NONE || !ROOM(b, series, n_series)) {
		b->failed = true;
		return 0;
	}
	if (i == b->n_series)
		b->series[b->n_series++] = s;
	return i;
}

struct batch_block *
batch_block(struct batch *b, uint32_t series, uint64_t slot)
{
	uint64_t key = slot << 24 | series;
	uint32_t i = map64_get(&b->index->blocks, key);

	if (i != INTERN_NONE)
		return &b->blocks[i];
	i = (uint32_t)b->n_blocks;
	if (series >= b->n_series || series >= 1u << 24 || slot >> 40 != 0 ||
	    !ROOM(b, blocks, n_blocks) ||
	    !map64_add(&b->index->blocks, key, i)) {
		b->failed = true;
		return NULL;
	}
	b->blocks[i] = (struct batch_block){.series = series,
	    .kind = b->series[series].kind, .slot = slot};
	b->n_blocks++;
	return &b->blocks[i];
}

void
batch_add(struct batch *b, const struct batch_block *block, uint32_t key,
    int64_t value)
{
	struct batch_index *x = b->index;

	if (value < 0)
		b->failed = true;
	if (value <= 0)
		return;
	if (!batch_room(b, (void **)&x->adds, x->n_adds, &x->cap_adds,
	        sizeof(*x->adds)))
		return;
	x->adds[x->n_adds++] = (struct batch_addition){
	    (uint32_t)(block - b->blocks), key, value};
}

void
batch_add_profile(struct batch *b, uint32_t series, uint64_t slot,
    uint32_t node, int64_t value)
{
	const struct batch_block *block = batch_block(b, series, slot);

	if (block != NULL)
		batch_add(b, block, node, value);
}

void
batch_observe(struct batch *b, uint32_t series, uint64_t slot, uint64_t n)
{
	struct batch_block *block = batch_block(b, series, slot);

	if (block != NULL)
		block->count += n;
}

void
batch_join(struct batch *b, uint32_t series, uint64_t slot)
{
	struct batch_block *block = batch_block(b, series, slot);

	if (block != NULL)
		block->joins = true;
}

void
batch_add_gauge(struct batch *b, uint32_t series, uint64_t slot,
    int64_t time_ns, int64_t value)
{
	struct batch_block *g = batch_block(b, series, slot);
	int64_t at = time_ns - (int64_t)(slot * b->slot_ns);

	if (g == NULL)
		return;
	if (g->count == 0 || value < g->min)
		g->min = value;
	if (g->count == 0 || value > g->max)
		g->max = value;
	if (g->count == 0 || at >= g->last_ns) {
		g->last = value;
		g->last_ns = at;
	}
	g->sum += value;
	g->count++;
}

void
batch_add_counter(struct batch *b, uint32_t series, uint64_t slot,
    int64_t time_ns, int64_t increase, int64_t raw)
{
	struct batch_block *c = batch_block(b, series, slot);
	int64_t at = time_ns - (int64_t)(slot * b->slot_ns);

	if (c == NULL)
		return;
	if (increase < 0 ||
	    __builtin_add_overflow(c->increase, increase, &c->increase)) {
		b->failed = true;
		return;
	}
	if (c->count == 0 || at >= c->last_ns) {
		c->last = raw;
		c->last_ns = at;
	}
	c->count++;
}

void
batch_add_histogram(struct batch *b, uint32_t series, uint64_t slot,
    int64_t value, int64_t n)
{
	struct batch_block *h = batch_block(b, series, slot);

	if (h == NULL || n <= 0)
		return;
	if (h->count == 0 || value < h->min)
		h->min = value;
	if (h->count == 0 || value > h->max)
		h->max = value;
	h->sum += (int128)value * n;
	h->count += (uint64_t)n;
	batch_add(b, h, histogram_bucket(value), n);
}

void
batch_add_fact(struct batch *b, int64_t time_ns, enum fact_kind kind,
    const char *subject, const void *data, size_t n)
{
	uint32_t name = batch_cstring(b, subject);

	if (!ROOM(b, facts, n_facts))
		return;
	b->facts[b->n_facts++] = (struct batch_fact){time_ns, (uint8_t)kind,
	    name, (uint32_t)b->fact_bytes.len, (uint32_t)n};
	buf_put(&b->fact_bytes, data, n);
	if (b->fact_bytes.failed)
		b->failed = true;
}

void
batch_series_desc(const struct batch *b, uint32_t series,
    struct series_desc *d, struct label *labels, size_t n_room)
{
	const struct batch_series *s = &b->series[series];
	const struct batch_labels *set = &b->labels[s->labels];

	d->kind = (enum series_kind)s->kind;
	d->name = batch_str(b, s->name);
	d->unit = batch_str(b, s->unit);
	d->period = s->period;
	d->scale = s->scale;
	d->labels = labels;
	d->n_labels = set->n < n_room ? set->n : n_room;
	for (size_t i = 0; i < d->n_labels; i++) {
		labels[i].name = batch_str(b, b->pairs[2 * (set->first + i)]);
		labels[i].value =
		    batch_str(b, b->pairs[2 * (set->first + i) + 1]);
	}
}
