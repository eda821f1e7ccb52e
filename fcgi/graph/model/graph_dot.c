/*
 * A graph as text for Graphviz: packages as clusters, kinds of edges as
 * styles and classes, which who shows the picture may colour.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "fcgi/graph/model/graph.h"
#include "store/base/text.h"

static const char head[] = "digraph dependencies {\n"
    "\tgraph [rankdir=TB, ranksep=0.6, nodesep=0.25, "
    "fontname=\"Helvetica\", fontsize=10];\n"
    "\tnode [shape=box, style=\"rounded,filled\", "
    "fillcolor=\"#eef3fb\", color=\"#24508f\", "
    "fontname=\"Helvetica\", fontsize=11, margin=\"0.12,0.06\"];\n"
    "\tedge [color=\"#6b7280\", arrowsize=0.7, "
    "fontname=\"Helvetica\", fontsize=9];\n";

/* In double quotes; newlines as DOT writes them, what else acts and
 * what is no character as "?".  Graphviz takes "&#1;" for a character. */
static void
dot_put_text(struct buf *out, const char *s)
{
	size_t n = strlen(s), len;

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
}

static void
dot_put_quoted(struct buf *out, const char *s)
{
	buf_put_u8(out, '"');
	dot_put_text(out, s);
	buf_put_u8(out, '"');
}

static double
dot_share(int128 amount, int128 total)
{
	return total > 0 ? (double)amount / (double)total : 0;
}

/* The more of the total, the redder; text stays readable on it. */
static void
dot_put_cost(struct buf *out, const struct graph_node *n, int128 total)
{
	double share = dot_share(n->total[0], total);

	buf_printf(out, ", label=\"");
	dot_put_text(out, n->name);
	buf_printf(out, "\\n%.1f %% (self %.1f %%)\"", 100 * share,
	    100 * dot_share(n->self[0], total));
	if (n->total[0] > 0)
		buf_printf(out, ", fillcolor=\"0.05 %.3f 1.0\"",
		    0.05 + 0.5 * (share > 1 ? 1 : share));
}

/* The room that a cost needs, for who shows it in the picture. */
static void
dot_put_room(struct buf *out, const struct graph_node *n)
{
	buf_printf(out, ", label=\"");
	dot_put_text(out, n->name);
	buf_printf(out, "\\n… %% (self … %%)      \"");
}

/* GRAPH_NO_COST, GRAPH_ROOM or a total. */
static void
dot_put_node(struct buf *out, const struct graph *g, size_t i, int128 total)
{
	const struct graph_node *n = &g->nodes[i];

	buf_put_u8(out, '\t');
	dot_put_quoted(out, n->name);
	buf_printf(out, " [class=\"%s\"", graph_kind_name(n->kind));
	if (total >= 0)
		dot_put_cost(out, n, total);
	else if (total == GRAPH_ROOM)
		dot_put_room(out, n);
	else if (i == 0)
		buf_printf(out, ", fillcolor=\"#cfe0f7\"");
	if (n->kind == GRAPH_SEEN || n->kind == GRAPH_MISSING)
		buf_printf(out, ", style=\"rounded,filled,dashed\"");
	buf_printf(out, "];\n");
}

static void
dot_put_edge(struct buf *out, const struct graph *g,
    const struct graph_edge *e)
{
	buf_put_u8(out, '\t');
	dot_put_quoted(out, g->nodes[e->from].name);
	buf_printf(out, " -> ");
	dot_put_quoted(out, g->nodes[e->to].name);
	buf_printf(out, " [class=\"%s%s\"", graph_edge_kind_name(e->kind),
	    e->last ? " last" : "");
	if (e->kind == GRAPH_WHEN || e->kind == GRAPH_CALLS)
		buf_printf(out, ", style=dashed");
	if (e->last)
		buf_printf(out, ", arrowhead=empty");
	if (e->kind == GRAPH_CALLS) /* it is no reason for a level */
		buf_printf(out, ", constraint=false");
	if (e->label != NULL) {
		buf_printf(out, ", label=");
		dot_put_quoted(out, e->label);
	}
	buf_printf(out, "];\n");
}

/* Nodes of one package lie together where it has several. */
static void
dot_put_packages(struct buf *out, const struct graph *g, bool *done,
    int128 total)
{
	unsigned cluster = 0;

	for (size_t i = 0; i < g->n_nodes; i++) {
		const char *package = g->nodes[i].package;
		size_t members = 0;

		if (package == NULL || done[i])
			continue;
		for (size_t k = i; k < g->n_nodes; k++)
			members += g->nodes[k].package != NULL &&
			    strcmp(g->nodes[k].package, package) == 0;
		if (members < 2)
			continue;
		buf_printf(out, "\tsubgraph cluster_%u {\n\tlabel=", cluster++);
		dot_put_quoted(out, package);
		buf_printf(out, ";\n\tstyle=rounded; color=\"#c3c7cf\"; "
		    "fontcolor=\"#6b7280\";\n");
		for (size_t k = i; k < g->n_nodes; k++) {
			if (g->nodes[k].package == NULL ||
			    strcmp(g->nodes[k].package, package) != 0)
				continue;
			done[k] = true;
			dot_put_node(out, g, k, total);
		}
		buf_printf(out, "\t}\n");
	}
}

void
graph_put_dot_cost(struct buf *out, const struct graph *g, int128 total)
{
	bool *done = calloc(g->n_nodes + 1, sizeof(*done));

	if (done == NULL) {
		out->failed = true;
		return;
	}
	buf_put(out, head, sizeof(head) - 1);
	dot_put_packages(out, g, done, total);
	for (size_t i = 0; i < g->n_nodes; i++)
		if (!done[i])
			dot_put_node(out, g, i, total);
	for (size_t i = 0; i < g->n_edges; i++)
		dot_put_edge(out, g, &g->edges[i]);
	buf_printf(out, "}\n");
	free(done);
}

void
graph_put_dot(struct buf *out, const struct graph *g)
{
	graph_put_dot_cost(out, g, GRAPH_NO_COST);
}
