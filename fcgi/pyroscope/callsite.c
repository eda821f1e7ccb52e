/*
 * Nodes are in pre-order: a parent stands before its children, and what is
 * kept of them stays in order.
 */
#include "fcgi/pyroscope/callsite.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/flame/flame.h"
#include "store/base/err.h"
#include "store/store.h"

/* Frames on the path to a node: a label set is none. */
static uint32_t
callsite_depth(const struct profile *p, const struct profile_node *node)
{
	return node->depth - (p->sets && node->depth > 0);
}

/* Does the path to node i agree with the names as far as both go?  Those of
 * its parent were looked at: what does not has total -1. */
static bool
callsite_agrees(const struct profile *p, size_t i, const char *const *names,
    size_t n)
{
	const struct profile_node *node = &p->nodes[i];
	uint32_t depth = callsite_depth(p, node);

	if (depth == 0)
		return true;
	return p->nodes[node->parent].total >= 0 && (depth > n ||
	    strcmp(node->name, names[depth - 1]) == 0);
}

/* Drops the nodes with nothing in them. */
static void
callsite_compact(struct profile *p, uint32_t *place)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n_nodes; i++) {
		if (i > 0 && p->nodes[i].total <= 0)
			continue;
		place[i] = (uint32_t)kept;
		p->nodes[kept] = p->nodes[i];
		if (p->samples != NULL)
			p->samples[kept] = p->samples[i];
		p->nodes[kept].parent = place[p->nodes[kept].parent];
		kept++;
	}
	p->n_nodes = kept;
}

/* Their samples, as the nodes' selfs were kept. */
static void
callsite_sum_samples(struct profile *p)
{
	for (size_t i = 0; i < p->n_nodes; i++) {
		struct profile_samples *s = &p->samples[i];

		if (p->nodes[i].self == 0)
			s->self = s->self_unknown = 0;
		s->total = s->self;
		s->total_unknown = s->self_unknown;
	}
	for (size_t i = p->n_nodes; i-- > 1;) {
		struct profile_samples *up =
		    &p->samples[p->nodes[i].parent];

		up->total += p->samples[i].total;
		up->total_unknown += p->samples[i].total_unknown;
	}
}

const struct err *
callsite_keep(struct profile *p, const char *const *names, size_t n)
{
	uint32_t *place;

	if (n == 0)
		return NULL;
	if ((place = calloc(p->n_nodes, sizeof(*place))) == NULL)
		return err_nomem();
	for (size_t i = 0; i < p->n_nodes; i++) {
		struct profile_node *node = &p->nodes[i];

		node->total = callsite_agrees(p, i, names, n) ? 0 : -1;
		if (node->total < 0 || callsite_depth(p, node) < n)
			node->self = 0;
	}
	for (size_t i = p->n_nodes; i-- > 0;) {
		struct profile_node *node = &p->nodes[i];

		if (node->total < 0)
			continue;
		node->total += node->self;
		if (i > 0)
			p->nodes[node->parent].total += node->total;
	}
	if (p->samples != NULL)
		callsite_sum_samples(p);
	callsite_compact(p, place);
	free(place);
	return NULL;
}

/* The node that a frame shows, or what was cut. */
static struct profile_node
callsite_node(const struct profile *p, const struct flame *f,
    const struct flame_frame *frame, uint32_t parent)
{
	struct profile_node node = {.name = f->names[frame->name].text,
	    .module = "", .kind = FRAME_MARK};

	if (frame->node != FLAME_NO_NODE)
		node = p->nodes[frame->node];
	node.depth = frame->level;
	node.parent = parent;
	node.self = frame->self;
	node.total = frame->total;
	return node;
}

const struct err *
callsite_prune(struct profile *p, int64_t max_nodes)
{
	struct flame_options o = {.max_nodes = max_nodes, .other = "other"};
	struct profile_node *nodes = NULL;
	uint32_t *open = NULL;
	struct flame *f;
	const struct err *e;

	if (max_nodes <= 0 || (e = flame_new(&f, p, &o)) != NULL)
		return max_nodes <= 0 ? NULL : e;
	nodes = malloc(f->n_frames * sizeof(*nodes));
	open = calloc(f->n_levels + 1, sizeof(*open));
	for (size_t i = 0; nodes != NULL && open != NULL && i < f->n_frames;
	     i++) {
		const struct flame_frame *a = &f->frames[i];

		/* In preorder: the parent is the last of the level above. */
		nodes[i] = callsite_node(p, f, a,
		    a->level > 0 ? open[a->level - 1] : 0);
		open[a->level] = (uint32_t)i;
	}
	if (nodes != NULL && open != NULL) {
		free(p->nodes);
		free(p->samples);
		p->nodes = nodes;
		p->samples = f->samples;
		p->n_nodes = f->n_frames;
		f->samples = NULL;
		nodes = NULL;
	} else {
		e = err_nomem();
	}
	free(nodes);
	free(open);
	flame_free(f);
	return e;
}
