/*
 * From stacks of one lifetime to a batch of the same.
 */
#include "fcgi/push/push_cache.h"

#include <stdlib.h>

#include "fcgi/format/stacks.h"
#include "fcgi/push/push_private.h"
#include "store/base/buf.h"
#include "store/base/intern.h"
#include "store/batch/batch.h"

/* After which all is forgotten. */
#define PUSH_CACHE_NODES 150000u
#define PUSH_CACHE_NAMES (3u << 20)

/* What was asked last, close together: the map is megabytes. */
#define HOT 8192u /* a power of two */

struct push_cache_hot {
	uint32_t base, node, to; /* to 0: empty */
};

struct push_cache_nodes {
	struct push_cache_hot hot[HOT];
	struct map64 nodes; /* base << 32 | node of the stacks */
	uint32_t *frames;   /* of the stacks -> of the batch, + 1 */
	uint64_t *hashes;   /* of stacks */
	size_t n_frames, n_hashes;
};

struct push_cache *
push_cache_new(void)
{
	struct push_cache *k = calloc(1, sizeof(*k));

	if (k == NULL)
		return NULL;
	k->nodes = calloc(1, sizeof(*k->nodes));
	k->stacks = stacks_new(&stacks_limits_push);
	if (k->nodes == NULL || k->stacks == NULL ||
	    !stacks_keep(k->stacks)) {
		push_cache_free(k);
		return NULL;
	}
	return k;
}

void
push_cache_free(struct push_cache *k)
{
	if (k == NULL)
		return;
	if (k->nodes != NULL) {
		map64_fini(&k->nodes->nodes);
		free(k->nodes->frames);
		free(k->nodes->hashes);
	}
	free(k->nodes);
	stacks_free(k->stacks);
	batch_free(k->batch);
	free(k);
}

struct stacks *
push_cache_stacks(struct push_cache *k)
{
	if (stacks_n_nodes(k->stacks) > PUSH_CACHE_NODES ||
	    k->nodes->nodes.n > PUSH_CACHE_NODES ||
	    (k->batch != NULL &&
		batch_names_bytes(k->batch) > PUSH_CACHE_NAMES) ||
	    stacks_error(k->stacks) != NULL)
		return NULL;
	stacks_clear(k->stacks);
	return k->stacks;
}

struct batch *
push_cache_batch(struct push_cache *k, int64_t slot_ns)
{
	if (k->batch == NULL)
		return k->batch = batch_new((uint64_t)slot_ns);
	k->batch->slot_ns = (uint64_t)slot_ns;
	return batch_renew(k->batch) ? k->batch : NULL;
}

/* ---- nodes ---- */

static uint32_t
kept_frame(struct push_cache *k, uint32_t i)
{
	struct push_cache_nodes *m = k->nodes;
	struct frame f;

	if (m->frames[i] == 0) {
		stacks_get_frame(k->stacks, i, &f);
		m->frames[i] = batch_frame(k->batch, &f) + 1;
	}
	return m->frames[i] - 1;
}

/* Room for all frames of the stacks. */
static bool
kept_room(struct push_cache *k)
{
	struct push_cache_nodes *m = k->nodes;
	size_t n = stacks_n_frames(k->stacks);
	uint32_t *frames;

	if (n <= m->n_frames)
		return true;
	n += n / 2;
	if ((frames = realloc(m->frames, n * sizeof(*frames))) == NULL)
		return false;
	for (size_t i = m->n_frames; i < n; i++)
		frames[i] = 0;
	m->frames = frames;
	m->n_frames = n;
	return true;
}

/* Parents first: goes up to what is there, then down again. */
static uint32_t
push_cache_find(struct push_cache *k, uint32_t base, uint32_t node)
{
	struct map64 *map = &k->nodes->nodes;
	uint32_t path[BATCH_MAX_DEPTH], n = 0, to;
	struct stacks_node at;

	if (node == 0)
		return base;
	while ((to = map64_get(map, (uint64_t)base << 32 | node)) ==
	    INTERN_NONE && n < BATCH_MAX_DEPTH) {
		path[n++] = node;
		stacks_get_node(k->stacks, node, &at);
		if ((node = at.parent) == 0) {
			to = base;
			break;
		}
	}
	if (n > 0 && !kept_room(k))
		k->batch->failed = true;
	while (n-- > 0 && !k->batch->failed) {
		stacks_get_node(k->stacks, path[n], &at);
		to = batch_node_new(k->batch, to, kept_frame(k, at.edge));
		if (!map64_add(map, (uint64_t)base << 32 | path[n], to))
			k->batch->failed = true;
	}
	return k->batch->failed ? 0 : to;
}

uint32_t
push_cache_node(struct push_cache *k, uint32_t base, uint32_t node)
{
	uint32_t at = (base * 0x9e3779b1u ^ node) & (HOT - 1);
	struct push_cache_hot *hot = &k->nodes->hot[at];

	if (hot->to == 0 || hot->base != base || hot->node != node)
		*hot = (struct push_cache_hot){base, node,
		    push_cache_find(k, base, node)};
	return hot->to;
}

/* ---- hashes ---- */

/* Numbers of parents are smaller: what is new in one pass. */
static bool
kept_hash_all(struct push_cache *k)
{
	struct push_cache_nodes *m = k->nodes;
	size_t n = stacks_n_nodes(k->stacks);
	uint64_t *hashes;
	struct stacks_node at;
	struct frame f;

	if (n <= m->n_hashes)
		return true;
	hashes = realloc(m->hashes, (n + n / 2) * sizeof(*hashes));
	if (hashes == NULL)
		return false;
	m->hashes = hashes;
	hashes[0] = PUSH_HASH_ROOT;
	for (size_t i = m->n_hashes ? m->n_hashes : 1; i < n; i++) {
		stacks_get_node(k->stacks, (uint32_t)i, &at);
		stacks_get_frame(k->stacks, at.edge, &f);
		hashes[i] = hash64_u64(hashes[at.parent],
		    push_frame_hash(&f) | 1) | 1;
	}
	m->n_hashes = n;
	return true;
}

uint64_t
push_cache_hash(struct push_cache *k, uint32_t node)
{
	if (!kept_hash_all(k)) {
		k->batch->failed = true;
		return 0;
	}
	return k->nodes->hashes[node];
}
