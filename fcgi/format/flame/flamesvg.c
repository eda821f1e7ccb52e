/*
 * SVG from frames.  Everything around the frames is fixed text; everything
 * that comes from outside goes through writer_put_xml().
 */
#include "fcgi/format/flame/flamesvg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/digits.h"
#include "fcgi/format/flame/diff.h"
#include "fcgi/format/flame/flamesvg_private.h"
#include "fcgi/format/writer.h"

static void
svg_put_text(struct buf *out, const char *s)
{
	writer_put_xml(out, s, strlen(s));
}

/* What people see and what listens to them, from the files of that name. */
static const char style[] =
#include "flamesvg.css.h"
    ;
static const char script[] =
#include "flamesvg.js.h"
    ;

/* A line more where two profiles are compared: how. */
static int
svg_head(const struct svg *s)
{
	return SVG_HEAD + (s->diff != NULL ? SVG_ROW : 0);
}

static int64_t
svg_height(const struct svg *s)
{
	return svg_head(s) + (int64_t)s->height * SVG_ROW + SVG_FOOT;
}

/* ---- words: what a reader hears of the whole ---- */

#define DESC_MAX 5

struct svg_top {
	uint32_t name;
	double value; /* of its own */
};

/* The largest few of value[], by size, largest first. */
static size_t
svg_pick(const double *value, size_t n, struct svg_top top[DESC_MAX])
{
	size_t kept = 0;

	for (size_t i = 1; i < n; i++) {
		size_t k = kept;

		if (value[i] == 0)
			continue;
		while (k > 0 && fabs(top[k - 1].value) < fabs(value[i]))
			k--;
		if (k == DESC_MAX)
			continue;
		if (kept < DESC_MAX)
			kept++;
		memmove(&top[k + 1], &top[k], (kept - k - 1) * sizeof(*top));
		top[k] = (struct svg_top){(uint32_t)i, value[i]};
	}
	return kept;
}

static void
svg_put_desc(struct svg *s)
{
	struct svg_top top[DESC_MAX];
	size_t n = svg_pick(s->own, s->f->n_names, top);

	buf_printf(s->out, "<desc>%s", s->diff != NULL
	    ? "Differential flame graph. " : "Flame graph. ");
	svg_put_text(s->out, s->o->subtitle);
	buf_printf(s->out, ". %s: ", s->diff != NULL ?
	    "Own samples that moved most, in points of the whole" :
	    "Most samples of their own");
	if (n == 0)
		buf_printf(s->out, "none");
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			buf_put(s->out, ", ", 2);
		buf_put(s->out, s->escaped.data + s->names[top[i].name].first,
		    s->names[top[i].name].len);
		buf_printf(s->out, s->diff != NULL ? " %+.2f" : " %.2f%%",
		    100 * top[i].value);
	}
	buf_printf(s->out, ". Each frame below names itself, its caller comes "
	    "before it.</desc>\n");
}

static void
svg_put_head(struct svg *s)
{
	static const struct {
		const char *id, *text;
		int dx;
	} buttons[] = {
	    {"reset", "Reset zoom", -222}, {"clear", "Clear", -142},
	    {"case", "Aa", -94}, {"search", "Search", -62},
	};
	long long w = s->o->width, h = svg_height(s);
	struct buf *out = s->out;

	buf_printf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" "
	    "width=\"%lld\" height=\"%lld\" role=\"graphics-document\" "
	    "aria-roledescription=\"flame graph\">\n<title>", w, h);
	svg_put_text(out, s->o->title);
	buf_printf(out, "</title>\n");
	if (s->f->total > 0)
		svg_put_desc(s);
	buf_printf(out, "<style>\n");
	buf_put(out, style, sizeof(style) - 1);
	buf_printf(out,
	    "</style>\n<rect id=\"paper\" width=\"100%%\" "
	    "height=\"100%%\" fill=\"#fcfcfa\"/>\n"
	    "<text id=\"title\" x=\"%d\" y=\"22\">",
	    SVG_SIDE);
	svg_put_text(out, s->o->title);
	buf_printf(out, "</text>\n<text id=\"subtitle\" x=\"%d\" y=\"40\">",
	    SVG_SIDE);
	svg_put_text(out, s->o->subtitle);
	if (s->pair != NULL) {
		buf_printf(out, "</text>\n<text id=\"how\" x=\"%d\" "
		    "y=\"56\">", SVG_SIDE);
		svg_put_text(out, s->pair->words);
	}
	buf_printf(out, "</text>\n<text id=\"matched\" x=\"%d\" y=\"%d\" "
	    "role=\"status\"></text>\n", SVG_SIDE, svg_head(s) - 6);
	for (size_t i = 0; i < sizeof(buttons) / sizeof(buttons[0]); i++)
		buf_printf(out, "<text id=\"%s\" class=\"button\" "
		    "role=\"button\" x=\"100%%\" dx=\"%d\" y=\"%d\">%s"
		    "</text>\n", buttons[i].id, buttons[i].dx,
		    svg_head(s) - 6, buttons[i].text);
}

