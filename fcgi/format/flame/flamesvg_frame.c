/*
 * One frame: a group with a title that says all, a rectangle, and as much of
 * the name as fits.  The script reads data-w (ticks) and nothing else; where
 * a frame begins follows from the order.
 */
#include <math.h>

#include "fcgi/format/digits.h"
#include "fcgi/format/flame/flamesvg_private.h"
#include "fcgi/format/writer.h"
#include "store/base/text.h"
#include "store/model/series.h"

#define CHAR 6.62  /* width of a character of the font */
#define LABEL_MIN 3

#define PUT(p, literal) (memcpy(p, literal, sizeof(literal) - 1),              \
	(p) + sizeof(literal) - 1)

static int128
frame_samples(const struct svg *s, const struct svg_frame *a)
{
	return s->f->samples != NULL ? a->samples
				     : samples_of(a->total, s->f->period);
}

/* "1,234 samples, 12.34%, 12.46 s", or "at least 1,234 samples, ..." */
char *
svg_put_value(char *p, const struct svg *s, const struct svg_frame *a)
{
	const struct amount *how = &s->amount;

	if (how->bytes) {
		p = amount_put_bytes(p, a->total);
	} else {
		if (how->counted && a->unknown != 0)
			p = PUT(p, "at least ");
		p = digits_put_grouped(p, how->counted ? frame_samples(s, a)
						       : a->total);
		*p++ = ' ';
		p = amount_put_word(p, how);
	}
	p = PUT(p, ", ");
	p = digits_put_percent(p, a->total, s->f->total);
	if (how->time) {
		p = PUT(p, ", ");
		p = amount_put_seconds(p, a->total);
	}
	return p;
}

/* Columns of one character: those of the far east are two wide. */
static long
frame_columns(const char *name, size_t len)
{
	const unsigned char *c = (const unsigned char *)name;

	return len < 3 || (len == 3 && (c[0] < 0xe2 ||
	    (c[0] == 0xe2 && c[1] < 0xba))) ? 1 : 2;
}

/* As much of a name as fits, whole characters, ".." for the rest. */
static void
frame_put_label(struct buf *out, const char *name, long room)
{
	size_t n = strlen(name), at = 0, cut = 0;
	long used = 0;

	while (at < n && used <= room) {
		size_t len = text_utf8(name + at, n - at);

		len = len ? len : 1;
		used += frame_columns(name + at, len);
		at += len;
		if (used <= room - 2)
			cut = at;
	}
	if (used <= room) {
		writer_put_xml(out, name, n);
	} else {
		writer_put_xml(out, name, cut);
		buf_put(out, "..", 2);
	}
}

static char *
frame_put_other(char *p, uint64_t n)
{
	p = PUT(p, "(other, ");
	p = digits_put_grouped(p, (int128)n);
	return n == 1 ? PUT(p, " frame)") : PUT(p, " frames)");
}

/* 10^-4 percent. */
static uint64_t
frame_place(const struct svg *s, int128 ticks)
{
	return (uint64_t)(svg_double(ticks) * s->per_tick + 0.5);
}

static char *
frame_put_rect(char *p, const struct svg *s, const struct svg_frame *a,
    uint64_t y, const char *colour)
{
	p = PUT(p, "<rect x=\"");
	p = digits_put_decimal(p, frame_place(s, a->x), 4);
	p = PUT(p, "%\" y=\"");
	p = digits_put(p, y);
	p = PUT(p, "\" width=\"");
	p = digits_put_decimal(p, frame_place(s, a->total), 4);
	p = PUT(p, "%\" height=\"15\" fill=\"");
	memcpy(p, colour, 7);
	p = PUT(p + 7, "\"/>");
	return p;
}

static const char *
frame_sign(double change)
{
	return change > 0.005 ? "+" : change < -0.005 ? "\xe2\x88\x92" : "=";
}

static void
frame_put_text(struct svg *s, const struct svg_frame *a, uint64_t y,
    const char *sign, const char *name)
{
	long room =
	    (long)((svg_double(a->total) * s->per_tick / 1e6 * s->pixels - 6) /
		CHAR);
	char text[160], *p = text;

	if (sign != NULL)
		room -= 2;
	if (room < LABEL_MIN)
		return;
	p = PUT(p, "<text x=\"");
	p = digits_put_decimal(p, frame_place(s, a->x), 4);
	p = PUT(p, "%\" dx=\"3\" y=\"");
	p = digits_put(p, y + 11);
	p = PUT(p, "\">");
	if (sign != NULL) {
		p = svg_str(p, sign);
		*p++ = ' ';
	}
	buf_put(s->out, text, (size_t)(p - text));
	frame_put_label(s->out, name, room);
	buf_put(s->out, "</text>", 7);
}

