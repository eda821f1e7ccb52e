/*
 * A graph as text for Graphviz: packages as clusters, kinds of edges as
 * styles and classes, which who shows the picture may colour.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "fcgi/graph/model/graph.h"
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

/* Of its side's total; -1 where there is no data. */
static double
dot_share(const int128 amount[2], const struct graph_shares *s, unsigned side)
{
	return s->total[side] > 0
	    ? (double)amount[side] / (double)s->total[side] : -1;
}

static double
dot_most(const int128 amount[2], const struct graph_shares *s)
{
	double most = 0;

	for (unsigned i = 0; i < s->sides; i++)
		if (dot_share(amount, s, i) > most)
			most = dot_share(amount, s, i);
	return most;
}

static void
dot_put_share(struct buf *out, const int128 amount[2],
    const struct graph_shares *s)
{
	for (unsigned i = 0; i < s->sides; i++) {
		double share = dot_share(amount, s, i);

		if (i > 0)
			buf_printf(out, " → ");
		if (share < 0)
			buf_printf(out, "no data");
		else
			buf_printf(out, "%.1f %%", 100 * share);
	}
}

/* The more of the total, the redder; of two, the more it has moved: as the
 * flame graph's difference does.  Text stays readable on it. */
static void
dot_put_colour(struct buf *out, const struct graph_node *n,
    const struct graph_shares *s)
{
	double a = dot_share(n->total, s, 0), b = dot_share(n->total, s, 1);
	double most = a > b ? a : b;

	if (s->sides == 1 && a > 0)
		buf_printf(out, ", fillcolor=\"0.05 %.3f 1.0\"",
		    0.05 + 0.5 * (a > 1 ? 1 : a));
	else if (s->sides == 2 && a >= 0 && b >= 0)
		buf_printf(out, ", fillcolor=\"%s %.3f 1.0\"",
		    b > a ? "0.08" : "0.58", most > 0
		    ? 0.5 * sqrt(fabs(b - a) / most) : 0);
}

/* Letters in four sizes, by what the node has itself. */
static void
dot_put_size(struct buf *out, const struct graph_node *n,
    const struct graph_shares *s)
{
	static const struct {
		double least;
		int size;
	} sizes[] = {{0.2, 18}, {0.05, 15}, {0.01, 13}};
	double self = dot_most(n->self, s);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (self >= sizes[i].least) {
			buf_printf(out, ", fontsize=%d", sizes[i].size);
			return;
		}
}

static void
dot_put_cost(struct buf *out, const struct graph_node *n,
    const struct graph_shares *s)
{
	buf_printf(out, ", label=\"");
	dot_put_text(out, n->name);
	if (s->room) {
		buf_printf(out, s->sides == 2
		    ? "\\n… xx.x %% → xx.x %% (xxxx pp)\""
		    : "\\n… %% (self … %%)      \"");
	} else {
		buf_printf(out, "\\n");
		dot_put_share(out, n->total, s);
		buf_printf(out, " (self ");
		dot_put_share(out, n->self, s);
		buf_printf(out, ")\"");
		dot_put_colour(out, n, s);
	}
	dot_put_size(out, n, s);
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
	double calls = s->room ? 0 : dot_most(e->calls, s);

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
	if (calls >= 0.05)
		buf_printf(out, ", penwidth=%.1f", 1 + 3 * calls);
	if (e->label != NULL) {
		buf_printf(out, ", label=");
		dot_put_quoted(out, e->label);
	}
	buf_printf(out, "];\n");
}

/* Nodes of one package lie together where it has several. */
static void
dot_put_packages(struct buf *out, const struct graph *g, bool *done,
    const struct graph_shares *s)
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
			dot_put_node(out, g, k, s);
		}
		buf_printf(out, "\t}\n");
	}
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
	bool *done = calloc(g->n_nodes + 1, sizeof(*done));

	if (done == NULL) {
		out->failed = true;
		return;
	}
	buf_printf(out, head, dot_is_wide(g) ? "LR" : "TB");
	if (g->n_edges > FREE_EDGES)
		buf_put(out, bounded, sizeof(bounded) - 1);
	dot_put_packages(out, g, done, s);
	for (size_t i = 0; i < g->n_nodes; i++)
		if (!done[i])
			dot_put_node(out, g, i, s);
	for (size_t i = 0; i < g->n_edges; i++)
		dot_put_edge(out, g, &g->edges[i], s);
	buf_printf(out, "}\n");
	free(done);
}

void
graph_put_dot(struct buf *out, const struct graph *g)
{
	graph_put_dot_cost(out, g, &(struct graph_shares){0});
}
