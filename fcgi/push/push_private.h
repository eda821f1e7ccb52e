/*
 * What push.c (the cut) and push_batch.c (nodes, bounds, sending) share.
 */
#ifndef FCGI_PUSH_PRIVATE_H
#define FCGI_PUSH_PRIVATE_H

#include <stdbool.h>

#include "fcgi/push/push.h"

struct stacks_type;

struct push_cache;
struct told;

struct push {
	struct push_cache *kept; /* whose batch is batches[0], or NULL */
	int64_t slot_ns;
	uint8_t id[16];
	struct batch **batches; /* the last one is `batch` */
	size_t n_batches, cap_batches;
	struct batch *batch;
	size_t entries;     /* of it */
	size_t all_entries; /* of all */
	struct told *told;  /* who is to forget if this fails, or NULL */
	size_t n_places, place_bytes;
	bool sent;
	/* of the stacks and the window at hand */
	const struct push_window *window;
	size_t n_nodes;
	uint32_t *nodes;  /* of the stacks -> of the batch; 0: not yet */
	uint32_t *frames; /* the same, + 1 */
	uint64_t *hashes; /* of whole stacks; 0: not yet */
	uint64_t *names;  /* hashes of frames; 0: not yet */
	uint32_t *depths;
	uint32_t module, build_id;      /* of the last frame: strings */
	char last_module[64], last_build_id[64]; /* and their texts */
	uint32_t base;    /* the batch's node of stacks without labels */
	uint32_t series;  /* of the batch */
};

enum push_bound { PUSH_SOFT, PUSH_HARD };

const struct err *push_begin(struct push *p, const struct stacks *s,
    const struct push_window *w);
void push_end(struct push *p);
/* The series of a type in the present batch. */
const struct err *push_begin_type(struct push *p,
    const struct stacks_type *t);
/* Begins a batch where the present one is full. */
const struct err *push_room(struct push *p, const struct stacks *s,
    uint32_t type, enum push_bound bound);
/* The node of the present batch for one of the stacks. */
uint32_t push_node(struct push *p, const struct stacks *s, uint32_t i);

struct cut { /* of a window over slots */
	int64_t from, length; /* ns */
	uint64_t first, last; /* slots */
};

/* The present batch is that of `kept`: adds one type's values to it. */
const struct err *push_cached(struct push *p, uint32_t type,
    const struct cut *c);
/* Can it be?  Else the batch becomes an ordinary one. */
const struct err *push_cached_choose(struct push *p, const struct stacks *s,
    const struct cut *c);

/* Notes the observation of slot k.  A stock's joins the others of the slot
 * when the window has its last moment: a slot then has one of each process,
 * whose windows follow each other. */
void push_observe(struct push *p, enum series_kind kind, const struct cut *c,
    uint64_t k);
void push_flow_value(struct push *p, const struct cut *c, uint32_t node,
    int64_t v, uint64_t hash);
/* A stack's hash is hash64_u64(its parent's, that of its frame) | 1, from
 * this; service and labels of the window are in the seed. */
#define PUSH_HASH_ROOT 1u
uint64_t push_frame_hash(const struct frame *f);
uint64_t push_seed(const struct push *p, const struct stacks *s,
    uint32_t type, const struct cut *c);
uint32_t push_base(struct push *p, const struct stacks *s);

uint64_t push_series_hash(const struct stacks *s, uint32_t type);
uint64_t push_stack_hash(struct push *p, const struct stacks *s, uint32_t i);

#endif
