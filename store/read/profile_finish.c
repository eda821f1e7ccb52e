/*
 * What is done to a tree once it is there: the samples beside the amounts of
 * several periods, and the rounding of a stock's means.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/model/mean.h"
#include "store/read/reader.h"

static bool
finish_is_cut(const struct profile *p, size_t i)
{
	return p->cut != NULL && p->cut[i] != 0;
}

/* Of two trees in pre-order: what is deeper is below a node that the other
 * does not have. */
static int
finish_order(const struct profile_node *a, const struct profile_node *b)
{
	int order;

	if (a->depth != b->depth)
		return a->depth > b->depth ? -1 : 1;
	order = strcmp(a->name, b->name);
	return order != 0 ? order : (int)a->kind - (int)b->kind;
}

/* The same node in `all`, which is read up to it; or one with nothing.  What
 * `p` lacks was cut: without that, `all` has no node that `p` has not, and
 * label sets need no order. */
static const struct profile_node *
finish_find(const struct profile *p, const struct profile_node *node,
    const struct profile *all, size_t *at)
{
	static const struct profile_node none = {.name = ""};

	while (p->cut != NULL && *at < all->n_nodes &&
	    finish_order(&all->nodes[*at], node) < 0)
		(*at)++;
	return *at < all->n_nodes && finish_order(&all->nodes[*at], node) == 0
	    ? &all->nodes[(*at)++] : &none;
}

/* From the tree of all samples, or of the units without, to those of the
 * nodes that are shown, which are some of its nodes, in its order; what is cut
 * of a node has what its other children leave. */
static const struct err *
finish_take(struct profile *p, const struct profile *all, bool unknown)
{
	int128 *rest = calloc(p->n_nodes, sizeof(*rest));
	size_t at = 0;

	if (rest == NULL)
		return err_nomem();
	for (size_t i = 0; i < p->n_nodes; i++) {
		const struct profile_node *node = &p->nodes[i], *from;
		struct profile_samples *s = &p->samples[i];
		int128 *self = unknown ? &s->self_unknown : &s->self;
		int128 *total = unknown ? &s->total_unknown : &s->total;

		if (finish_is_cut(p, i)) {
			*self = *total = rest[node->parent];
			continue;
		}
		from = finish_find(p, node, all, &at);
		*self = from->self;
		*total = from->total;
		rest[i] = from->total - from->self;
		if (i > 0)
			rest[node->parent] -= from->total;
	}
	free(rest);
	return NULL;
}

static const struct err *
finish_samples(struct store *s, const struct node_values *values,
    const char *split, struct profile *p, bool unknown)
{
	const struct profile_limit whole = {0, 0};
	struct profile *all = calloc(1, sizeof(*all));
	const struct err *e = all == NULL ? err_nomem()
	    : profile_tree(s, values, split, &whole, all);

	if (e == NULL)
		e = finish_take(p, all, unknown);
	profile_free(all);
	return e;
}

const struct err *
profile_finish_samples(struct store *s, const char *split, struct profile *p)
{
	const struct err *e;

	p->samples = calloc(p->n_nodes, sizeof(*p->samples));
	if (p->samples == NULL)
		return err_nomem();
	e = finish_samples(s, &s->scratch.samples, split, p, false);
	return e == NULL && s->scratch.unknown.n_touched > 0
	    ? finish_samples(s, &s->scratch.unknown, split, p, true) : e;
}

/*
 * Node by node in pre-order, each gets what the rounded sum of all nodes up
 * to it has more than that of those before.  A subtree is a span of nodes:
 * its total is the difference of two rounded sums, and less than one unit
 * from its mean.
 */
void
profile_finish_means(struct profile *p, uint64_t denominator)
{
	int128 sum = 0, rounded = 0;

	for (size_t i = 0; i < p->n_nodes; i++) {
		struct profile_node *node = &p->nodes[i];
		int128 before = rounded;

		sum += node->self;
		rounded = mean_round(sum, denominator);
		node->self = node->total = rounded - before;
	}
	for (size_t i = p->n_nodes; i-- > 1;)
		p->nodes[p->nodes[i].parent].total += p->nodes[i].total;
}
