/*
 * The graph itself: names by hash, breadth-first cut, DOT, pipe encoding.
 */
#include "fcgi/graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "store/base/err.h"
#include "store/base/text.h"

#define NONE HASHTABLE_NONE

struct graph *
graph_new(void)
{
	struct graph *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	g->nodes = calloc(GRAPH_NODES_MAX, sizeof(*g->nodes));
	g->edges = calloc(GRAPH_EDGES_MAX, sizeof(*g->edges));
	if (g->nodes == NULL || g->edges == NULL) {
		graph_free(g);
		return NULL;
	}
	return g;
}

void
graph_free(struct graph *g)
{
	if (g == NULL)
		return;
	for (size_t i = 0; i < g->n_nodes; i++)
		free(g->nodes[i].name);
	for (size_t i = 0; i < g->n_edges; i++)
		free(g->edges[i].label);
	free(g->nodes);
	free(g->edges);
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

	if (found != NONE)
		return found;
	if (n == GRAPH_NODES_MAX) {
		g->cut = true;
		return NONE;
	}
	if (!hashtable_room(&g->table, n + 1, graph_node_hash, g->nodes) ||
	    (g->nodes[n].name = strndup(name, GRAPH_NAME_MAX)) == NULL) {
		g->failed = true;
		return NONE;
	}
	hashtable_add(&g->table, graph_hash(name), n);
	g->n_nodes++;
	return n;
}

