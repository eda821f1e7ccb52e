/*
 * Graphs as the store and pipes have them, and what is made of them.
 */
#include <stdlib.h>

#include "fcgi/graph/model/graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct graph *g, *part;
	struct buf out = {0};

	if (graph_decode(data, size, &g) != NULL)
		return 0;
	if (g->n_nodes > 0) {
		part = graph_cut(g, graph_root(g), 2);
		graph_put_dot_cost(&out, part, &(struct graph_shares){
		    .sides = 2, .total = {1, 2}});
		graph_free(part);
		part = graph_collapse(g);
		graph_put_dot(&out, part);
		graph_free(part);
	}
	/* what is read is written as it was, but for how numbers are */
	buf_clear(&out);
	graph_encode(g, &out);
	graph_free(g);
	if (graph_decode(out.data, out.len, &g) != NULL)
		abort();
	graph_free(g);
	buf_fini(&out);
	return 0;
}
