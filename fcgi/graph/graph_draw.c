/*
 * Layout and rendering in a child.
 */
#include "fcgi/graph/graph_draw.h"

#include <graphviz/gvc.h>
#include <stdlib.h>

#include "fcgi/server/child.h"
#include "store/base/clock.h"

static const struct child_limits limits = {15 * NS_PER_S, 512u << 20,
    16u << 20};

static bool
graph_draw_run(void *arg, struct buf *out)
{
	GVC_t *gvc = gvContext();
	Agraph_t *g = agmemread(arg);
	char *svg = NULL;
	unsigned n = 0;

	if (gvc == NULL || g == NULL || gvLayout(gvc, g, "dot") != 0 ||
	    gvRenderData(gvc, g, "svg", &svg, &n) != 0 || svg == NULL)
		return false;
	buf_put(out, svg, n);
	return true;
}

const struct err *
graph_draw_svg(const char *dot, struct buf *out)
{
	union {
		const char *in;
		void *out;
	} arg = {.in = dot};

	return child_run("drawing the graph", &limits, graph_draw_run, arg.out,
	    out);
}
