/*
 * What is done to a tree once it is there: the rounding of a stock's means.
 */
#include "store/model/mean.h"
#include "store/profile/profile.h"

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
