/*
 * Two call trees as flamebearer JSON of format "double": every frame with
 * its place and values on both sides, in sevens.
 *
 *	[x A, total A, self A, x B, total B, self B, name]
 *
 * Places are distances from the frame to the left, on each side.  As in a
 * single one a frame's own samples are its left part, and what was cut of a
 * frame's children is its last child: nothing is lost.
 */
#ifndef FCGI_FORMAT_DOUBLEBEARER_H
#define FCGI_FORMAT_DOUBLEBEARER_H

#include <stdbool.h>
#include <stdint.h>

#include "fcgi/format/writer.h"

struct diff;
struct err;

struct doublebearer_options {
	int64_t max_nodes; /* beside those for what was cut; -1: all */
	const char *other; /* their name */
	bool kinds;        /* a member "kinds" too, as of flamebearer.h */
	bool samples;      /* and, where they are known, "sample_levels": in
	                    * the order of levels [total samples A, self A,
	                    * total B, self B, ...]; where some are not,
	                    * "unknown_levels" with the units without */
};

/*
 * Writes the member "flamebearer" of an open object.  Kept are the frames
 * with the largest share of their side.  Errors: ENOMEM, before anything is
 * written.
 */
const struct err *doublebearer_put(struct writer *w, const struct diff *d,
    const struct doublebearer_options *o);

#endif
