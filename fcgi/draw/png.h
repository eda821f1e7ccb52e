/*
 * An SVG as a PNG, by librsvg and cairo.
 */
#ifndef FCGI_DRAW_PNG_H
#define FCGI_DRAW_PNG_H

struct buf;
struct err;

#define PNG_PIXELS_MAX (100u * 1000 * 1000)
#define PNG_SCALE_MAX 4

/* Appends the picture, `scale` pixels a pixel of the SVG (1 to
 * PNG_SCALE_MAX).  Errors: it cannot be read or drawn, or has more than
 * PNG_PIXELS_MAX pixels. */
const struct err *png_put(struct buf *out, const struct buf *svg, int scale);

#endif
