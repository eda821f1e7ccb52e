/*
 * A merge of two sorted pre-orders: the deeper cursor is inside a subtree
 * that the other does not have, so it goes first; at equal depth both stand
 * below the same node, and the smaller name goes first.
 */
#include "fcgi/format/flame/diff.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/store.h"

#define ENOUGH 100 /* samples */

struct diff_side {
	const struct profile *p;
	const struct profile_node *at, *end;
};

/* Less than 0: A's node comes first; 0: they are one. */
static int
diff_order(const struct diff_side *a, const struct diff_side *b)
{
	int order;

	if (a->at == a->end || b->at == b->end)
		return a->at == a->end ? 1 : -1;
	if (a->at->depth != b->at->depth)
		return a->at->depth > b->at->depth ? -1 : 1;
	order = strcmp(a->at->name, b->at->name);
	return order != 0 ? order : (int)a->at->kind - (int)b->at->kind;
}

static void
diff_take(struct diff_node *node, struct diff_side *s, int side)
{
	const struct profile_node *n = s->at++;
	struct profile_samples samples;

	profile_samples(s->p, (size_t)(n - s->p->nodes), &samples);
	node->self[side] = n->self;
	node->total[side] = n->total;
	node->self_samples[side] = samples.self;
	node->total_samples[side] = samples.total;
	node->self_unknown[side] = samples.self_unknown;
	node->total_unknown[side] = samples.total_unknown;
	if (node->name != NULL)
		return;
	node->name = n->name;
	node->module = n->module;
	node->kind = n->kind;
	node->depth = n->depth;
}

/* open[depth] is the last node that was put there. */
static void
diff_merge(struct diff *d, struct diff_side *a, struct diff_side *b,
    uint32_t *open)
{
	while (a->at < a->end || b->at < b->end) {
		struct diff_node *node = &d->nodes[d->n_nodes];
		int order = diff_order(a, b);

		if (order <= 0)
			diff_take(node, a, DIFF_A);
		if (order >= 0)
			diff_take(node, b, DIFF_B);
		open[node->depth] = (uint32_t)d->n_nodes;
		if (node->depth > 0)
			node->parent = open[node->depth - 1];
		d->n_nodes++;
	}
}

static uint32_t
diff_depth(const struct profile *p)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].depth > depth)
			depth = p->nodes[i].depth;
	return depth;
}

/* Nothing is no samples, of whatever. */
static bool
diff_is_sampled(const struct profile *p)
{
	struct profile_samples samples;

	return profile_samples(p, 0, &samples) || p->nodes[0].total == 0;
}

const struct err *
diff_new(struct diff **out, const struct profile *a, const struct profile *b)
{
	struct diff_side sa = {a, a->nodes, a->nodes + a->n_nodes};
	struct diff_side sb = {b, b->nodes, b->nodes + b->n_nodes};
	uint32_t da = diff_depth(a), db = diff_depth(b);
	struct diff *d = calloc(1, sizeof(*d));
	uint32_t *open;

	*out = NULL;
	if (d == NULL)
		return err_nomem();
	d->nodes = calloc(a->n_nodes + b->n_nodes, sizeof(*d->nodes));
	open = calloc((size_t)(da > db ? da : db) + 1, sizeof(*open));
	if (d->nodes == NULL || open == NULL) {
		free(open);
		diff_free(d);
		return err_nomem();
	}
	d->sampled = diff_is_sampled(a) && diff_is_sampled(b);
	diff_merge(d, &sa, &sb, open);
	d->unknown = d->nodes[0].total_unknown[DIFF_A] != 0 ||
	    d->nodes[0].total_unknown[DIFF_B] != 0;
	free(open);
	*out = d;
	return NULL;
}

enum diff_few
diff_few(int128 samples, int128 unknown)
{
	return samples >= ENOUGH ? DIFF_ENOUGH
	    : unknown != 0 ? DIFF_MAYBE_FEW : DIFF_FEW;
}

void
diff_free(struct diff *d)
{
	if (d == NULL)
		return;
	free(d->nodes);
	free(d);
}
