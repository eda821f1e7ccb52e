/*
 * Pictures of graphs by libgvc, which keeps global state and leaks: once in
 * a process.
 */
#ifndef FCGI_DRAW_LAYOUT_H
#define FCGI_DRAW_LAYOUT_H

struct buf;
struct err;

/* Appends the SVG of a DOT text (NUL-terminated). */
const struct err *layout_put(struct buf *out, const char *dot);

#endif
