/*
 * A flame graph as one self-contained SVG: readable without a script, and
 * with its own one zoomable and searchable.  Valid XML whatever bytes the
 * names have.
 *
 * Frames are placed in percent of the picture's width, so that it can be
 * shown at any; the same function has the same colour in every graph, the
 * hue says the kind of code.
 */
#ifndef FCGI_FORMAT_FLAMESVG_H
#define FCGI_FORMAT_FLAMESVG_H

#include <stdbool.h>
#include <stdint.h>

#include "flame.h"

struct flamesvg_options {
	const char *title, *subtitle;
	const char *units;   /* what a tick is: "samples" */
	int64_t period_ns;   /* of a tick of time; 0: ticks are no time */
	const char *empty;   /* what to say where there is nothing to draw */
	int64_t width;       /* of the picture in pixels */
	double min_width;    /* frames with fewer pixels are left out */
	bool upwards;        /* the root at the bottom, as flames burn */
};

/* Appends the picture; false when out of memory. */
bool flamesvg_put(struct buf *out, const struct flame *f,
    const struct flamesvg_options *o);

/* "#rrggbb" of a name, NUL-terminated. */
void flamesvg_colour(const char *name, enum flame_kind kind, char text[8]);

#endif
