/*
 * The picture of a profile page, for the pages that are one and those that
 * contain one (SVG, PNG, HTML).
 */
#ifndef FCGI_SVG_PAGE_H
#define FCGI_SVG_PAGE_H

#include "fcgi/format/flame/flamesvg.h"

struct buf;
struct err;
struct profile_page;
struct request;

/* The parameters of the picture; strings are borrowed from the request. */
const struct err *svg_page_parse(const struct request *rq,
    struct flamesvg_options *o);

/* Appends the picture of a page's flame.  Fills what svg_page_parse() has
 * left open in o; its strings do not outlive the call.  Errors: ENOMEM. */
const struct err *svg_page_draw(const struct profile_page *page,
    struct flamesvg_options *o, struct buf *out);

/* Appends "query, from to until UTC, 1,234 samples". */
void svg_page_put_range(struct buf *out, const struct profile_page *page);

#endif
