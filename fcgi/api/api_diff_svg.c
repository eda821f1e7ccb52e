/*
 * GET /api/v1/diff.svg and diff.html: A against B as one picture, and as a
 * page with the table of functions below it.
 */
#include <stdio.h>
#include <string.h>

#include "fcgi/api/pages.h"
#include "fcgi/format/flame/diff.h"
#include "fcgi/format/flame/flame_shape.h"
#include "fcgi/format/flame/flamesvg.h"
#include "fcgi/format/out/html.h"
#include "fcgi/query/profile_pair.h"
#include "fcgi/query/svg_page.h"
#include "fcgi/server/context.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define HTML_ROWS 1000

enum { WIDTHS_BOTH, WIDTHS_B };

static const char *const diff_svg_widths[] = {"both", "b", NULL};

struct diff_svg {
	struct profile_pair pair;
	struct profile_page shape; /* options alone */
	struct profile_pair_shaped shaped;
	struct flame *flame;
	struct flamesvg_options o;
	struct flamesvg_pair svg;
	size_t widths;
	char words[480];
	struct buf subtitle;
};

static void
diff_svg_fini(struct diff_svg *d)
{
	flame_free(d->flame);
	profile_pair_shaped_fini(&d->shaped);
	profile_pair_fini(&d->pair);
	buf_fini(&d->subtitle);
}

static void
diff_svg_say(struct diff_svg *d)
{
	static const char *const widths[] = {
	    [WIDTHS_BOTH] = "Widths: A and B together.",
	    [WIDTHS_B] = "Widths: B alone."};

	snprintf(d->words, sizeof(d->words), "%s %s", d->pair.words,
	    widths[d->widths]);
	d->svg.words = d->words;
	for (int i = 0; i < 2; i++) {
		buf_printf(&d->subtitle, "%s", i == DIFF_A ? "A: " : "   B: ");
		svg_page_put_range(&d->subtitle, &d->pair.side[i]);
	}
	if (partial_is(d->pair.side[0].store, 0, INT64_MAX)) {
		buf_printf(&d->subtitle, "   PARTIAL: ");
		partial_put_words(&d->subtitle, d->pair.side[0].store, 0,
		    INT64_MAX);
	}
	buf_put_u8(&d->subtitle, '\0');
	d->o.subtitle = (const char *)d->subtitle.data;
	d->o.empty = "no data on either side";
	if (d->o.title == NULL)
		d->o.title = strcmp(d->pair.side[DIFF_A].query,
		    d->pair.side[DIFF_B].query) == 0
		    ? d->pair.side[DIFF_A].query : "B against A";
}

/* What is shown: as it is, or shaped. */
static const struct diff *
diff_svg_diff(const struct diff_svg *d)
{
	return d->shaped.diff != NULL ? d->shaped.diff : d->pair.diff;
}

static const struct err *
diff_svg_draw(struct diff_svg *d, struct buf *out)
{
	const struct profile *a = d->pair.side[DIFF_A].profile;
	struct flame_options frames = {.max_nodes = d->pair.max_nodes,
	    .min_share = d->shape.options.min_share, .other = "(other)"};
	const struct err *e = profile_pair_shape(&d->shaped,
	    &d->pair, &d->shape.options);
	const struct diff *diff = diff_svg_diff(d);

	if (e != NULL)
		return e;
	profile_pair_weights(&d->pair, d->svg.weight);
	for (int i = 0; i < 2; i++)
		d->svg.whole[i] =
		    d->pair.side[i].profile->nodes[0].total;
	d->svg.by_b = d->widths == WIDTHS_B;
	d->o.units = profile_page_units(a);
	diff_svg_say(d);
	if (d->subtitle.failed)
		return err_nomem();
	e = flamesvg_diff_flame(&d->flame, diff, &d->svg, &frames);
	if (e == NULL && !flamesvg_put_diff(out, diff, d->flame, &d->svg,
	    &d->o))
		e = err_nomem();
	return e;
}

/* Without a picture where the client has the answer: no pair.diff. */
static const struct err *
diff_svg_run(struct diff_svg *d, struct context *c, const struct request *rq,
    struct response *rs, struct buf *out)
{
	const struct err *e;

	if ((e = svg_page_parse(rq, &d->o)) != NULL ||
	    (e = profile_page_parse_shape(&d->shape, rq)) != NULL ||
	    (e = request_choice(rq, "widths", diff_svg_widths, WIDTHS_BOTH,
	    &d->widths)) != NULL)
		return e;
	e = profile_pair_init(&d->pair, c, rq, rs);
	if (e == NULL && d->pair.diff != NULL)
		e = diff_svg_draw(d, out);
	return e;
}

const struct err *
api_diff_svg(struct context *c, struct request *rq, struct response *rs)
{
	struct diff_svg d = {.widths = WIDTHS_BOTH};
	const struct err *e = diff_svg_run(&d, c, rq, rs, &rs->body);

	if (e == NULL && d.pair.diff != NULL) {
		rs->type = TYPE_SVG;
		rs->scripted = true;
	}
	diff_svg_fini(&d);
	return e;
}

/* ---- the page ---- */

static const struct err *
diff_html_put(struct diff_svg *d, const struct buf *svg, struct buf *out)
{
	struct html_options o = {.title = d->o.title,
	    .subtitle = d->o.subtitle, .unit = d->o.units,
	    .svg = svg->data, .n_svg = svg->len,
	    .height = html_svg_height(svg), .max_rows = HTML_ROWS,
	    .pair = true};
	const struct err *e;
	struct table *t;

	if ((e = table_of_diff(&t, diff_svg_diff(d))) != NULL)
		return e;
	for (int i = 0; i < 2; i++)
		t->sum[i] = d->svg.whole[i];
	table_sort(t, TABLE_SELF_DIFFERENCE, d->svg.weight);
	html_put(out, t, &o);
	table_free(t);
	return NULL;
}

const struct err *
api_diff_html(struct context *c, struct request *rq, struct response *rs)
{
	struct diff_svg d = {.widths = WIDTHS_BOTH};
	struct buf svg = {0};
	const struct err *e = diff_svg_run(&d, c, rq, rs, &svg);

	if (e == NULL && d.pair.diff != NULL) {
		rs->type = "text/html; charset=utf-8";
		rs->scripted = true;
		snprintf(rs->file, sizeof(rs->file), "diff-%lld-%lld.html",
		    (long long)(d.pair.side[DIFF_A].from_ns / NS_PER_S),
		    (long long)(d.pair.side[DIFF_B].from_ns / NS_PER_S));
		e = diff_html_put(&d, &svg, &rs->body);
	}
	buf_fini(&svg);
	diff_svg_fini(&d);
	return e;
}
