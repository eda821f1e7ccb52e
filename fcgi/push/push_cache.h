/*
 * What a worker that takes pushes keeps from one request to the next, as a
 * cache: the stacks that it has met, as lines of text and as nodes of a batch
 * whose names memlensd has been told, and the connection over which that
 * was.  It can be thrown away at any moment; what is pushed does not change.
 *
 *	text ── stacks (folded.h) ── nodes of one batch ── names on memlensd's
 *	line      known by hash          known by number     side of a stream
 */
#ifndef FCGI_PUSH_CACHE_H
#define FCGI_PUSH_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct batch;
struct label;
struct batch_client;
struct stacks;

/* The largest text that is worth it; others would drive all else out. */
#define PUSH_CACHE_TEXT_MAX (1u << 20)

struct push_cache {
	struct stacks *stacks;
	struct batch *batch;    /* NULL: not made yet */
	struct push_cache_nodes *nodes; /* of the stacks -> of the batch */
};

/* NULL when out of memory. */
struct push_cache *push_cache_new(void);
void push_cache_free(struct push_cache *k); /* NULL is fine */

/* Makes the stacks empty for another text.  NULL when out of memory, or when
 * `k` has grown over its bounds: free it and make a new one. */
struct stacks *push_cache_stacks(struct push_cache *k);

/* Makes the batch empty for another profile; NULL as above. */
struct batch *push_cache_batch(struct push_cache *k, int64_t slot_ns);

/* The node of the batch for one of the stacks, which has no labels, below the
 * node `base` of a label set; 0 and the batch failed when out of memory. */
uint32_t push_cache_node(struct push_cache *k, uint32_t base, uint32_t node);

/* A hash of a whole stack, without labels. */
uint64_t push_cache_hash(struct push_cache *k, uint32_t node);

#endif
