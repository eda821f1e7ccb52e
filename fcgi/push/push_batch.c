/*
 * What of the stacks is in the present batch, and when the next one begins.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/stacks.h"
#include "fcgi/push/push_cache.h"
#include "fcgi/push/push_private.h"
#include "fcgi/server/told.h"
#include "store/base/array.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/batch/batch.h"
#include "store/model/types.h"

/* A batch is taken up to 16 MiB as bytes and 64 MiB in memory; memlensd holds
 * one in memory when it takes it, and again when it seals its journal. */
static const struct {
	size_t entries, nodes, bytes;
} bounds[] = {
    [PUSH_SOFT] = {150000, 100000, 2u << 20},
    [PUSH_HARD] = {1000000, 600000, 9u << 20},
};

/* The deepest stack of a batch is 4,096 with its label set. */
#define DEPTH_MAX (BATCH_MAX_DEPTH - 2)

static struct push *
push_new_with(int64_t slot_ns, const uint8_t *id, struct batch *b)
{
	struct push *p = calloc(1, sizeof(*p));

	if (p == NULL || b == NULL ||
	    !array_room(&p->batches, 1, &p->cap_batches)) {
		free(p);
		return NULL;
	}
	p->slot_ns = slot_ns;
	if (id != NULL)
		memcpy(b->id, id, sizeof(b->id));
	memcpy(p->id, b->id, sizeof(p->id));
	p->batches[p->n_batches++] = p->batch = b;
	return p;
}

struct push *
push_new(int64_t slot_ns, const uint8_t *id)
{
	struct batch *b = batch_new((uint64_t)slot_ns);
	struct push *p = push_new_with(slot_ns, id, b);

	if (p == NULL)
		batch_free(b);
	return p;
}

struct push *
push_new_kept(int64_t slot_ns, const uint8_t *id, struct push_cache *kept)
{
	struct push *p = push_new_with(slot_ns, id,
	    push_cache_batch(kept, slot_ns));

	if (p != NULL)
		p->kept = kept;
	return p;
}

bool
push_is_kept(const struct push *p)
{
	return p->kept != NULL;
}

void
push_free(struct push *p)
{
	if (p == NULL)
		return;
	if (p->told != NULL && p->n_places > 0 && !p->sent)
		told_forget(p->told);
	push_end(p);
	for (size_t i = p->kept != NULL; i < p->n_batches; i++)
		batch_free(p->batches[i]);
	free(p->batches);
	free(p);
}

size_t
push_n_batches(const struct push *p)
{
	return p->n_batches;
}

struct batch *
push_batch(struct push *p, size_t i)
{
	return p->batches[i];
}

/* The n-th id that follows from the first. */
static void
push_derive_id(const struct push *p, uint64_t n, uint8_t id[16])
{
	uint64_t a = hash64_u64(hash64(1, p->id, sizeof(p->id)), n);
	uint64_t b = hash64_u64(hash64(2, p->id, sizeof(p->id)), n);

	memcpy(id, &a, 8);
	memcpy(id + 8, &b, 8);
}

void
push_id_of(const char *key, const char *context, uint8_t id[16])
{
	size_t n = strlen(key), m = strlen(context);
	uint64_t a = hash64(hash64(3, key, n), context, m);
	uint64_t b = hash64(hash64(4, key, n), context, m);

	memcpy(id, &a, 8);
	memcpy(id + 8, &b, 8);
}

/* ---- beginning ---- */

const struct err *
push_begin(struct push *p, const struct stacks *s,
    const struct push_window *w)
{
	size_t nodes = stacks_n_nodes(s), frames = stacks_n_frames(s) + 1;

	p->window = w;
	p->n_nodes = nodes;
	if (p->kept != NULL) {
		p->base = 0;
		return NULL;
	}
	p->nodes = calloc(nodes, sizeof(*p->nodes));
	p->depths = calloc(nodes, sizeof(*p->depths));
	p->hashes = calloc(nodes, sizeof(*p->hashes));
	p->frames = calloc(frames, sizeof(*p->frames));
	p->names = calloc(frames, sizeof(*p->names));
	p->base = p->module = p->build_id = 0;
	if (p->nodes != NULL && p->depths != NULL && p->hashes != NULL &&
	    p->frames != NULL && p->names != NULL)
		return NULL;
	push_end(p);
	return err_nomem();
}

void
push_end(struct push *p)
{
	free(p->nodes);
	free(p->depths);
	free(p->hashes);
	free(p->frames);
	free(p->names);
	p->nodes = p->depths = p->frames = NULL;
	p->hashes = p->names = NULL;
	p->window = NULL;
}

const struct err *
push_begin_type(struct push *p, const struct stacks_type *t)
{
	struct label service = {"service", p->window->service};
	struct series_desc d = {t->kind, t->name, t->unit, t->period, 0,
	    &service, 1};

	p->series = batch_series(p->batch, &d);
	return NULL;
}

