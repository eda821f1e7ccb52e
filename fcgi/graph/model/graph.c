/*
 * The graph itself: names and keys by hash, breadth-first cut, packages.
 */
#include "fcgi/graph/model/graph.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/intern.h"

#define NONE HASHTABLE_NONE

static const char *const kind_names[GRAPH_KINDS] = {
    [GRAPH_TARGET] = "target", [GRAPH_PROGRAM] = "program",
    [GRAPH_LIBRARY] = "library", [GRAPH_OBJECT] = "object",
    [GRAPH_FOLDER] = "folder", [GRAPH_PACKAGE] = "package",
    [GRAPH_MISSING] = "missing", [GRAPH_SEEN] = "seen"};

static const char *const edge_kind_names[GRAPH_EDGE_KINDS] = {
    [GRAPH_NEEDS] = "needs", [GRAPH_WHEN] = "condition",
    [GRAPH_HOLDS] = "holds", [GRAPH_CALLS] = "seen"};

const char *
graph_kind_name(enum graph_kind kind)
{
	return kind_names[kind];
}

const char *
graph_edge_kind_name(enum graph_edge_kind kind)
{
	return edge_kind_names[kind];
}

struct graph *
graph_new(void)
{
	return calloc(1, sizeof(struct graph));
}

void
graph_free(struct graph *g)
{
	if (g == NULL)
		return;
	for (size_t i = 0; i < g->n_nodes; i++) {
		free(g->nodes[i].name);
		free(g->nodes[i].package);
	}
	for (size_t i = 0; i < g->n_edges; i++)
		free(g->edges[i].label);
	free(g->nodes);
	free(g->edges);
	free(g->keys);
	free(g->module);
	free(g->origin.source);
	free(g->origin.command);
	free(g->origin.build_id);
	hashtable_fini(&g->table);
	free(g);
}

/* Names are cut at GRAPH_NAME_MAX, and known by what is left. */
static uint32_t
graph_hash(const char *name)
{
	return (uint32_t)hash64(0, name, strnlen(name, GRAPH_NAME_MAX));
}

static uint32_t
graph_node_hash(const void *nodes, uint32_t i)
{
	return graph_hash(((const struct graph_node *)nodes)[i].name);
}

uint32_t
graph_find(const struct graph *g, const char *name)
{
	hashtable_each(i, &g->table, graph_hash(name)) {
		if (strncmp(g->nodes[i].name, name, GRAPH_NAME_MAX) == 0)
			return i;
	}
	return NONE;
}

uint32_t
graph_node(struct graph *g, const char *name)
{
	uint32_t n = (uint32_t)g->n_nodes, found = graph_find(g, name);
	char *copy;

	if (found != NONE)
		return found;
	if (n == GRAPH_NODES_MAX) {
		g->cut = true;
		g->over |= GRAPH_OVER_NODES;
		return NONE;
	}
	copy = strndup(name, GRAPH_NAME_MAX);
	if (copy == NULL || !array_room(&g->nodes, n + 1, &g->cap_nodes) ||
	    !hashtable_room(&g->table, n + 1, graph_node_hash, g->nodes)) {
		free(copy);
		g->failed = true;
		return NONE;
	}
	g->nodes[n] = (struct graph_node){.name = copy, .bytes = -1};
	hashtable_add(&g->table, graph_hash(name), n);
	g->n_nodes++;
	return n;
}

void
graph_edge_of(struct graph *g, uint32_t from, uint32_t to,
    enum graph_edge_kind kind, const char *label)
{
	struct graph_edge *e;

	if (from == NONE || to == NONE)
		return;
	if (g->n_edges == GRAPH_EDGES_MAX) {
		g->cut = true;
		g->over |= GRAPH_OVER_EDGES;
		return;
	}
	if (!array_room(&g->edges, g->n_edges + 1, &g->cap_edges)) {
		g->failed = true;
		return;
	}
	e = &g->edges[g->n_edges++];
	*e = (struct graph_edge){.from = from, .to = to, .kind = kind};
	graph_set(g, &e->label, label);
}

