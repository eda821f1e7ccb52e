/*
 * What is done to a tree once it is there: the samples beside the amounts of
 * several periods, and the rounding of a stock's means.
 */
#include "reader.h"

#include "base/err.h"
#include "mean.h"

#include <stdlib.h>
#include <string.h>

static bool
finish_is_cut(const struct profile *p, size_t i)
{
	return p->cut != NULL && p->cut[i] != 0;
}

static bool
finish_is_same(const struct profile_node *a, const struct profile_node *b)
{
	return a->depth == b->depth && a->kind == b->kind &&
	    strcmp(a->name, b->name) == 0;
}

/* From the tree of all samples to those of the nodes that are shown, which
 * are some of its nodes, in its order; what is cut of a node has what its
 * other children leave. */
static const struct err *
finish_take_samples(struct profile *p, const struct profile *all)
{
	int128 *rest = calloc(p->n_nodes, sizeof(*rest));
	struct profile_samples *s = calloc(p->n_nodes, sizeof(*s));
	size_t at = 0;

	p->samples = s;
	if (rest == NULL || s == NULL) {
		free(rest);
		return err_nomem();
	}
	for (size_t i = 0; i < p->n_nodes; i++) {
		const struct profile_node *node = &p->nodes[i];

		if (finish_is_cut(p, i)) {
			s[i].self = s[i].total = rest[node->parent];
			continue;
		}
		while (!finish_is_same(node, &all->nodes[at]))
			at++;
		s[i].self = all->nodes[at].self;
		s[i].total = all->nodes[at].total;
		rest[i] = s[i].total - s[i].self;
		if (i > 0)
			rest[node->parent] -= s[i].total;
		at++;
	}
	free(rest);
	return NULL;
}

const struct err *
profile_finish_samples(struct store *s, const struct node_values *samples,
    const char *split, struct profile *p)
{
	const struct profile_limit whole = {0, 0};
	struct profile *all = calloc(1, sizeof(*all));
	const struct err *e = all == NULL ? err_nomem()
	    : profile_tree(s, samples, split, &whole, all);

	if (e == NULL)
		e = finish_take_samples(p, all);
	profile_free(all);
	return e;
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