static const struct err *
push_next_batch(struct push *p, const struct stacks *s, uint32_t type)
{
	struct batch *b = batch_new((uint64_t)p->slot_ns);
	struct stacks_type t;

	if (b == NULL)
		return err_nomem();
	if (!array_room(&p->batches, p->n_batches + 1, &p->cap_batches)) {
		batch_free(b);
		return err_nomem();
	}
	push_derive_id(p, p->n_batches, b->id);
	p->batches[p->n_batches++] = p->batch = b;
	p->entries = 0;
	p->base = p->module = p->build_id = 0;
	memset(p->nodes, 0, p->n_nodes * sizeof(*p->nodes));
	memset(p->frames, 0, (stacks_n_frames(s) + 1) * sizeof(*p->frames));
	stacks_get_type(s, type, &t);
	return push_begin_type(p, &t);
}

const struct err *
push_room(struct push *p, const struct stacks *s, uint32_t type,
    enum push_bound bound)
{
	if (gone())
		return gone_check();
	if (p->all_entries > PUSH_ENTRIES_MAX)
		return err_new(ERR_REQUEST, 413, "more than %u values: a "
		    "shorter window or fewer stacks", PUSH_ENTRIES_MAX);
	if (p->entries < bounds[bound].entries &&
	    p->batch->n_nodes < bounds[bound].nodes &&
	    p->batch->strings.bytes.len < bounds[bound].bytes)
		return NULL;
	if (bound == PUSH_HARD)
		return err_new(ERR_REQUEST, 413, "too many stacks of what is "
		    "in use at one moment: they have %zu values, %zu nodes of "
		    "a call tree and %zu bytes of names before the last; "
		    "at most %zu, %zu and %zu are taken", p->entries,
		    p->batch->n_nodes, p->batch->strings.bytes.len,
		    bounds[bound].entries,
		    bounds[bound].nodes, bounds[bound].bytes);
	return push_next_batch(p, s, type);
}

/* ---- nodes ---- */

/* A stack's own labels, those of the window instead where both have one. */
static uint32_t
push_label_set(struct push *p, const struct stacks *s,
    const struct stacks_node *node)
{
	struct label labels[BATCH_MAX_LABELS], theirs[STACKS_LABELS_MAX];
	const struct push_window *w = p->window;
	size_t n = 0, own;

	for (; n < w->n_labels && n < BATCH_MAX_LABELS; n++)
		labels[n] = w->labels[n];
	own = node != NULL ? stacks_get_labels(s, node->edge, theirs) : 0;
	for (size_t i = 0; i < own && n < BATCH_MAX_LABELS; i++)
		if (label_find(w->labels, w->n_labels, theirs[i].name) == NULL)
			labels[n++] = theirs[i];
	return batch_node(p->batch, 0, batch_labels(p->batch, labels, n));
}

/* Most frames have the module of the one before. */
static uint32_t
push_same(struct push *p, uint32_t last, char *last_text, const char *text)
{
	size_t n = strlen(text);

	if (n == 0)
		return 0;
	if (last != 0 && strcmp(last_text, text) == 0)
		return last;
	if (n < 64)
		memcpy(last_text, text, n + 1);
	else
		last_text[0] = '\0';
	return batch_string(p->batch, text, n);
}

static uint32_t
push_frame(struct push *p, const struct stacks *s, uint32_t i)
{
	struct frame f;

	if (p->frames[i] == 0) {
		stacks_get_frame(s, i, &f);
		p->module = push_same(p, p->module, p->last_module, f.module);
		p->build_id = push_same(p, p->build_id, p->last_build_id,
		    f.build_id);
		/* frames of the stacks are different ones */
		p->frames[i] = batch_frame_new(p->batch, &f, p->module,
		    p->build_id) + 1;
	}
	return p->frames[i] - 1;
}

uint32_t
push_base(struct push *p, const struct stacks *s)
{
	if (p->base == 0)
		p->base = push_label_set(p, s, NULL);
	return p->base;
}

/* The node whose parent is there already. */
static void
push_put_node(struct push *p, const struct stacks *s, uint32_t i)
{
	static const struct frame cut = {FRAME_MARK, "[truncated]", "", "", 0};
	struct stacks_node node;
	uint32_t parent;

	stacks_get_node(s, i, &node);
	if (node.labels) {
		p->nodes[i] = push_label_set(p, s, &node);
		return;
	}
	parent = node.parent == 0 ? push_base(p, s) : p->nodes[node.parent];
	p->depths[i] = p->depths[node.parent] + 1;
	if (p->depths[i] > DEPTH_MAX)
		p->nodes[i] = parent;
	else if (p->depths[i] == DEPTH_MAX)
		p->nodes[i] = batch_node(p->batch, parent,
		    batch_frame(p->batch, &cut));
	else
		p->nodes[i] = batch_node_new(p->batch, parent,
		    push_frame(p, s, node.edge));
}