void
graph_edge(struct graph *g, uint32_t from, uint32_t to, const char *label)
{
	graph_edge_of(g, from, to, label != NULL && *label != '\0'
	    ? GRAPH_WHEN : GRAPH_NEEDS, label);
}

void
graph_set(struct graph *g, char **field, const char *text)
{
	free(*field);
	*field = NULL;
	if (text == NULL || *text == '\0')
		return;
	*field = strndup(text, GRAPH_NAME_MAX);
	if (*field == NULL)
		g->failed = true;
}

void
graph_lack(struct graph *g, const struct graph *other)
{
	g->cut = g->cut || other->cut;
	g->over |= other->over;
}

void
graph_put_bounds(struct buf *out, const struct graph *g)
{
	static const struct {
		enum graph_bound bit;
		const char *what;
		unsigned max;
	} bounds[] = {
	    {GRAPH_OVER_NODES, "nodes", GRAPH_NODES_MAX},
	    {GRAPH_OVER_EDGES, "edges", GRAPH_EDGES_MAX},
	    {GRAPH_OVER_KEYS, "names of code", GRAPH_KEYS_MAX}};

	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		if ((g->over & bounds[i].bit) != 0)
			buf_printf(out, "; there are more %s than the %u "
			    "that are kept", bounds[i].what, bounds[i].max);
}

uint32_t
graph_root(const struct graph *g)
{
	uint32_t root = 0;
	bool *reached = calloc(g->n_nodes + 1, sizeof(*reached));

	if (reached == NULL)
		return 0;
	for (size_t i = 0; i < g->n_edges; i++)
		if (g->edges[i].from != g->edges[i].to)
			reached[g->edges[i].to] = true;
	while (root < g->n_nodes && reached[root])
		root++;
	free(reached);
	return root < g->n_nodes ? root : 0;
}

/* ---- parts ---- */

/* The node of another graph, with all that it has. */
static uint32_t
graph_copy_node(struct graph *to, const struct graph_node *n)
{
	uint32_t i = graph_node(to, n->name);
	char *name;

	if (i == NONE)
		return i;
	name = to->nodes[i].name;
	to->nodes[i] = *n;
	to->nodes[i].name = name;
	to->nodes[i].package = NULL;
	graph_set(to, &to->nodes[i].package, n->package);
	return i;
}

static void
graph_copy_edge(struct graph *to, const struct graph_edge *e,
    uint32_t from_node, uint32_t to_node)
{
	size_t n = to->n_edges;

	graph_edge_of(to, from_node, to_node, e->kind, e->label);
	if (to->n_edges == n)
		return;
	to->edges[n].calls[0] = e->calls[0];
	to->edges[n].calls[1] = e->calls[1];
}

static void
graph_copy_origin(struct graph *to, const struct graph *g)
{
	graph_set(to, &to->module, g->module);
	graph_set(to, &to->origin.source, g->origin.source);
	graph_set(to, &to->origin.command, g->origin.command);
	graph_set(to, &to->origin.build_id, g->origin.build_id);
	to->origin.time_ns = g->origin.time_ns;
	to->origin.complete = g->origin.complete;
	graph_lack(to, g);
}

/* Keys, by the numbers that nodes have in the part. */
static bool
graph_copy_keys(struct graph *to, const struct graph *g,
    const uint32_t *number)
{
	for (size_t i = 0; i < g->n_keys; i++) {
		uint32_t node = g->keys[i].node;

		if (node < g->n_nodes && number[node] == NONE)
			continue;
		if (!array_room(&to->keys, to->n_keys + 1, &to->cap_keys))
			return false;
		to->keys[to->n_keys++] = (struct graph_key){g->keys[i].hash,
		    node < g->n_nodes ? number[node] : node};
	}
	return true;
}

