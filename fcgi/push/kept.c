/*
 * From stacks of one lifetime to a batch of the same.
 */
#include "fcgi/push/kept.h"

#include <stdlib.h>

#include "fcgi/format/stacks.h"
#include "fcgi/push/push_private.h"
#include "store/base/buf.h"
#include "store/base/intern.h"
#include "store/batch/batch.h"

/* After which all is forgotten. */
#define KEPT_NODES 150000u
#define KEPT_NAMES (3u << 20)

/* What was asked last, close together: the map is megabytes. */
#define HOT 8192u /* a power of two */

struct kept_hot {
	uint32_t base, node, to; /* to 0: empty */
};

struct kept_nodes {
	struct kept_hot hot[HOT];
	struct map64 nodes; /* base << 32 | node of the stacks */
	uint32_t *frames;   /* of the stacks -> of the batch, + 1 */
	uint64_t *hashes;   /* of stacks */
	size_t n_frames, n_hashes;
};

struct kept *
kept_new(void)
{
	struct kept *k = calloc(1, sizeof(*k));

	if (k == NULL)
		return NULL;
	k->nodes = calloc(1, sizeof(*k->nodes));
	k->stacks = stacks_new(&stacks_limits_push);
	if (k->nodes == NULL || k->stacks == NULL ||
	    !stacks_keep(k->stacks)) {
		kept_free(k);
		return NULL;
	}
	return k;
}

void
kept_free(struct kept *k)
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
kept_stacks(struct kept *k)
{
	if (stacks_n_nodes(k->stacks) > KEPT_NODES ||
	    k->nodes->nodes.n > KEPT_NODES ||
	    (k->batch != NULL && batch_names_bytes(k->batch) > KEPT_NAMES) ||
	    stacks_error(k->stacks) != NULL)
		return NULL;
	stacks_clear(k->stacks);
	return k->stacks;
}

struct batch *
kept_batch(struct kept *k, int64_t slot_ns)
{
	if (k->batch == NULL)
		return k->batch = batch_new((uint64_t)slot_ns);
	k->batch->slot_ns = (uint64_t)slot_ns;
	return batch_renew(k->batch) ? k->batch : NULL;
}

/* ---- nodes ---- */

static uint32_t
kept_frame(struct kept *k, uint32_t i)
{
	struct kept_nodes *m = k->nodes;
	struct frame f;

	if (m->frames[i] == 0) {
		stacks_get_frame(k->stacks, i, &f);
		m->frames[i] = batch_frame(k->batch, &f) + 1;
	}
	return m->frames[i] - 1;
}

/* Room for all frames of the stacks. */
static bool
kept_room(struct kept *k)
{
	struct kept_nodes *m = k->nodes;
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
kept_find(struct kept *k, uint32_t base, uint32_t node)
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
kept_node(struct kept *k, uint32_t base, uint32_t node)
{
	struct kept_hot *hot = &k->nodes->hot[(base * 0x9e3779b1u ^ node) &
	    (HOT - 1)];

	if (hot->to == 0 || hot->base != base || hot->node != node)
		*hot = (struct kept_hot){base, node,
		    kept_find(k, base, node)};
	return hot->to;
}

/* ---- hashes ---- */

/* Numbers of parents are smaller: what is new in one pass. */
static bool
kept_hash_all(struct kept *k)
{
	struct kept_nodes *m = k->nodes;
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
kept_hash(struct kept *k, uint32_t node)
{
	if (!kept_hash_all(k)) {
		k->batch->failed = true;
		return 0;
	}
	return k->nodes->hashes[node];
}
