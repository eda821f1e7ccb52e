/*
 * Ranks by dot, and their SVG.
 */
#include "fcgi/draw/layout.h"

#include <graphviz/gvc.h>

#include "store/base/buf.h"
#include "store/base/err.h"

const struct err *
layout_put(struct buf *out, const char *dot)
{
	GVC_t *gvc = gvContext();
	Agraph_t *g = agmemread(dot);
	char *svg = NULL;
	unsigned n = 0;

	if (g == NULL)
		return err_new(ERR_FORMAT, 0, "libcgraph: that is no graph");
	if (gvc == NULL || gvLayout(gvc, g, "dot") != 0 ||
	    gvRenderData(gvc, g, "svg", &svg, &n) != 0 || svg == NULL)
		return err_new(ERR_FORMAT, 0, "libgvc: %s",
		    aglasterr() != NULL ? aglasterr() : "no reason given");
	buf_put(out, svg, n);
	return NULL;
}