/* The colour of a name is made when it is first needed. */
static const char *
frame_colour(struct svg *s, uint32_t name)
{
	char *colour = s->names[name].colour;
	const struct flame_name *n = &s->f->names[name];

	if (colour[0] == '\0' && n->inlined)
		flamesvg_colour_inlined(n->text, colour);
	else if (colour[0] == '\0')
		flamesvg_colour(n->text, n->kind, colour);
	return colour;
}

static void
run_put(struct svg *s, uint32_t level)
{
	const struct svg_run *r = &s->runs[level];
	uint32_t row = s->o->upwards ? s->height - 1 - level : level;
	char text[160], *p = text;

	if (r->end <= r->x)
		return;
	p = PUT(p, "<rect x=\"");
	p = digits_put_decimal(p, frame_place(s, r->x), 4);
	p = PUT(p, "%\" y=\"");
	p = digits_put(p, (uint64_t)row * SVG_ROW);
	p = PUT(p, "\" width=\"");
	p = digits_put_decimal(p, frame_place(s, r->end - r->x), 4);
	p = PUT(p, "%\" height=\"15\"/>\n");
	buf_put(&s->rests, text, (size_t)(p - text));
}

void
svg_run_add(struct svg *s, const struct svg_frame *a)
{
	struct svg_run *r = &s->runs[a->level];

	s->n_narrow++;
	if (r->end <= r->x || svg_double(a->x - r->end) >= 2 * s->narrow) {
		run_put(s, a->level);
		r->x = a->x;
	}
	r->end = a->x + a->total;
}

void
svg_run_end(struct svg *s)
{
	for (uint32_t l = 0; s->runs != NULL && l < s->height; l++)
		run_put(s, l);
}

/* "<g ...>" of a frame; of two profiles' with the sign of its change. */
static char *
frame_put_group(char *p, const struct svg_frame *a, const char *sign, bool few,
    bool narrow)
{
	p = PUT(p, "<g data-w=\"");
	p = digits_put(p, (uint64_t)a->total);
	if (sign != NULL) {
		p = PUT(p, "\" data-s=\"");
		p = svg_str(p, sign);
	}
	if (few)
		p = narrow ? PUT(p, "\" class=\"few narrow")
			   : PUT(p, "\" class=\"few");
	else if (narrow)
		p = PUT(p, "\" class=\"narrow");
	return PUT(p, "\"><title>");
}

/* The room of a frame's text is asked for once, not piece by piece: in a
 * picture of a million frames that is most of the time.  Labels alone, which
 * few frames are wide enough for, are appended. */
bool
svg_put_frame(struct svg *s, const struct svg_frame *a)
{
	const struct svg_name *name = a->n_cut > 0 ? NULL : &s->names[a->name];
	uint32_t row = s->o->upwards ? s->height - 1 - a->level : a->level;
	const char *sign = NULL, *colour = "#cfccc6";
	char other[64], change[8], *p;
	bool few = false, narrow = svg_double(a->total) < s->narrow;

	if (narrow)
		svg_run_add(s, a);
	if (!buf_reserve(s->out, SVG_FRAME_MAX + (name ? name->len : 0)))
		return false;
	if (s->diff == NULL && name != NULL) {
		colour = frame_colour(s, a->name);
	} else if (s->diff != NULL) {
		double c = svg_change(s, a, &few);

		sign = frame_sign(c);
		flamesvg_colour_change(c, few, change);
		colour = change;
	}
	p = frame_put_group((char *)s->out->data + s->out->len, a, sign, few,
	    narrow);
	if (name != NULL) {
		p = (char *)memcpy(p, s->escaped.data + name->first,
		    name->len) + name->len;
	} else {
		*frame_put_other(other, a->n_cut) = '\0';
		p = svg_str(p, other);
	}
	p = PUT(p, " (");
	p = s->diff != NULL ? svg_put_change(p, s, a)
	                    : svg_put_value(p, s, a);
	p = PUT(p, ")</title>");
	p = frame_put_rect(p, s, a, (uint64_t)row * SVG_ROW, colour);
	s->out->len = (size_t)(p - (char *)s->out->data);
	frame_put_text(s, a, (uint64_t)row * SVG_ROW, sign,
	    name != NULL ? s->f->names[a->name].text : other);
	buf_put(s->out, "</g>\n", 5);
	if (s->o->flush != NULL && s->out->len >= 1u << 20)
		return s->o->flush(s->o->flush_arg, s->out);
	return !s->out->failed;
}
