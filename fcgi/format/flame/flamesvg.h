/*
 * A flame graph as one self-contained SVG: readable without a script, and
 * with its own one zoomable and searchable, by mouse and by keyboard.  Valid
 * XML whatever bytes the names have.
 *
 * Frames are placed in percent of the picture's width, so that it can be
 * shown at any; the same function has the same colour in every graph, the
 * hue says the kind of code.  Frames narrower than a minimum are gathered
 * at their callers' right end as "(other, n frames)": widths of a frame's
 * children and of its own samples always add up to its width.
 *
 * The differential picture is as wide as A and B together (or as B), and
 * coloured by what moved: orange with a plus where B has more, blue with a
 * minus where it has less.
 */
#ifndef FCGI_FORMAT_FLAMESVG_H
#define FCGI_FORMAT_FLAMESVG_H

#include <stdbool.h>
#include <stdint.h>

#include "fcgi/format/flame/flame.h"

struct diff;

struct flamesvg_options {
	const char *title, *subtitle;
	const char *units;   /* of amounts: "bytes" as kB, MB; "nanoseconds" as
	                      * seconds, beside the samples where those are
	                      * known */
	const char *called;  /* what people call the number that is shown;
	                      * NULL: samples, or the units */
	const char *empty;   /* what to say where there is nothing to draw */
	int64_t width;       /* of the picture in pixels */
	double min_width;    /* frames with fewer pixels are gathered */
	double min_share;    /* and those with less of the whole, 0 to 1 */
	bool upwards;        /* the root at the bottom, as flames burn */
	/* takes what is ready when that is much, and clears it; NULL: all of
	 * the picture stays in the buffer.  False ends the drawing. */
	bool (*flush)(void *arg, struct buf *out);
	void *flush_arg;
};

/* What flame_options.min_share may cut without a change of the picture. */
double flamesvg_min_share(const struct flamesvg_options *o);

/* Appends the picture; false when out of memory, or when flush said so. */
bool flamesvg_put(struct buf *out, const struct flame *f,
    const struct flamesvg_options *o);

/* How A and B are brought to one size: B * weight[DIFF_B] is compared with
 * A * weight[DIFF_A]; 0 where a side has nothing. */
struct flamesvg_pair {
	double weight[2];
	int128 whole[2];   /* that shares are of; 0: the tree's own */
	const char *words; /* how the weights came about, for people */
	bool by_b;         /* widths are B's; what is only in A vanishes */
};

/*
 * Appends the differential picture of a tree.  `f` says which frames: it is
 * made by flamesvg_diff_flame().  False when out of memory.
 */
bool flamesvg_put_diff(struct buf *out, const struct diff *d,
    const struct flame *f, const struct flamesvg_pair *pair,
    const struct flamesvg_options *o);

/* The widths of a differential picture as a flame; `options` without shapes.
 * Borrows the strings of d.  Errors: those of flame_new(). */
const struct err *flamesvg_diff_flame(struct flame **out,
    const struct diff *d, const struct flamesvg_pair *pair,
    const struct flame_options *options);

/* "#rrggbb" of a name, NUL-terminated. */
void flamesvg_colour(const char *name, enum flame_kind kind, char text[8]);
/* Of a frame that is inlined: a hue of its own. */
void flamesvg_colour_inlined(const char *name, char text[8]);
/* Of a relative change, -1 (gone) to 1 (new); faint where few samples tell. */
void flamesvg_colour_change(double change, bool faint, char text[8]);

#endif
