/*
 * A question for a dependency graph, and what its answer is made of: read by
 * api_graph.c, told by that as DOT and pictures, and by graph_json.h.
 */
#ifndef FCGI_GRAPH_PAGE_H
#define FCGI_GRAPH_PAGE_H

#include "fcgi/graph/graph_cost.h"
#include "fcgi/graph/graph_target.h"
#include "fcgi/query/profile_page.h"

struct context;
struct request;

struct graph_page {
	struct context *context;
	const struct request *request;
	struct graph_target target;
	unsigned depth;
	size_t collapse; /* whether packages are asked for: api_graph.c */
	bool collapsed;
	int64_t plain;
	unsigned sides; /* profiles that are asked for */
	struct profile_page side[2];
	struct graph_cost cost[2];
	struct graph *graph; /* what is shown */
};

#endif
