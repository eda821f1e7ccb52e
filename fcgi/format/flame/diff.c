/*
 * A merge of two sorted pre-orders: the deeper cursor is inside a subtree
 * that the other does not have, so it goes first; at equal depth both stand
 * below the same node, and the smaller name goes first.
 */
#include "fcgi/format/flame/diff.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/flame/flame.h"
#include "store/base/err.h"

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
diff_take(struct diff *d, struct diff_side *s, int side)
{
	struct profile_node *node = &d->tree.nodes[d->tree.n_nodes];
	struct diff_sides *sides = &d->sides[d->tree.n_nodes];
	const struct profile_node *n = s->at++;
	struct profile_samples samples;

	profile_samples(s->p, (size_t)(n - s->p->nodes), &samples);
	sides->self[side] = n->self;
	sides->total[side] = n->total;
	sides->self_samples[side] = samples.self;
	sides->total_samples[side] = samples.total;
	sides->self_unknown[side] = samples.self_unknown;
	sides->total_unknown[side] = samples.total_unknown;
	if (node->name == NULL) {
		*node = *n;
		return;
	}
	node->self += n->self;
	node->total += n->total;
}

/* open[depth] is the last node that was put there. */
static void
diff_merge(struct diff *d, struct diff_side *a, struct diff_side *b,
    uint32_t *open)
{
	while (a->at < a->end || b->at < b->end) {
		struct profile_node *node = &d->tree.nodes[d->tree.n_nodes];
		int order = diff_order(a, b);

		if (order <= 0)
			diff_take(d, a, DIFF_A);
		if (order >= 0)
			diff_take(d, b, DIFF_B);
		open[node->depth] = (uint32_t)d->tree.n_nodes++;
		if (node->depth > 0)
			node->parent = open[node->depth - 1];
	}
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
	uint32_t da = flame_depth(a), db = flame_depth(b);
	struct diff *d = calloc(1, sizeof(*d));
	uint32_t *open;

	*out = NULL;
	if (d == NULL)
		return err_nomem();
	d->tree.nodes = calloc(a->n_nodes + b->n_nodes,
	    sizeof(*d->tree.nodes));
	d->sides = calloc(a->n_nodes + b->n_nodes, sizeof(*d->sides));
	open = calloc((size_t)(da > db ? da : db) + 1, sizeof(*open));
	if (d->tree.nodes == NULL || d->sides == NULL || open == NULL) {
		free(open);
		diff_free(d);
		return err_nomem();
	}
	d->sampled = diff_is_sampled(a) && diff_is_sampled(b);
	diff_merge(d, &sa, &sb, open);
	d->unknown = d->sides[0].total_unknown[DIFF_A] != 0 ||
	    d->sides[0].total_unknown[DIFF_B] != 0;
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
	free(d->tree.nodes);
	free(d->sides);
	free(d);
}