/* ---- foot ---- */

struct svg_legend {
	const char *colour, *text;
};

static void
svg_put_legend(struct buf *out, const struct svg_legend *l, size_t n,
    long long y)
{
	int x = SVG_SIDE;

	buf_printf(out, "<g id=\"legend\">");
	for (size_t i = 0; i < n; i++) {
		buf_printf(out, "<rect x=\"%d\" y=\"%lld\" width=\"10\" "
		    "height=\"10\" fill=\"%s\"/><text x=\"%d\" y=\"%lld\">"
		    "%s</text>", x, y - 9, l[i].colour, x + 14, y, l[i].text);
		x += 22 + (int)(6.62 * (double)strlen(l[i].text));
	}
	buf_printf(out, "</g>\n");
}

static void
svg_put_kinds(struct svg *s, long long y)
{
	static const struct svg_legend kinds[] = {
	    {"#ffbf8a", "program"}, {"#dfd58a", "inlined"},
	    {"#95e4cd", "library"}, {"#9fd8ff", "kernel"}, {"#ffb6e5", "JIT"},
	};

	svg_put_legend(s->out, kinds, sizeof(kinds) / sizeof(kinds[0]), y);
}

static void
svg_put_scale(struct svg *s, long long y)
{
	static const struct {
		double change;
		const char *text;
	} steps[] = {
	    {-1, "- only in A"}, {-0.5, "- half"}, {0, "= same"},
	    {0.5, "+ double"}, {1, "+ only in B"},
	};
	struct svg_legend l[5];
	char colours[5][8];

	for (size_t i = 0; i < 5; i++) {
		flamesvg_colour_change(steps[i].change, false, colours[i]);
		l[i] = (struct svg_legend){colours[i], steps[i].text};
	}
	svg_put_legend(s->out, l, 5, y);
}

static void
svg_put_foot(struct svg *s)
{
	long long y = svg_height(s) - 30;
	struct buf *out = s->out;
	char text[40];

	buf_printf(out, "<text id=\"details\" x=\"%d\" y=\"%lld\" "
	    "role=\"status\">", SVG_SIDE, y);
	if (s->f->total <= 0) {
		svg_put_text(out, s->o->empty);
	} else if (s->n_narrow > 0) {
		*digits_put_grouped(text, (int128)s->n_narrow) = '\0';
		buf_printf(out, "%s frames are too narrow to see, and grey: "
		    "zoom into what called them", text);
	} else if (s->n_cut > 0) {
		*digits_put_grouped(text, (int128)s->n_cut) = '\0';
		buf_printf(out, "%s narrow frames are gathered as (other)",
		    text);
	}
	buf_printf(out, "</text>\n");
	if (s->f->total > 0 && s->diff != NULL)
		svg_put_scale(s, y + 18);
	else if (s->f->total > 0)
		svg_put_kinds(s, y + 18);
	buf_printf(out, "<script><![CDATA[\n");
	buf_put(out, script, sizeof(script) - 1);
	buf_printf(out, "]]></script>\n</svg>\n");
}

/* ---- the picture ---- */

double
flamesvg_min_share(const struct flamesvg_options *o)
{
	double share = o->min_width / (double)(o->width - 2 * SVG_SIDE);

	return share > o->min_share ? share : o->min_share;
}

