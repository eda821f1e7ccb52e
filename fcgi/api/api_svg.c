/*
 * GET /api/v1/flamegraph.svg: the same tree as flamegraph.json, as one
 * picture that can be kept, mailed and opened without us.
 */
#include <stdio.h>
#include <string.h>

#include "fcgi/api/pages.h"
#include "fcgi/format/amount.h"
#include "fcgi/format/flame/flamesvg.h"
#include "fcgi/format/writer.h"
#include "fcgi/query/profile_page.h"
#include "fcgi/query/svg_page.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/timespec.h"
#include "store/base/clock.h"
#include "store/base/err.h"

enum { ORIENTATION_DOWN, ORIENTATION_UP };

static const char *const svg_orientations[] = {"down", "up", NULL};

const struct err *
svg_page_parse(const struct request *rq, struct flamesvg_options *o)
{
	const struct err *e;
	const char *least = request_text(rq, "min-width");
	size_t orientation;

	/* "0.1%" is the flame's: what is left is drawn */
	o->min_width = 0;
	if ((e = request_int(rq, "width", 200, 20000, 1200, &o->width)) !=
	    NULL ||
	    ((least == NULL || strchr(least, '%') == NULL) &&
	    (e = request_real(rq, "min-width", 0, 100, 0.1,
	    &o->min_width)) != NULL) ||
	    (e = request_choice(rq, "orientation", svg_orientations,
	    ORIENTATION_DOWN, &orientation)) != NULL)
		return e;
	o->upwards = orientation == ORIENTATION_UP;
	o->title = request_text(rq, "title");
	return NULL;
}

void
svg_page_put_range(struct buf *out, const struct profile_page *page)
{
	struct profile_samples samples;
	bool known;

	buf_printf(out, "%s, ", page->query);
	timespec_put(out, page->profile->from_ns);
	buf_printf(out, " to ");
	timespec_put(out, page->profile->until_ns);
	buf_printf(out, " UTC, ");
	known = profile_samples(page->profile, 0, &samples);
	amount_put(out, profile_page_units(page->profile),
	    page->profile->nodes[0].total, known ? &samples : NULL);
	if (page->profile->kind == SERIES_STOCK && page->profile->slots > 0)
		buf_printf(out, " on average");
}

const struct err *
svg_page_draw(const struct profile_page *page, struct flamesvg_options *o,
    struct buf *out)
{
	struct buf subtitle = {0};
	char empty[400];
	bool drawn;

	snprintf(empty, sizeof(empty), "%s%s%s", page->state,
	    page->why[0] != '\0' ? ": " : "", page->why);
	profile_page_put_title(&subtitle, page);
	if (subtitle.failed) {
		buf_fini(&subtitle);
		return err_nomem();
	}
	o->subtitle = (const char *)subtitle.data;
	o->empty = empty;
	if (o->title == NULL)
		o->title = page->query;
	o->units = profile_page_units(page->profile);
	drawn = flamesvg_put(out, page->flame, o);
	buf_fini(&subtitle);
	return drawn ? NULL : err_nomem();
}

const struct err *
api_flamegraph_svg(struct context *c, struct request *rq, struct response *rs)
{
	struct flamesvg_options o = {0};
	struct profile_page page;
	const struct err *e;

	if ((e = svg_page_parse(rq, &o)) != NULL)
		return e;
	e = profile_page_init(&page, c, rq, rs);
	if (e == NULL && page.profile != NULL) {
		rs->type = TYPE_SVG;
		rs->scripted = true;
		e = svg_page_draw(&page, &o, &rs->body);
	}
	profile_page_fini(&page);
	return e;
}
