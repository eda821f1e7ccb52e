/*
 * SVG from frames.  Everything between the two loops over frames is fixed
 * text; everything that comes from outside goes through writer_put_xml().
 */
#include "flamesvg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flamesvg_script.h"
#include "writer.h"

#define SIDE 10    /* pixels beside the frames */
#define HEAD 54    /* above them */
#define FOOT 30    /* below them */
#define ROW 16     /* of one level */
#define CHAR 6.62  /* width of a character of the font */
#define LABEL_MIN 3

/* Hue from-to in degrees and chroma in OKLCH, as the pages' legend has. */
static const struct {
	double hue0, hue1, chroma;
} kinds[] = {
    [FLAME_USER] = {52, 88, 0.125},
    [FLAME_LIBRARY] = {150, 190, 0.085},
    [FLAME_KERNEL] = {242, 275, 0.095},
    [FLAME_JIT] = {310, 345, 0.105},
    [FLAME_UNKNOWN] = {80, 80, 0.008},
};

#define LIGHT0 0.80
#define LIGHT1 0.88

static uint32_t
flamesvg_hash(const char *s)
{
	uint32_t h = 0x811c9dc5;

	for (; *s != '\0'; s++)
		h = (h ^ (unsigned char)*s) * 0x01000193;
	h = (h ^ h >> 15) * 0x2c1b3c6d;
	return h ^ h >> 13;
}

static int
flamesvg_gamma(double u)
{
	u = u <= 0.0031308 ? 12.92 * u : 1.055 * pow(u, 1 / 2.4) - 0.055;
	return (int)lround(255 * (u < 0 ? 0 : u > 1 ? 1 : u));
}

/* OKLCH to sRGB, with the matrices that Ottosson published. */
static void
flamesvg_oklch(double light, double chroma, double degrees, char text[8])
{
	double a = chroma * cos(degrees * M_PI / 180);
	double b = chroma * sin(degrees * M_PI / 180);
	double p = pow(light + 0.3963377774 * a + 0.2158037573 * b, 3);
	double q = pow(light - 0.1055613458 * a - 0.0638541728 * b, 3);
	double r = pow(light - 0.0894841775 * a - 1.2914855480 * b, 3);

	snprintf(text, 8, "#%02x%02x%02x",
	    (unsigned)flamesvg_gamma(
		4.0767416621 * p - 3.3077115913 * q + 0.2309699292 * r) & 255,
	    (unsigned)flamesvg_gamma(
		-1.2684380046 * p + 2.6097574011 * q - 0.3413193965 * r) & 255,
	    (unsigned)flamesvg_gamma(
		-0.0041960863 * p - 0.7034186147 * q + 1.7076147010 * r) & 255);
}

void
flamesvg_colour(const char *name, enum flame_kind kind, char text[8])
{
	uint32_t h = flamesvg_hash(name);
	double u = (h & 0xffff) / 65535.0, v = (h >> 16) / 65535.0;

	flamesvg_oklch(LIGHT0 + (LIGHT1 - LIGHT0) * v, kinds[kind].chroma,
	    kinds[kind].hue0 + (kinds[kind].hue1 - kinds[kind].hue0) * u,
	    text);
}

/* part of whole in units of 10^-digits, rounded to nearest, with a point. */
static void
flamesvg_put_share(struct buf *out, int128 part, int128 whole, unsigned digits)
{
	int128 factor = scale_factor((uint8_t)(digits + 2));

	writer_put_decimal(out, (part * factor + whole / 2) / whole, digits);
}

/* Fixed two digits: "12.30%". */
static void
flamesvg_put_percent(struct buf *out, int128 part, int128 whole)
{
	int n = (int)((part * 10000 + whole / 2) / whole);
	char tail[5] = {'.', (char)('0' + n / 10 % 10), (char)('0' + n % 10),
	    '%'};

	writer_put_int(out, n / 100);
	buf_put(out, tail, 4);
}

static void
flamesvg_put_text(struct buf *out, const char *s)
{
	writer_put_xml(out, s, strlen(s));
}