/* A library that both know by its file, whatever a build calls it, is one. */
static void
graph_find_libraries(const struct graph *g, const struct graph *other,
    uint32_t *number)
{
	for (size_t i = 0; i < other->n_keys; i++) {
		uint32_t node = other->keys[i].node;

		if (node >= other->n_nodes || number[node] != NONE ||
		    other->nodes[node].kind != GRAPH_LIBRARY)
			continue;
		for (size_t j = 0; j < g->n_keys; j++)
			if (g->keys[j].hash == other->keys[i].hash &&
			    g->keys[j].node < g->n_nodes &&
			    g->nodes[g->keys[j].node].kind == GRAPH_LIBRARY)
				number[node] = g->keys[j].node;
	}
}

static bool
graph_has_edge(const struct graph *g, size_t n, const struct graph_edge *e,
    uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < n; i++)
		if (g->edges[i].from == from && g->edges[i].to == to &&
		    g->edges[i].kind == e->kind &&
		    (e->label == NULL) == (g->edges[i].label == NULL) &&
		    (e->label == NULL ||
		    strcmp(e->label, g->edges[i].label) == 0))
			return true;
	return false;
}

/* Edges between nodes that were there may be there, too. */
static void
graph_merge_edges(struct graph *g, const struct graph *other,
    const uint32_t *number, size_t n_nodes)
{
	size_t n_edges = g->n_edges;

	for (size_t i = 0; i < other->n_edges; i++) {
		const struct graph_edge *e = &other->edges[i];
		uint32_t from = number[e->from], to = number[e->to];

		if (from >= n_nodes || to >= n_nodes ||
		    !graph_has_edge(g, n_edges, e, from, to))
			graph_copy_edge(g, e, from, to);
	}
}

uint32_t
graph_merge(struct graph *g, const struct graph *other, uint32_t root)
{
	uint32_t *number = calloc(other->n_nodes + 1, sizeof(*number));
	size_t n_nodes = g->n_nodes;
	uint32_t to = NONE;

	if (number == NULL) {
		g->failed = true;
		return NONE;
	}
	for (size_t i = 0; i < other->n_nodes; i++)
		number[i] = graph_find(g, other->nodes[i].name);
	graph_find_libraries(g, other, number);
	for (size_t i = 0; i < other->n_nodes; i++)
		if (number[i] == NONE)
			number[i] = graph_copy_node(g, &other->nodes[i]);
	graph_merge_edges(g, other, number, n_nodes);
	if (!graph_copy_keys(g, other, number))
		g->failed = true;
	if (root < other->n_nodes)
		to = number[root];
	graph_lack(g, other);
	free(number);
	return to;
}

/* Edges by the node that they begin at. */
struct graph_index {
	uint32_t *first; /* by node; one more at the end */
	uint32_t *edges;
};

static bool
graph_index_init(struct graph_index *x, const struct graph *g)
{
	uint32_t n = 0;

	x->first = calloc(g->n_nodes + 2, sizeof(*x->first));
	x->edges = calloc(g->n_edges + 1, sizeof(*x->edges));
	if (x->first == NULL || x->edges == NULL)
		return false;
	for (size_t i = 0; i < g->n_edges; i++)
		x->first[g->edges[i].from]++;
	for (size_t i = 0; i <= g->n_nodes; i++) {
		n += x->first[i];
		x->first[i] = n;
	}
	for (size_t i = g->n_edges; i-- > 0;)
		x->edges[--x->first[g->edges[i].from]] = (uint32_t)i;
	return true;
}

/* What a cut is made with: numbers of nodes in the part, nodes by those. */
struct graph_cutter {
	const struct graph *g;
	struct graph *part;
	struct graph_index index;
	uint32_t *number, *queue;
};

static void
graph_take_node(struct graph_cutter *c, uint32_t node, uint32_t level)
{
	uint32_t n = graph_copy_node(c->part, &c->g->nodes[node]);

	c->number[node] = n;
	if (n == NONE)
		return;
	c->part->nodes[n].level = level;
	c->queue[n] = node;
}

/* Appends the nodes that the declared edges of a node lead to and that are
 * new. */
static void
graph_visit(struct graph_cutter *c, size_t at)
{
	uint32_t level = c->part->nodes[at].level + 1, from = c->queue[at];

	for (uint32_t i = c->index.first[from]; i < c->index.first[from + 1];
	     i++) {
		const struct graph_edge *e = &c->g->edges[c->index.edges[i]];

		if (c->number[e->to] == NONE && e->kind != GRAPH_CALLS)
			graph_take_node(c, e->to, level);
	}
}

