/*
 * Clusters are packages that several nodes are of.
 */
#include "fcgi/graph/model/graph_order.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/graph/model/graph.h"

static int
order_nodes(const void *a, const void *b, void *arg)
{
	const struct graph *g = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	bool x = g->nodes[i].kind == GRAPH_SEEN,
	    y = g->nodes[k].kind == GRAPH_SEEN;

	if (x != y)
		return x ? 1 : -1;
	if (x)
		return strcmp(g->nodes[i].name, g->nodes[k].name);
	return i < k ? -1 : i > k;
}

static int
order_edges(const void *a, const void *b, void *arg)
{
	const struct graph *g = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct graph_edge *x = &g->edges[i], *y = &g->edges[k];
	bool seen = x->kind == GRAPH_CALLS;
	int order = 0;

	if (seen != (y->kind == GRAPH_CALLS))
		return seen ? 1 : -1;
	if (seen)
		order = strcmp(g->nodes[x->from].name, g->nodes[y->from].name);
	if (seen && order == 0)
		order = strcmp(g->nodes[x->to].name, g->nodes[y->to].name);
	return order != 0 ? order : i < k ? -1 : i > k;
}

static bool
order_is_mate(const struct graph *g, uint32_t i, uint32_t k)
{
	const char *a = g->nodes[i].package, *b = g->nodes[k].package;

	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* Takes a cluster's nodes out of the list, in its order. */
static void
order_cluster(struct graph_order *o, const struct graph *g,
    const uint32_t *list, bool *done, size_t first, uint32_t *n,
    uint32_t cluster)
{
	for (size_t k = first; k < g->n_nodes; k++)
		if (k == first || order_is_mate(g, list[first], list[k])) {
			done[k] = true;
			o->clusters[*n] = cluster;
			o->nodes[(*n)++] = list[k];
		}
}

/* Clusters in the order of their first nodes, then all that is alone. */
static void
order_gather(struct graph_order *o, const struct graph *g,
    const uint32_t *list, bool *done)
{
	uint32_t n = 0, clusters = 0;

	for (size_t i = 0; i < g->n_nodes; i++) {
		size_t k = i + 1;

		while (k < g->n_nodes && !order_is_mate(g, list[i], list[k]))
			k++;
		if (!done[i] && k < g->n_nodes)
			order_cluster(o, g, list, done, i, &n, clusters++);
	}
	for (size_t i = 0; i < g->n_nodes; i++)
		if (!done[i]) {
			o->clusters[n] = GRAPH_NO_CLUSTER;
			o->nodes[n++] = list[i];
		}
}

bool
graph_order_init(struct graph_order *o, const struct graph *g)
{
	uint32_t *list = calloc(g->n_nodes + 1, sizeof(*list));
	bool *done = calloc(g->n_nodes + 1, sizeof(*done)), fine;

	o->nodes = calloc(g->n_nodes + 1, sizeof(*o->nodes));
	o->clusters = calloc(g->n_nodes + 1, sizeof(*o->clusters));
	o->edges = calloc(g->n_edges + 1, sizeof(*o->edges));
	fine = list != NULL && done != NULL && o->nodes != NULL &&
	    o->clusters != NULL && o->edges != NULL;
	for (uint32_t i = 0; fine && i < g->n_nodes; i++)
		list[i] = i;
	for (uint32_t i = 0; fine && i < g->n_edges; i++)
		o->edges[i] = i;
	if (fine) {
		qsort_r(list, g->n_nodes, sizeof(*list), order_nodes,
		    (void *)(uintptr_t)g);
		qsort_r(o->edges, g->n_edges, sizeof(*o->edges), order_edges,
		    (void *)(uintptr_t)g);
		order_gather(o, g, list, done);
	}
	free(list);
	free(done);
	return fine;
}

void
graph_order_fini(struct graph_order *o)
{
	free(o->nodes);
	free(o->edges);
	free(o->clusters);
}