static const char style[] =
    "<style><![CDATA[\n"
    "text { font: 11px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', "
    "monospace; fill: #1a1c22; }\n"
    "#title { font-size: 15px; font-weight: 600; }\n"
    "#subtitle, #note { fill: #5a5e68; }\n"
    ".button { cursor: pointer; fill: #24508f; visibility: hidden; }\n"
    "#frames g { cursor: pointer; outline: none; }\n"
    "#frames rect { stroke: #fff; stroke-width: .5px; }\n"
    "#frames text { pointer-events: none; }\n"
    "#frames g:hover rect, #frames g:focus rect { stroke: #1a1c22; "
    "stroke-width: 1px; }\n"
    "#frames .above { opacity: .45; }\n"
    "#frames.searched g rect { opacity: .35; }\n"
    "#frames.searched g.hit rect { opacity: 1; fill: #e600e6; }\n"
    "]]></style>\n";

static int64_t
flamesvg_height(const struct flame *f)
{
	return HEAD + (int64_t)f->n_levels * ROW + FOOT;
}

static void
flamesvg_put_head(struct buf *out, const struct flame *f,
    const struct flamesvg_options *o)
{
	long long w = o->width, h = flamesvg_height(f);

	buf_printf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" "
	    "width=\"%lld\" height=\"%lld\" role=\"img\">\n<title>", w, h);
	flamesvg_put_text(out, o->title);
	buf_printf(out, "</title>\n");
	buf_put(out, style, sizeof(style) - 1);
	buf_printf(out, "<rect width=\"100%%\" height=\"100%%\" "
	    "fill=\"#fcfcfa\"/>\n<text id=\"title\" x=\"%d\" y=\"20\">", SIDE);
	flamesvg_put_text(out, o->title);
	buf_printf(out, "</text>\n<text id=\"subtitle\" x=\"%d\" y=\"36\">",
	    SIDE);
	flamesvg_put_text(out, o->subtitle);
	buf_printf(out, "</text>\n"
	    "<text id=\"reset\" class=\"button\" x=\"100%%\" dx=\"-190\" "
	    "y=\"48\">Reset zoom</text>\n"
	    "<text id=\"clear\" class=\"button\" x=\"100%%\" dx=\"-110\" "
	    "y=\"48\">Clear</text>\n"
	    "<text id=\"search\" class=\"button\" x=\"100%%\" dx=\"-60\" "
	    "y=\"48\">Search</text>\n");
}

/* "name (1,234 samples, 12.34%, 12.46 s)" */
static void
flamesvg_put_tip(struct buf *out, const struct flame *f,
    const struct flame_frame *a, const struct flamesvg_options *o)
{
	flamesvg_put_text(out, f->names[a->name].text);
	buf_put(out, " (", 2);
	writer_put_grouped(out, a->total);
	buf_put_u8(out, ' ');
	flamesvg_put_text(out, o->units);
	buf_put(out, ", ", 2);
	flamesvg_put_percent(out, a->total, f->total);
	if (o->period_ns > 0) {
		buf_put(out, ", ", 2);
		writer_put_decimal(out,
		    (a->total * o->period_ns + 500000) / 1000000, 3);
		buf_put(out, " s", 2);
	}
	buf_put_u8(out, ')');
}

/* As much of a name as fits, whole characters, ".." for the rest. */
static void
flamesvg_put_label(struct buf *out, const char *name, double pixels)
{
	long room = (long)((pixels - 6) / CHAR), used = 0;
	size_t n = strlen(name), at = 0, cut = 0, len;

	while (at < n && used <= room) {
		if (used == room - 2)
			cut = at;
		len = writer_utf8(name + at, n - at);
		at += len ? len : 1;
		used++;
	}
	if (used <= room) {
		writer_put_xml(out, name, n);
	} else {
		writer_put_xml(out, name, cut);
		buf_printf(out, "..");
	}
}

static void
flamesvg_put_str(struct buf *out, const char *s)
{
	buf_put(out, s, strlen(s));
}

static void
flamesvg_put_rect(struct buf *out, const struct flame *f,
    const struct flame_frame *a, int64_t y, const char *colour)
{
	flamesvg_put_str(out, "<rect x=\"");
	flamesvg_put_share(out, a->x, f->total, 4);
	flamesvg_put_str(out, "%\" y=\"");
	writer_put_int(out, y);
	flamesvg_put_str(out, "\" width=\"");
	flamesvg_put_share(out, a->total, f->total, 4);
	flamesvg_put_str(out, "%\" height=\"");
	writer_put_int(out, ROW - 1);
	flamesvg_put_str(out, "\" fill=\"");
	flamesvg_put_str(out, colour);
	flamesvg_put_str(out, "\"/>");
}

