/*
 * Pictures of graphs by libgvc, which keeps global state and leaks: it runs
 * in a child and never in the worker.
 */
#ifndef FCGI_GRAPH_DRAW_H
#define FCGI_GRAPH_DRAW_H

#include "store/base/buf.h"

struct err;

/* Appends the SVG of a DOT text (NUL-terminated, trusted: our own).
 * Errors: 503 when the layout passes a limit. */
const struct err *graph_draw_svg(const char *dot, struct buf *out);

#endif