static bool
svg_names(struct svg *s)
{
	s->names = calloc(s->f->n_names, sizeof(*s->names));
	if (s->names == NULL)
		return false;
	for (size_t i = 0; i < s->f->n_names; i++) {
		s->names[i].first = (uint32_t)s->escaped.len;
		svg_put_text(&s->escaped, s->f->names[i].text);
		s->names[i].len = (uint32_t)s->escaped.len -
		    s->names[i].first;
	}
	return !s->escaped.failed && s->escaped.len < UINT32_MAX;
}

/* Of a picture that is slow to load, frames too narrow to see wait for a
 * zoom: a browser makes nothing of what is not displayed. */
#define SVG_LARGE 20000  /* frames */
#define SVG_NARROW 0.25  /* pixels */

static bool
svg_wait(struct svg *s)
{
	if (s->f->n_frames <= SVG_LARGE)
		return true;
	s->narrow = SVG_NARROW / s->pixels * (double)s->f->total;
	s->runs = calloc((size_t)s->f->n_levels + 1, sizeof(*s->runs));
	return s->runs != NULL;
}

static void
svg_put_rests(struct svg *s)
{
	svg_run_end(s);
	buf_printf(s->out, "<svg id=\"rests\" x=\"%d\" y=\"%d\" "
	    "width=\"%lld\" height=\"%lld\" aria-hidden=\"true\">\n",
	    SVG_SIDE, svg_head(s), (long long)s->o->width - 2 * SVG_SIDE,
	    (long long)s->height * SVG_ROW);
	buf_put(s->out, s->rests.data, s->rests.len);
	buf_printf(s->out, "</svg>\n");
	s->out->failed = s->out->failed || s->rests.failed;
}

#define SVG_FRAME_MEAN 200 /* bytes of text, about */

/* The height and what names have of their own stand before the frames in the
 * file: the frames are walked twice, rather than kept as text meanwhile. */
static bool
svg_put(struct svg *s)
{
	const struct flamesvg_options *o = s->o;
	bool good, sampled = s->diff != NULL ? s->diff->sampled
	    : s->f->samples != NULL || s->f->period > 0;

	s->pixels = (double)(o->width - 2 * SVG_SIDE);
	s->least = flamesvg_min_share(o) * (double)s->f->total;
	s->per_tick = s->f->total > 0 ? 1e6 / (double)s->f->total : 0;
	s->amount = amount_of(o->units, o->called, sampled);
	good = svg_names(s) && svg_survey(s) && svg_wait(s) &&
	    (o->flush != NULL || buf_reserve(s->out,
	        s->f->n_frames * SVG_FRAME_MEAN));
	if (good) {
		svg_put_head(s);
		buf_printf(s->out,
		    "<svg id=\"frames\" x=\"%d\" y=\"%d\" "
		    "width=\"%lld\" height=\"%lld\"%s>\n",
		    SVG_SIDE, svg_head(s), (long long)o->width - 2 * SVG_SIDE,
		    (long long)s->height * SVG_ROW,
		    o->upwards ? " data-up=\"1\"" : "");
		if (s->f->total > 0)
			good = svg_put_frames(s);
		buf_printf(s->out, "</svg>\n");
		if (s->n_narrow > 0)
			svg_put_rests(s);
		svg_put_foot(s);
	}
	free(s->names);
	free(s->own);
	free(s->runs);
	buf_fini(&s->rests);
	buf_fini(&s->escaped);
	return good && !s->out->failed;
}

bool
flamesvg_put(struct buf *out, const struct flame *f,
    const struct flamesvg_options *o)
{
	struct svg s = {.out = out, .f = f, .o = o};

	return svg_put(&s);
}

bool
flamesvg_put_diff(struct buf *out, const struct diff *d,
    const struct flame *f, const struct flamesvg_pair *pair,
    const struct flamesvg_options *o)
{
	struct svg s = {.out = out, .f = f, .o = o, .diff = d, .pair = pair};
	bool good;

	s.sides = flame_spread(f, d->sides, DIFF_NUMBERS);
	good = s.sides != NULL && svg_put(&s);
	free(s.sides);
	return good;
}
