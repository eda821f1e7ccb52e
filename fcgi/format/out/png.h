/*
 * An SVG as a PNG, by librsvg and cairo.  Both parse and allocate as they
 * like: call this in a child with limits (fcgi/server/child.h).
 */
#ifndef FCGI_FORMAT_PNG_H
#define FCGI_FORMAT_PNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

#define PNG_PIXELS_MAX (100u * 1000 * 1000)

/* Appends the picture, `scale` pixels a pixel of the SVG (1 to 4).  False
 * when it cannot be drawn or has more than PNG_PIXELS_MAX pixels. */
bool png_put(struct buf *out, const uint8_t *svg, size_t n, int scale);

#endif
