/*
 * A graph as text for Graphviz: packages as clusters, kinds of edges as
 * styles and classes, which who shows the picture may colour.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "fcgi/graph/model/graph.h"
#include "fcgi/graph/model/graph_order.h"
#include "fcgi/graph/model/graph_shares.h"
#include "store/base/text.h"

static const char head[] = "digraph dependencies {\n"
    "\tgraph [rankdir=%s, ranksep=0.6, nodesep=0.25, "
    "fontname=\"Helvetica\", fontsize=10];\n"
    "\tnode [shape=box, style=\"rounded,filled\", "
    "fillcolor=\"#eef3fb\", color=\"#24508f\", "
    "fontname=\"Helvetica\", fontsize=11, margin=\"0.12,0.06\"];\n"
    "\tedge [color=\"#6b7280\", arrowsize=0.7, "
    "fontname=\"Helvetica\", fontsize=9];\n";

/* Levels are rows where none is much wider than a screen, else columns.
 * Points, about. */
#define ROW_MAX 2500
#define LETTER 6
#define BESIDE_LETTERS 30

/* More edges than this are laid out in bounded rounds: some hundred of them
 * between some fifty nodes took dot more than 15 s, and take it 2. */
#define FREE_EDGES 300
static const char bounded[] =
    "\tgraph [nslimit=1, nslimit1=1, mclimit=0.3];\n";

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

/* Where there is room alone, nothing else is of the costs: the picture stays
 * whatever they are (graph_paint()). */
static void
dot_put_cost(struct buf *out, const struct graph_node *n,
    const struct graph_shares *s)
{
	char colour[SHARES_COLOUR_MAX];

	buf_printf(out, ", label=\"");
	dot_put_text(out, n->name);
	if (s->room) {
		buf_printf(out, s->sides == 2
		    ? "\\n… xx.x %% → xx.x %% (xxxx pp)\""
		    : "\\n… %% (self … %%)      \"");
		return;
	}
	buf_printf(out, "\\n");
	shares_put(out, n->total, s);
	buf_printf(out, " (self ");
	shares_put(out, n->self, s);
	buf_printf(out, ")\"");
	if (shares_colour(n->total, s, colour))
		buf_printf(out, ", fillcolor=\"%s\"", colour);
	if (shares_letters(n->self, s) != 0)
		buf_printf(out, ", fontsize=%d", shares_letters(n->self, s));
}

static void
dot_put_node(struct buf *out, const struct graph *g, size_t i,
    const struct graph_shares *s)
{
	const struct graph_node *n = &g->nodes[i];

	buf_put_u8(out, '\t');
	dot_put_quoted(out, n->name);
	buf_printf(out, " [class=\"%s\"", graph_kind_name(n->kind));
	if (s->sides > 0)
		dot_put_cost(out, n, s);
	else if (i == 0)
		buf_printf(out, ", fillcolor=\"#cfe0f7\"");
	if (n->kind == GRAPH_SEEN || n->kind == GRAPH_MISSING)
		buf_printf(out, ", style=\"rounded,filled,dashed\"");
	buf_printf(out, "];\n");
}

static void
dot_put_edge(struct buf *out, const struct graph *g,
    const struct graph_edge *e, const struct graph_shares *s)
{
	double calls = s->room ? 0 : shares_most(e->calls, s);

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
	if (calls >= SHARES_EDGE_LEAST)
		buf_printf(out, ", penwidth=%.1f", 1 + 3 * calls);
	if (e->label != NULL) {
		buf_printf(out, ", label=");
		dot_put_quoted(out, e->label);
	}
	buf_printf(out, "];\n");
}

/* Nodes of one package lie together where it has several. */
static void
dot_put_nodes(struct buf *out, const struct graph *g,
    const struct graph_order *o, const struct graph_shares *s)
{
	uint32_t open = GRAPH_NO_CLUSTER;

	for (size_t i = 0; i < g->n_nodes; i++) {
		uint32_t cluster = o->clusters[i];

		if (cluster != open && open != GRAPH_NO_CLUSTER)
			buf_printf(out, "\t}\n");
		if (cluster != open && cluster != GRAPH_NO_CLUSTER) {
			buf_printf(out, "\tsubgraph cluster_%u {\n\tlabel=",
			    cluster);
			dot_put_quoted(out, g->nodes[o->nodes[i]].package);
			buf_printf(out, ";\n\tstyle=rounded; "
			    "color=\"#c3c7cf\"; fontcolor=\"#6b7280\";\n");
		}
		open = cluster;
		dot_put_node(out, g, o->nodes[i], s);
	}
	if (open != GRAPH_NO_CLUSTER)
		buf_printf(out, "\t}\n");
}

static size_t
dot_width(const char *name)
{
	size_t most = 0, n;

	for (; *name != '\0'; name += n + (name[n] == '\n')) {
		n = strcspn(name, "\n");
		most = n > most ? n : most;
	}
	return most * LETTER + BESIDE_LETTERS;
}

static bool
dot_is_wide(const struct graph *g)
{
	size_t *widths = calloc(g->n_nodes + 1, sizeof(*widths));
	bool wide = false;

	for (size_t i = 0; widths != NULL && i < g->n_nodes; i++) {
		const struct graph_node *n = &g->nodes[i];

		if (n->level >= g->n_nodes)
			continue;
		widths[n->level] += dot_width(n->name);
		wide = wide || widths[n->level] > ROW_MAX;
	}
	free(widths);
	return wide;
}

void
graph_put_dot_cost(struct buf *out, const struct graph *g,
    const struct graph_shares *s)
{
	struct graph_order o;

	if (!graph_order_init(&o, g)) {
		graph_order_fini(&o);
		out->failed = true;
		return;
	}
	buf_printf(out, head, dot_is_wide(g) ? "LR" : "TB");
	if (g->n_edges > FREE_EDGES)
		buf_put(out, bounded, sizeof(bounded) - 1);
	dot_put_nodes(out, g, &o, s);
	for (size_t i = 0; i < g->n_edges; i++)
		dot_put_edge(out, g, &g->edges[o.edges[i]], s);
	buf_printf(out, "}\n");
	graph_order_fini(&o);
}

void
graph_put_dot(struct buf *out, const struct graph *g)
{
	graph_put_dot_cost(out, g, &(struct graph_shares){0});
}
