/*
 * Many stacks at a time, for trees that are larger than the caches.
 *
 * All paths go down side by side, a step each: what one needs of the table
 * and of the nodes is on its way while the others are looked up.  They stop
 * where something is new, and that is put path by path, so that nodes have
 * the numbers that they would have one after the other.
 */
#include "fcgi/format/stacks_private.h"

/* Goes down what was met not long ago; false at the end of the stack. */
static inline bool
path_is_open(struct stacks *s, struct stacks_path *p)
{
	while (p->depth < p->n) {
		uint32_t frame = p->frames[p->depth];
		const struct stacks_hot *hot = stacks_hot_at(s, p->node,
		    frame);

		if (hot->parent != p->node || hot->edge != frame ||
		    hot->child == 0) {
			__builtin_prefetch(&s->nodes[p->node + 1]);
			children_fetch(&s->children, children_hash(p->node,
			    frame));
			return true;
		}
		p->node = hot->child;
		p->depth++;
	}
	return false;
}

static inline void
path_fetch(const struct stacks *s, const struct stacks_path *p)
{
	children_fetch_node(&s->children, children_hash(p->node,
	    p->frames[p->depth]), s->nodes);
}

/* A step down; false where the child is new. */
static bool
path_step(struct stacks *s, struct stacks_path *p)
{
	uint32_t frame = p->frames[p->depth], i = p->node + 1;

	if (i >= s->n_nodes)
		return false;
	if (s->nodes[i].parent != p->node || s->nodes[i].edge != frame)
		i = children_get(&s->children, children_hash(p->node, frame),
		    s->nodes, p->node, frame);
	if (i == 0)
		return false;
	*stacks_hot_at(s, p->node, frame) =
	    (struct stacks_hot){p->node, frame, i};
	p->node = i;
	p->depth++;
	return true;
}

static void
paths_go_down(struct stacks *s, struct stacks_path *paths, size_t n)
{
	struct stacks_path *open[STACKS_MANY];
	size_t n_open = 0;

	for (size_t i = 0; i < n; i++)
		if (path_is_open(s, &paths[i]))
			open[n_open++] = &paths[i];
	while (n_open > 0) {
		size_t still = 0;

		for (size_t i = 0; i < n_open; i++)
			path_fetch(s, open[i]);
		for (size_t i = 0; i < n_open; i++)
			if (path_step(s, open[i]) && path_is_open(s, open[i]))
				open[still++] = open[i];
		n_open = still;
	}
}

void
stacks_put_many(struct stacks *s, struct stacks_path *paths, size_t n)
{
	if (s->failed)
		return;
	paths_go_down(s, paths, n);
	for (size_t i = 0; i < n; i++) {
		struct stacks_path *p = &paths[i];

		for (; p->depth < p->n; p->depth++)
			p->node = stacks_child_at(s, p->node,
			    p->frames[p->depth], p->depth + 1);
	}
}
