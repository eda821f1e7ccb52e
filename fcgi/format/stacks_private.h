/*
 * What is inside of stacks, for the parsers and the layout that go over
 * millions of nodes: everyone else uses stacks.h.
 */
#ifndef FCGI_FORMAT_STACKS_PRIVATE_H
#define FCGI_FORMAT_STACKS_PRIVATE_H

#include "fcgi/format/stacks.h"
#include "fcgi/format/stacks_children.h"
#include "store/base/fingerprint.h"
#include "store/base/intern.h"

struct stacks_column {
	uint32_t name, unit; /* strings */
	int64_t period;
	enum series_kind kind;
	int64_t *values; /* by node; the first n are set, the rest is 0 */
	size_t n, cap;
	int64_t total;
	uint32_t *touched; /* of kept stacks: nodes with a value */
	size_t n_touched, cap_touched;
};

struct stacks_frame { /* the key of a frame, and all of it */
	uint32_t kind, name, module, build_id;
	uint64_t offset;
};

struct stacks_written { /* a place */
	uint32_t frame, file; /* string */
	int64_t line;
	bool seen;
};

/* A child that was looked up: the first levels of a tree are met again and
 * again, and here they lie close together. */
struct stacks_hot {
	uint32_t parent, edge, child; /* child 0: empty */
};

#define STACKS_HOT 8192u /* a power of two */

struct stacks {
	struct stacks_hot hot[STACKS_HOT];
	struct stacks_limits limits, given;
	bool kept;
	/* of kept ones: a stack's text -> node, without the text, which the
	 * processor's caches would have lost from one profile to the next */
	struct fingerprint_map lines;
	struct fingerprint_key key;
	struct intern strings; /* 0 is "" */
	struct intern frames;  /* of struct stacks_frame */
	struct intern sets;    /* of pairs of strings */
	struct stacks_children children; /* but first ones */
	struct stacks_edge *nodes;
	size_t n_nodes, cap_nodes;
	struct stacks_column types[STACKS_TYPES_MAX];
	size_t n_types;
	struct stacks_written *places;
	size_t n_places, cap_places;
	struct stacks_skipped skipped[16];
	size_t n_skipped;
	int64_t from_ns, until_ns;
	uint64_t mean;
	bool failed;
	const char *bound; /* that was passed; NULL: out of memory */
	size_t most;       /* and what it is; 0: it is no number */
};

/* Frames in the order in which trees show them: by name, then kind. */
struct stacks_ranks {
	struct frame *frames; /* by number */
	uint32_t *rank;       /* by frame; equal for those that look the same */
	uint32_t *sorted;     /* by rank, the first of its frames */
	uint32_t n;           /* ranks */
};

/* ENOMEM; stacks_ranks_fini() after any outcome. */
const struct err *stacks_ranks_init(struct stacks_ranks *r,
    const struct stacks *s);
void stacks_ranks_fini(struct stacks_ranks *r);

/* An edge to a label set, as opposed to a frame of the same number. */
#define EDGE_LABELS 0x80000000u

/* The child of a node, new or old, by the long way. */
uint32_t stacks_put_node(struct stacks *s, uint32_t parent, uint32_t edge,
    uint32_t depth);

/* A stack to be put: its frames from the root, and how far down they are
 * known: 0 and 0 at first. */
struct stacks_path {
	const uint32_t *frames;
	uint32_t n, depth, node;
};

/* Puts the frames of each path in order, which ends with .depth n at .node.
 * Quicker than one after the other where the tree is not in the processor's
 * caches: what each needs is fetched while the others wait. */
#define STACKS_MANY 32
void stacks_put_many(struct stacks *s, struct stacks_path *paths, size_t n);

/*
 * The tree, and a type's values by node, for who turns them into something
 * else: the caller frees both.  Frames and types stay, nothing can be put any
 * more.  NULL when out of memory.
 */
struct stacks_edge *stacks_take(struct stacks *s, uint32_t type, size_t *n,
    int64_t **values);

static inline struct stacks_hot *
stacks_hot_at(struct stacks *s, uint32_t parent, uint32_t frame)
{
	return &s->hot[(parent * 0x9e3779b1u ^ frame * 0x85ebca6bu) >> 19 &
	    (STACKS_HOT - 1)];
}

/* stacks_child() without a call where a stack is known or grows at its end;
 * `depth` is the child's. */
static inline uint32_t
stacks_child_at(struct stacks *s, uint32_t parent, uint32_t frame,
    uint32_t depth)
{
	uint32_t i = parent + 1;
	struct stacks_hot *hot;

	if (s->failed)
		return 0;
	if (i == s->n_nodes && i < s->cap_nodes && i < s->limits.nodes &&
	    depth <= s->limits.depth) {
		s->nodes[i] = (struct stacks_edge){parent, frame, depth};
		s->n_nodes++;
		return i;
	}
	hot = stacks_hot_at(s, parent, frame);
	if (hot->parent == parent && hot->edge == frame && hot->child != 0)
		return hot->child;
	i = stacks_put_node(s, parent, frame, depth);
	if (i != 0)
		*hot = (struct stacks_hot){parent, frame, i};
	return i;
}

/* Fetches ahead what stacks_add() will need. */
static inline void
stacks_prefetch(const struct stacks *s, uint32_t node, uint32_t type)
{
	if (node < s->types[type].n)
		__builtin_prefetch(&s->types[type].values[node], 1);
}

#endif
