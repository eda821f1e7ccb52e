/*
 * A dependency graph: named nodes, directed edges, both bounded, a root.
 * Pure; where graphs come from is graph_read.h's business.
 */
#ifndef FCGI_GRAPH_H
#define FCGI_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"
#include "store/base/hashtable.h"

struct err;

#define GRAPH_NODES_MAX 2000u
#define GRAPH_EDGES_MAX 20000u
#define GRAPH_NAME_MAX 4096u

struct graph_node {
	char *name;     /* lines separated by newlines */
	uint32_t level; /* edges from the root; set by graph_cut() */
};

struct graph_edge {
	uint32_t from, to;
	char *label; /* or NULL */
};

struct graph {
	struct graph_node *nodes;
	struct graph_edge *edges;
	size_t n_nodes, n_edges;
	bool cut;       /* something is known to be missing: a bound was
	                 * reached, or a library was not found */
	bool failed;    /* out of memory */
	struct hashtable table; /* private */
};

/* NULL when out of memory. */
struct graph *graph_new(void);
void graph_free(struct graph *g);

/* The number of the node of this name, made when it is new; UINT32_MAX when
 * there are too many (and g->cut is set) or memory is short. */
uint32_t graph_node(struct graph *g, const char *name);
void graph_edge(struct graph *g, uint32_t from, uint32_t to,
    const char *label);

/* The node of this name, or UINT32_MAX. */
uint32_t graph_find(const struct graph *g, const char *name);

/* The node to begin with: the first that no edge leads to, else the first. */
uint32_t graph_root(const struct graph *g);

/* What is at most `depth` edges from the root, in breadth-first order, so
 * that node 0 is the root.  A new graph; NULL when out of memory. */
struct graph *graph_cut(const struct graph *g, uint32_t root, unsigned depth);

/* As a DOT file; any bytes in names. */
void graph_put_dot(struct buf *out, const struct graph *g);

/* One encoding for a pipe: nodes and edges; graph_decode() checks all. */
void graph_encode(const struct graph *g, struct buf *out);
const struct err *graph_decode(const void *data, size_t n, struct graph **out);

#endif
