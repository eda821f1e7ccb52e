/*
 * A table that grows is made anew from the nodes, with the old one freed
 * before: there is never more than one in memory.
 */
#include "fcgi/format/stacks_children.h"

#include <stdlib.h>

#define FEWEST 64u
#define AHEAD 16u /* nodes whose slots are fetched meanwhile */

void
children_fini(struct stacks_children *c)
{
	free(c->slots);
	*c = (struct stacks_children){0};
}

static void
children_place(struct stacks_children *c, uint64_t hash, uint32_t i)
{
	uint32_t at = children_slot(c, hash);

	while (c->slots[at] != 0)
		at = (at + 1) & (c->cap - 1);
	c->slots[at] = i |
	    (uint32_t)hash >> CHILDREN_BITS << CHILDREN_BITS;
	c->n++;
}

/* Those before n that are in it: not right behind their parents. */
static void
children_fill(struct stacks_children *c, const struct stacks_edge *nodes,
    uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		const struct stacks_edge *far = &nodes[i + AHEAD < n
		    ? i + AHEAD : i], *near = &nodes[i];

		children_fetch(c, children_hash(far->parent, far->edge));
		if (i != near->parent + 1)
			children_place(c, children_hash(near->parent,
			    near->edge), i);
	}
}

static bool
children_grow(struct stacks_children *c, const struct stacks_edge *nodes,
    uint32_t n)
{
	uint32_t cap = c->cap == 0 ? FEWEST : 2 * c->cap;

	children_fini(c);
	c->slots = calloc(cap, sizeof(*c->slots));
	if (c->slots == NULL)
		return false;
	c->cap = cap;
	children_fill(c, nodes, n);
	return true;
}

bool
children_add(struct stacks_children *c, uint64_t hash,
    const struct stacks_edge *nodes, uint32_t i)
{
	if ((uint64_t)(c->n + 1) * 3 > (uint64_t)c->cap * 2 &&
	    !children_grow(c, nodes, i))
		return false;
	children_place(c, hash, i);
	return true;
}
