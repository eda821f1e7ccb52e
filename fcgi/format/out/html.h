/*
 * A profile, or two beside each other, as one HTML file that needs nothing
 * else: the flame graph, which can be zoomed and searched, and the table of
 * functions below it, with the samples of each where they are known.  Light
 * and dark as the reader's system is.
 */
#ifndef FCGI_FORMAT_HTML_H
#define FCGI_FORMAT_HTML_H

#include "fcgi/format/flame/table.h"

struct html_options {
	const char *title, *subtitle;
	const char *unit;      /* of the table's amounts; time is told in ms */
	const uint8_t *svg;    /* the picture */
	size_t n_svg;
	int64_t height;        /* of the picture, in pixels */
	size_t max_rows;       /* of the table */
	bool pair; /* of two sides: counts of both and the shares' change */
};

/* Appends the page; out->failed tells of a lack of memory.  The picture is
 * embedded as a document of its own, so that its style and script meet
 * nothing of ours. */
void html_put(struct buf *out, const struct table *t,
    const struct html_options *o);

/* The height that a picture says of itself, in pixels. */
int64_t html_svg_height(const struct buf *svg);

#endif
