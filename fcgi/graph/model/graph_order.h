/*
 * In which order a graph's nodes and edges stand in its DOT text, which
 * Graphviz numbers them by: what is declared as the graph has it, clusters
 * first, then what was only seen, by name, so that the same graph is the same
 * text whatever was sampled first.
 */
#ifndef FCGI_GRAPH_ORDER_H
#define FCGI_GRAPH_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct graph;

#define GRAPH_NO_CLUSTER UINT32_MAX

struct graph_order {
	uint32_t *nodes, *edges; /* numbers in the graph */
	uint32_t *clusters;      /* by place in nodes; GRAPH_NO_CLUSTER */
};

/* False when out of memory; graph_order_fini() after any outcome. */
bool graph_order_init(struct graph_order *o, const struct graph *g);
void graph_order_fini(struct graph_order *o);

#endif
