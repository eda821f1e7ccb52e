/*
 * Pictures by memlens-draw, a program of its own: the libraries that draw are
 * not in the worker, and what they do with strangers' names is done behind
 * walls.  A process a picture, bounded in time and memory.
 */
#ifndef FCGI_SERVER_DRAW_H
#define FCGI_SERVER_DRAW_H

struct buf;
struct err;

/*
 * Both append the picture; `program` is the path of memlens-draw.  Errors:
 * ERR_REQUEST 503 when it is missing, fails or passes a limit, with its
 * reason.
 */

/* The PNG of an SVG, `scale` pixels a pixel (1 to 4). */
const struct err *draw_png(const char *program, const struct buf *svg,
    int scale, struct buf *out);

/* The SVG of a DOT text. */
const struct err *draw_graph(const char *program, const struct buf *dot,
    struct buf *out);

#endif
