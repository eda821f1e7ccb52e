/*
 * Between the files of the picture: one frame as it is drawn.  A picture may
 * have millions of frames, so the text of one is written through a pointer
 * into memory that was reserved before.
 */
#ifndef FCGI_FORMAT_FLAMESVG_PRIVATE_H
#define FCGI_FORMAT_FLAMESVG_PRIVATE_H

#include <string.h>

#include "fcgi/format/amount.h"
#include "fcgi/format/flame/flamesvg.h"

#define SVG_SIDE 10 /* pixels beside the frames */
#define SVG_HEAD 62 /* above them */
#define SVG_FOOT 48 /* below them */
#define SVG_ROW 16  /* of one level */

/* A frame at its place, or what was gathered at one. */
struct svg_frame {
	uint32_t name;   /* in flame->names; of no meaning where n_cut > 0 */
	uint32_t level;
	uint64_t n_cut;  /* frames gathered here; 0: a frame of its own */
	int128 x, total;
	int128 samples; /* of several periods; else they follow from total */
	int128 unknown; /* units without, as profile_samples */
	const struct diff_sides *sides; /* of a differential picture */
};

/* Neighbours of a level that wait, as one grey bar. */
struct svg_run {
	int128 x, end;
};

struct svg_name {
	uint32_t first, len; /* in escaped */
	char colour[8];
};

struct svg {
	struct buf *out;
	const struct flame *f;
	const struct flamesvg_options *o;
	const struct diff *diff; /* NULL: one profile */
	const struct flamesvg_pair *pair;
	struct diff_sides *sides; /* of a difference: by frame */
	struct svg_name *names; /* by flame->names */
	struct buf escaped;
	double per_tick; /* 10^-4 percent of the width a tick */
	double pixels;   /* of the width of all frames */
	double least;    /* ticks below which frames are gathered */
	uint64_t n_cut;  /* frames that were */
	double narrow;   /* ticks below which frames wait for a zoom */
	uint64_t n_narrow;
	struct svg_run *runs; /* of such frames, by level */
	struct buf rests;     /* those that are over, as they are drawn */
	uint32_t height; /* in levels, as drawn */
	double *own;     /* by flame->names: own samples, as a share */
	struct amount amount; /* how the number that is shown is told */
};

/* The longest text of numbers and markup around a frame's name. */
#define SVG_FRAME_MAX 1024

/* Fills height and own; false when out of memory. */
bool svg_survey(struct svg *s);

/* Appends all frames; false when out of memory, or when flush said so. */
bool svg_put_frames(struct svg *s);

/* Adds a frame to its level's run; ends the runs of all levels. */
void svg_run_add(struct svg *s, const struct svg_frame *a);
void svg_run_end(struct svg *s);

/* Appends a frame; false ends the drawing. */
bool svg_put_frame(struct svg *s, const struct svg_frame *a);

/* The part of the title in brackets, without them, at p. */
char *svg_put_value(char *p, const struct svg *s, const struct svg_frame *a);
char *svg_put_change(char *p, const struct svg *s, const struct svg_frame *a);
/* What shares of a side are of. */
int128 svg_whole(const struct svg *s, int side);
/* -1 to 1: (B - A) / the greater, by the weights; and is that of few? */
double svg_change(const struct svg *s, const struct svg_frame *a, bool *few);

/* The same as a cast, which is a call for all 128 bits. */
static inline double
svg_double(int128 v)
{
	return v >> 63 == 0 ? (double)(int64_t)v : (double)v;
}

static inline char *
svg_str(char *p, const char *text)
{
	size_t n = strlen(text);

	memcpy(p, text, n);
	return p + n;
}

#endif