/* Parents first: goes up to what is there, then down again. */
uint32_t
push_node(struct push *p, const struct stacks *s, uint32_t i)
{
	struct stacks_node node;
	uint32_t chain[256], n, at;

	if (i == 0)
		return push_base(p, s);
	while (p->nodes[i] == 0 && !p->batch->failed) {
		/* the last 256 ancestors of it that are missing */
		for (n = 0, at = i; at != 0 && p->nodes[at] == 0; n++) {
			chain[n % 256] = at;
			stacks_get_node(s, at, &node);
			at = node.parent;
		}
		for (uint32_t k = n; k > 0 && k + 256 > n; k--)
			push_put_node(p, s, chain[(k - 1) % 256]);
	}
	return p->nodes[i];
}

/* ---- hashes ---- */

static uint64_t
hash_text(uint64_t seed, const char *text)
{
	return hash64(seed, text, strlen(text) + 1);
}

uint64_t
push_series_hash(const struct stacks *s, uint32_t type)
{
	struct stacks_type t;

	stacks_get_type(s, type, &t);
	return hash64_u64(hash_text(hash_text((uint64_t)t.kind, t.name),
	    t.unit), (uint64_t)t.period);
}

uint64_t
push_frame_hash(const struct frame *f)
{
	return hash_text(hash_text((uint64_t)f->kind, f->name), f->module);
}

/* Of what all stacks of a type and a window share. */
uint64_t
push_seed(const struct push *p, const struct stacks *s, uint32_t type,
    const struct cut *c)
{
	const struct push_window *w = p->window;
	uint64_t h = hash_text(5, w->service);

	for (size_t i = 0; i < w->n_labels; i++)
		h = hash_text(hash_text(h, w->labels[i].name),
		    w->labels[i].value);
	return hash64_u64(hash64_u64(h, push_series_hash(s, type)),
	    (uint64_t)c->from);
}

static uint64_t
push_name_hash(struct push *p, const struct stacks *s, uint32_t frame)
{
	struct frame f;

	if (p->names[frame] == 0) {
		stacks_get_frame(s, frame, &f);
		p->names[frame] = push_frame_hash(&f) | 1;
	}
	return p->names[frame];
}

static uint64_t
push_labels_hash(const struct push *p, const struct stacks *s, uint32_t set)
{
	struct label labels[STACKS_LABELS_MAX];
	size_t n = stacks_get_labels(s, set, labels);
	uint64_t h = p->window->n_labels;

	for (size_t i = 0; i < n; i++)
		h = hash_text(hash_text(h, labels[i].name), labels[i].value);
	return h;
}

/* Of the whole stack; each node's is computed once, parents before. */
uint64_t
push_stack_hash(struct push *p, const struct stacks *s, uint32_t i)
{
	struct stacks_node node;

	if (p->hashes[i] != 0)
		return p->hashes[i];
	if (p->hashes[0] == 0) {
		p->hashes[0] = PUSH_HASH_ROOT;
		/* numbers of parents are smaller: all in one pass */
		for (uint32_t k = 1; k < p->n_nodes; k++) {
			stacks_get_node(s, k, &node);
			p->hashes[k] = hash64_u64(p->hashes[node.parent],
			    node.labels ? push_labels_hash(p, s, node.edge)
					: push_name_hash(p, s, node.edge)) | 1;
		}
	}
	return p->hashes[i];
}

/* ---- sending ---- */

void
push_count(struct push *p, int64_t now_ns, const char *name,
    const struct label *labels, size_t n_labels, int64_t increase,
    int64_t raw)
{
	struct series_desc d = {SERIES_COUNTER, name, "", 0, 0, labels,
	    n_labels};

	batch_add_counter(p->batches[0], batch_series(p->batches[0], &d),
	    (uint64_t)(now_ns / p->slot_ns), now_ns, increase, raw);
}

void
push_mean(struct push *p, uint64_t bytes, const struct push_window *w)
{
	struct label labels[2] = {{"instance", label_find(w->labels,
	    w->n_labels, "instance")}, {"service", w->service}};
	size_t bare = labels[0].value == NULL;
	struct series_desc d = {.kind = SERIES_GAUGE, .name = TYPES_SAMPLING,
	    .unit = "bytes", .labels = labels + bare, .n_labels = 2 - bare};
	int64_t at_ns = w->until_ns > w->from_ns ? w->until_ns - 1
	    : w->from_ns;
	uint64_t slot = (uint64_t)(at_ns / p->slot_ns);

	if (bytes == 0 || bytes > INT64_MAX)
		return;
	at_ns -= at_ns % p->slot_ns;
	batch_add_gauge(p->batches[0], batch_series(p->batches[0], &d), slot,
	    at_ns > w->from_ns ? at_ns : w->from_ns, (int64_t)bytes);
}

const struct err *
push_send(struct push *p, push_send_fn *fn, void *arg)
{
	const struct err *e;

	for (size_t i = 0; i < p->n_batches; i++) {
		p->batches[i]->more = i + 1 < p->n_batches;
		if ((e = gone_check()) != NULL ||
		    (e = fn(arg, p->batches[i])) != NULL)
			return e;
	}
	p->sent = true;
	return NULL;
}