void
graph_edge(struct graph *g, uint32_t from, uint32_t to, const char *label)
{
	struct graph_edge *e = &g->edges[g->n_edges];

	if (from == NONE || to == NONE)
		return;
	if (g->n_edges == GRAPH_EDGES_MAX) {
		g->cut = true;
		return;
	}
	*e = (struct graph_edge){from, to, NULL};
	if (label != NULL && *label != '\0' &&
	    (e->label = strndup(label, GRAPH_NAME_MAX)) == NULL)
		g->failed = true;
	g->n_edges++;
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

/* Appends the nodes that the edges of `from` lead to and that are new. */
static void
graph_visit(const struct graph *g, struct graph *part, uint32_t *number,
    uint32_t *queue, size_t at)
{
	uint32_t level = part->nodes[at].level + 1;

	for (size_t i = 0; i < g->n_edges; i++) {
		uint32_t to = g->edges[i].to;

		if (g->edges[i].from != queue[at] || number[to] != NONE)
			continue;
		number[to] = graph_node(part, g->nodes[to].name);
		if (number[to] == NONE)
			return;
		part->nodes[number[to]].level = level;
		queue[number[to]] = to;
	}
}

static void
graph_fill(const struct graph *g, struct graph *part, uint32_t *number,
    uint32_t *queue, uint32_t root, unsigned depth)
{
	number[root] = graph_node(part, g->nodes[root].name);
	queue[0] = root;
	for (size_t at = 0; at < part->n_nodes; at++)
		if (part->nodes[at].level < depth)
			graph_visit(g, part, number, queue, at);
	for (size_t i = 0; i < g->n_edges; i++) {
		const struct graph_edge *e = &g->edges[i];

		graph_edge(part, number[e->from], number[e->to], e->label);
	}
}

struct graph *
graph_cut(const struct graph *g, uint32_t root, unsigned depth)
{
	uint32_t *number = malloc(2 * GRAPH_NODES_MAX * sizeof(*number));
	struct graph *part = graph_new();

	if (part != NULL && number != NULL && g->n_nodes > 0) {
		memset(number, 0xff, GRAPH_NODES_MAX * sizeof(*number));
		graph_fill(g, part, number, number + GRAPH_NODES_MAX, root,
		    depth);
		part->cut = part->cut || g->cut;
	}
	if (number == NULL || (part != NULL && part->failed)) {
		graph_free(part);
		part = NULL;
	}
	free(number);
	return part;
}

/* In double quotes; newlines as DOT writes them, what else acts and
 * what is no character as "?".  Graphviz takes "&#1;" for a character. */
static void
graph_put_quoted(struct buf *out, const char *s)
{
	size_t n = strlen(s), len;

	buf_put_u8(out, '"');
	for (; n > 0; s += len, n -= len) {
		len = text_utf8(s, n);
		if (*s == '\n') {
			buf_printf(out, "\\n");
		} else if (*s == '&') {
			buf_printf(out, "&amp;");
		} else if (len == 0 || text_acts(s, len) != 0 ||
		    text_is_none(s, len)) {
			buf_put_u8(out, '?');
			len = len > 0 ? len : 1;
		} else {
			if (*s == '"' || *s == '\\')
				buf_put_u8(out, '\\');
			buf_put(out, s, len);
		}
	}
	buf_put_u8(out, '"');
}

void
graph_put_dot(struct buf *out, const struct graph *g)
{
	buf_printf(out, "digraph dependencies {\n"
	    "\tgraph [rankdir=TB, ranksep=0.6, nodesep=0.25];\n"
	    "\tnode [shape=box, style=\"rounded,filled\", "
	    "fillcolor=\"#eef3fb\", color=\"#24508f\", "
	    "fontname=\"Helvetica\", fontsize=11, margin=\"0.12,0.06\"];\n"
	    "\tedge [color=\"#6b7280\", arrowsize=0.7, "
	    "fontname=\"Helvetica\", fontsize=9];\n");
	for (size_t i = 0; i < g->n_nodes; i++) {
		buf_put_u8(out, '\t');
		graph_put_quoted(out, g->nodes[i].name);
		buf_printf(out, "%s;\n", i == 0 ? " [fillcolor=\"#cfe0f7\"]"
						: "");
	}
	for (size_t i = 0; i < g->n_edges; i++) {
		const struct graph_edge *e = &g->edges[i];

		buf_put_u8(out, '\t');
		graph_put_quoted(out, g->nodes[e->from].name);
		buf_printf(out, " -> ");
		graph_put_quoted(out, g->nodes[e->to].name);
		if (e->label != NULL) {
			buf_printf(out, " [label=");
			graph_put_quoted(out, e->label);
			buf_put_u8(out, ']');
		}
		buf_printf(out, ";\n");
	}
	buf_printf(out, "}\n");
}

void
graph_encode(const struct graph *g, struct buf *out)
{
	buf_put_u8(out, g->cut);
	buf_put_varint(out, g->n_nodes);
	for (size_t i = 0; i < g->n_nodes; i++)
		buf_put_str(out, g->nodes[i].name);
	buf_put_varint(out, g->n_edges);
	for (size_t i = 0; i < g->n_edges; i++) {
		buf_put_varint(out, g->edges[i].from);
		buf_put_varint(out, g->edges[i].to);
		buf_put_str(out, g->edges[i].label ? g->edges[i].label : "");
	}
}

/* A string of the encoding, NUL-terminated in `text`; false when bad. */
static bool
graph_take_text(struct cur *c, char *text)
{
	size_t n;
	const uint8_t *p = cur_bytes(c, &n);

	if (p == NULL || n > GRAPH_NAME_MAX || memchr(p, 0, n) != NULL)
		return false;
	memcpy(text, p, n);
	text[n] = '\0';
	return true;
}

static bool
graph_take(struct cur *c, struct graph *g, char *text)
{
	uint64_t n, from, to;

	g->cut = cur_u8(c) != 0;
	n = cur_varint(c);
	if (n > GRAPH_NODES_MAX)
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (!graph_take_text(c, text) || graph_node(g, text) != i)
			return false;
	n = cur_varint(c);
	if (n > GRAPH_EDGES_MAX)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		from = cur_varint(c);
		to = cur_varint(c);
		if (from >= g->n_nodes || to >= g->n_nodes ||
		    !graph_take_text(c, text))
			return false;
		graph_edge(g, (uint32_t)from, (uint32_t)to, text);
	}
	return !c->bad && cur_left(c) == 0 && !g->failed;
}

const struct err *
graph_decode(const void *data, size_t n, struct graph **out)
{
	struct cur c = cur_of(data, n);
	char *text = malloc(GRAPH_NAME_MAX + 1);
	struct graph *g = graph_new();
	const struct err *e = NULL;

	*out = NULL;
	if (g == NULL || text == NULL)
		e = err_nomem();
	else if (!graph_take(&c, g, text))
		e = err_new(ERR_FORMAT, (int)(n - cur_left(&c)),
		    "damaged graph");
	free(text);
	if (e != NULL) {
		graph_free(g);
		return e;
	}
	*out = g;
	return NULL;
}
