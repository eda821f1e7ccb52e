/*
 * From a node and an edge to the child, for all children that do not stand
 * right behind their node: a table of the children's numbers.  What they are
 * children of stands in the array of nodes, which the caller passes, so that
 * an entry is 4 bytes: a number, and above it some bits of the hash, which
 * spare looks at other nodes.
 */
#ifndef FCGI_FORMAT_STACKS_CHILDREN_H
#define FCGI_FORMAT_STACKS_CHILDREN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stacks_edge {
	uint32_t parent, edge, depth;
};

#define CHILDREN_BITS 27 /* of a node's number */

/* All zero when empty. */
struct stacks_children {
	uint32_t *slots; /* 0: free */
	uint32_t n, cap; /* a power of two, at most two thirds full */
};

static inline uint64_t
children_hash(uint32_t parent, uint32_t edge)
{
	uint64_t h = ((uint64_t)parent << 32 | edge) * 0x9fb21c651e98df25u;

	return (h ^ h >> 32) * 0x9fb21c651e98df25u;
}

static inline uint32_t
children_slot(const struct stacks_children *c, uint64_t hash)
{
	return (uint32_t)(hash >> 32) & (c->cap - 1);
}

/* Is what stands in a slot perhaps a child of this hash? */
static inline bool
children_may_be(uint32_t slot, uint64_t hash)
{
	return slot >> CHILDREN_BITS ==
	    (uint32_t)hash >> CHILDREN_BITS;
}

static inline uint32_t
children_number(uint32_t slot)
{
	return slot & ((1u << CHILDREN_BITS) - 1);
}

/* Begins to load what children_get() will look at: the slot, then, when that
 * has come, the node. */
static inline void
children_fetch(const struct stacks_children *c, uint64_t hash)
{
	if (c->cap > 0)
		__builtin_prefetch(&c->slots[children_slot(c, hash)]);
}

static inline void
children_fetch_node(const struct stacks_children *c, uint64_t hash,
    const struct stacks_edge *nodes)
{
	uint32_t at = c->cap == 0 ? 0 : children_slot(c, hash);

	if (c->cap == 0)
		return;
	while (c->slots[at] != 0 && !children_may_be(c->slots[at], hash))
		at = (at + 1) & (c->cap - 1);
	__builtin_prefetch(&nodes[children_number(c->slots[at])]);
}

/* The child; 0: there is none. */
static inline uint32_t
children_get(const struct stacks_children *c, uint64_t hash,
    const struct stacks_edge *nodes, uint32_t parent, uint32_t edge)
{
	uint32_t at = c->cap == 0 ? 0 : children_slot(c, hash), slot;

	if (c->cap == 0)
		return 0;
	for (; (slot = c->slots[at]) != 0; at = (at + 1) & (c->cap - 1)) {
		uint32_t i = children_number(slot);

		if (children_may_be(slot, hash) &&
		    nodes[i].parent == parent && nodes[i].edge == edge)
			return i;
	}
	return 0;
}

/* Puts node i, below 2^CHILDREN_BITS, which is not there and behind all that
 * are; false when out of memory: then it is empty. */
bool children_add(struct stacks_children *c, uint64_t hash,
    const struct stacks_edge *nodes, uint32_t i);
void children_fini(struct stacks_children *c);

#endif