static void
graph_fill(struct graph_cutter *c, uint32_t root, unsigned depth)
{
	const struct graph *g = c->g;

	graph_take_node(c, root, 0);
	for (size_t at = 0; at < c->part->n_nodes; at++)
		if (c->part->nodes[at].level < depth)
			graph_visit(c, at);
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (c->number[i] == NONE && g->nodes[i].kind == GRAPH_SEEN)
			graph_take_node(c, i, GRAPH_BESIDE);
	for (size_t i = 0; i < g->n_edges; i++) {
		const struct graph_edge *e = &g->edges[i];
		uint32_t from = c->number[e->from], to = c->number[e->to];
		size_t n = c->part->n_edges;

		graph_copy_edge(c->part, e, from, to);
		if (c->part->n_edges > n)
			c->part->edges[n].last = depth != GRAPH_ALL &&
			    e->kind != GRAPH_CALLS &&
			    c->part->nodes[from].level == depth;
	}
}

struct graph *
graph_cut(const struct graph *g, uint32_t root, unsigned depth)
{
	struct graph_cutter c = {.g = g, .part = graph_new(),
	    .number = malloc((g->n_nodes + 1) * sizeof(*c.number)),
	    .queue = malloc((g->n_nodes + 1) * sizeof(*c.queue))};
	bool fine = graph_index_init(&c.index, g) && c.part != NULL &&
	    c.number != NULL && c.queue != NULL;

	if (fine && g->n_nodes > 0) {
		memset(c.number, 0xff, g->n_nodes * sizeof(*c.number));
		graph_fill(&c, root, depth);
		graph_copy_origin(c.part, g);
		fine = depth != GRAPH_ALL ||
		    graph_copy_keys(c.part, g, c.number);
	}
	if (!fine || c.part->failed) {
		graph_free(c.part);
		c.part = NULL;
	}
	free(c.index.first);
	free(c.index.edges);
	free(c.number);
	free(c.queue);
	return c.part;
}

/* ---- packages ---- */

/* A part of a package says nothing of the whole. */
static uint32_t
graph_collapse_node(struct graph *to, const struct graph_node *n)
{
	uint32_t i;

	if (n->package == NULL)
		return graph_copy_node(to, n);
	i = graph_node(to, n->package);
	if (i == NONE)
		return i;
	to->nodes[i].kind = GRAPH_PACKAGE;
	if (n->bytes >= 0)
		to->nodes[i].bytes = n->bytes +
		    (to->nodes[i].bytes > 0 ? to->nodes[i].bytes : 0);
	return i;
}

/* Each edge between two packages once. */
static bool
graph_collapse_into(struct graph *to, const struct graph *g,
    uint32_t *number)
{
	struct map64 seen = {0};
	bool fine = true;

	for (size_t i = 0; i < g->n_nodes; i++)
		number[i] = graph_collapse_node(to, &g->nodes[i]);
	for (size_t i = 0; fine && i < g->n_edges; i++) {
		const struct graph_edge *e = &g->edges[i];
		uint32_t from = number[e->from], at = number[e->to];
		uint64_t key = (uint64_t)e->kind << 60 |
		    (uint64_t)from << 30 | at;

		if (from == at || from == NONE || at == NONE ||
		    map64_get(&seen, key) != INTERN_NONE)
			continue;
		fine = map64_add(&seen, key, 0);
		graph_copy_edge(to, e, from, at);
	}
	map64_fini(&seen);
	return fine && graph_copy_keys(to, g, number) && !to->failed;
}

struct graph *
graph_collapse(const struct graph *g)
{
	struct graph *to = graph_new();
	uint32_t *number = malloc((g->n_nodes + 1) * sizeof(*number));
	bool fine = to != NULL && number != NULL &&
	    graph_collapse_into(to, g, number);

	free(number);
	if (!fine) {
		graph_free(to);
		return NULL;
	}
	graph_copy_origin(to, g);
	return to;
}
