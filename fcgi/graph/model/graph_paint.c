/*
 * Costs put into a picture that was laid out with room for them: Graphviz
 * numbers nodes and edges as graph_order.h has them, and writes each as
 *
 *	<g id="node7" class="node object">
 *	<title>...</title>
 *	<path fill="#eef3fb" stroke="#24508f" d="..."/>
 *	<text ...>name</text>
 *	<text ...>... room for a share</text>
 *	</g>
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/graph/model/graph.h"
#include "fcgi/graph/model/graph_order.h"
#include "fcgi/graph/model/graph_shares.h"

/* A text of n bytes. */
struct paint_text {
	const char *p;
	size_t n;
};

static void
paint_put(struct buf *out, const char *p, const char *end)
{
	buf_put(out, p, (size_t)(end - p));
}

static const char *
paint_find(struct paint_text in, const char *what)
{
	return memmem(in.p, in.n, what, strlen(what));
}

/* The last one that begins so. */
static const char *
paint_find_last(struct paint_text in, const char *what)
{
	const char *found = NULL, *at;

	while ((at = paint_find(in, what)) != NULL) {
		found = at;
		in.n -= (size_t)(at + 1 - in.p);
		in.p = at + 1;
	}
	return found;
}

/* The shape's colour, the border's width, and the last line of text. */
static void
paint_node(struct buf *out, struct paint_text in, const struct graph_node *n,
    const struct graph_shares *s)
{
	static const char fill[] = "fill=\"", path[] = "<path ";
	const char *end = in.p + in.n, *shape = paint_find(in, path),
	    *line = paint_find_last(in, "<text "), *colour, *from, *to;
	char text[SHARES_COLOUR_MAX];

	colour = shape == NULL ? NULL : paint_find((struct paint_text){shape,
	    (size_t)(end - shape)}, fill);
	from = line == NULL ? NULL : memchr(line, '>', (size_t)(end - line));
	to = from == NULL ? NULL : memchr(from, '<', (size_t)(end - from));
	if (colour == NULL || to == NULL || colour > line) {
		paint_put(out, in.p, end);
		return;
	}
	paint_put(out, in.p, shape + strlen(path));
	if (shares_width(n->self, s) > 1)
		buf_printf(out, "stroke-width=\"%d\" ",
		    shares_width(n->self, s));
	colour += strlen(fill);
	paint_put(out, shape + strlen(path), colour);
	if (shares_colour(n->total, s, text)) {
		buf_printf(out, "%s", text);
		colour += strcspn(colour, "\"");
	}
	paint_put(out, colour, from + 1);
	shares_put_text(out, n->total, n->self, s);
	paint_put(out, to, end);
}

static void
paint_edge(struct buf *out, struct paint_text in, const struct graph_edge *e,
    const struct graph_shares *s)
{
	static const char path[] = "<path ";
	const char *end = in.p + in.n, *shape = paint_find(in, path);
	double calls = shares_most(e->calls, s);

	if (shape == NULL || calls < SHARES_EDGE_LEAST) {
		paint_put(out, in.p, end);
		return;
	}
	shape += strlen(path);
	paint_put(out, in.p, shape);
	buf_printf(out, "stroke-width=\"%.1f\" ", 1 + 3 * calls);
	paint_put(out, shape, end);
}

/* Number i of `<g id="KIND7"`, from 0 on; SIZE_MAX where it is none of n. */
static size_t
paint_number(const char *id, const char *kind, size_t n)
{
	size_t len = strlen(kind);
	unsigned long i;
	char *end;

	if (strncmp(id, kind, len) != 0 || id[len] < '1' || id[len] > '9')
		return SIZE_MAX;
	i = strtoul(id + len, &end, 10);
	return *end == '"' && i <= n ? i - 1 : SIZE_MAX;
}

bool
graph_paint(struct buf *out, const struct buf *svg, const struct graph *g,
    const struct graph_shares *s)
{
	static const char begin[] = "<g id=\"", finish[] = "</g>";
	struct paint_text in = {(const char *)svg->data, svg->len};
	const char *end = in.p + in.n, *group, *close;
	struct graph_order o;
	bool fine = graph_order_init(&o, g);

	while (fine && (group = paint_find(in, begin)) != NULL) {
		const char *id = group + strlen(begin);
		size_t node = paint_number(id, "node", g->n_nodes),
		    edge = paint_number(id, "edge", g->n_edges);
		struct paint_text part;

		close = paint_find((struct paint_text){id,
		    (size_t)(end - id)}, finish);
		if (close == NULL)
			break;
		paint_put(out, in.p, group);
		part = (struct paint_text){group, (size_t)(close - group)};
		if (node == SIZE_MAX && edge == SIZE_MAX)
			part.n = strlen(begin); /* it holds others */
		if (node != SIZE_MAX)
			paint_node(out, part, &g->nodes[o.nodes[node]], s);
		else if (edge != SIZE_MAX)
			paint_edge(out, part, &g->edges[o.edges[edge]], s);
		else
			paint_put(out, part.p, part.p + part.n);
		in = (struct paint_text){part.p + part.n,
		    (size_t)(end - part.p) - part.n};
	}
	if (fine)
		paint_put(out, in.p, end);
	graph_order_fini(&o);
	return fine && !out->failed;
}