/* No printf here: a picture has tens of thousands of frames. */
static void
flamesvg_put_frame(struct buf *out, const struct flame *f,
    const struct flame_frame *a, const struct flamesvg_options *o,
    const char *colour)
{
	double pixels = (double)a->total / (double)f->total *
	    (double)(o->width - 2 * SIDE);
	int64_t row = o->upwards ? f->n_levels - 1 - a->level : a->level;

	flamesvg_put_str(out, "<g data-x=\"");
	writer_put_int(out, a->x);
	flamesvg_put_str(out, "\" data-w=\"");
	writer_put_int(out, a->total);
	flamesvg_put_str(out, "\" data-l=\"");
	writer_put_int(out, a->level);
	flamesvg_put_str(out, "\"><title>");
	flamesvg_put_tip(out, f, a, o);
	flamesvg_put_str(out, "</title>");
	flamesvg_put_rect(out, f, a, row * ROW, colour);
	if (pixels - 6 >= LABEL_MIN * CHAR) {
		flamesvg_put_str(out, "<text x=\"");
		flamesvg_put_share(out, a->x, f->total, 4);
		flamesvg_put_str(out, "%\" dx=\"3\" y=\"");
		writer_put_int(out, row * ROW + 12);
		flamesvg_put_str(out, "\">");
		flamesvg_put_label(out, f->names[a->name].text, pixels);
		flamesvg_put_str(out, "</text>");
	}
	flamesvg_put_str(out, "</g>\n");
}

/* Frames below the width are left out, and so is all under them, which is
 * narrower still.  Returns how many. */
static size_t
flamesvg_put_frames(struct buf *out, const struct flame *f,
    const struct flamesvg_options *o, char (*colours)[8])
{
	double least = o->min_width / (double)(o->width - 2 * SIDE) *
	    (double)f->total;
	size_t left_out = 0;

	for (size_t i = 0; i < f->n_frames; i++) {
		const struct flame_frame *a = &f->frames[i];
		char *colour = colours[a->name];

		if ((double)a->total < least || a->total == 0) {
			left_out++;
			continue;
		}
		if (colour[0] == '\0')
			flamesvg_colour(f->names[a->name].text,
			    f->names[a->name].kind, colour);
		flamesvg_put_frame(out, f, a, o, colour);
	}
	return left_out;
}

static void
flamesvg_put_foot(struct buf *out, const struct flame *f,
    const struct flamesvg_options *o, size_t left_out)
{
	long long y = flamesvg_height(f) - 10;

	buf_printf(out, "<text id=\"details\" x=\"%d\" y=\"%lld\">", SIDE, y);
	if (f->total <= 0)
		flamesvg_put_text(out, o->empty);
	else if (left_out > 0)
		buf_printf(out, "%zu frames narrower than %g px are not drawn",
		    left_out, o->min_width);
	buf_printf(out, "</text>\n<text id=\"matched\" x=\"100%%\" "
	    "dx=\"-140\" y=\"%lld\"></text>\n<script><![CDATA[\n%s]]>"
	    "</script>\n</svg>\n", y, flamesvg_script);
}

bool
flamesvg_put(struct buf *out, const struct flame *f,
    const struct flamesvg_options *o)
{
	char (*colours)[8] = calloc(f->n_names, sizeof(*colours));
	size_t left_out = 0;

	if (colours == NULL)
		return false;
	flamesvg_put_head(out, f, o);
	buf_printf(out, "<svg id=\"frames\" x=\"%d\" y=\"%d\" width=\"%lld\" "
	    "height=\"%lld\">\n", SIDE, HEAD, (long long)o->width - 2 * SIDE,
	    (long long)f->n_levels * ROW);
	if (f->total > 0)
		left_out = flamesvg_put_frames(out, f, o, colours);
	buf_printf(out, "</svg>\n");
	flamesvg_put_foot(out, f, o, left_out);
	free(colours);
	return !out->failed;
}
