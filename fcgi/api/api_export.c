/*
 * GET /api/v1/flamegraph.EXT and table.csv: what a page shows, in the
 * formats of other tools.  Nothing is cut from those that can be read again;
 * pictures are bounded as flamegraph.svg is.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fcgi/api/pages.h"
#include "fcgi/format/out/csv.h"
#include "fcgi/format/out/folded_out.h"
#include "fcgi/format/out/html.h"
#include "fcgi/format/out/speedscope_out.h"
#include "fcgi/query/pprof_page.h"
#include "fcgi/query/profile_page.h"
#include "fcgi/query/svg_page.h"
#include "fcgi/server/context.h"
#include "fcgi/server/draw.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/settings.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define TYPE_BYTES "application/octet-stream"
#define TYPE_CSV "text/csv; charset=utf-8"
#define TYPE_HTML "text/html; charset=utf-8"
#define TYPE_PNG "image/png"
#define HTML_ROWS 1000

/* "cpu-kv-20261121T100000Z-3600s.folded" */
static void
export_name(struct response *rs, const struct profile_page *page,
    const char *ext)
{
	const struct profile *p = page->profile;
	const char *service = selector_equals(page->selector, "service");
	time_t t = (time_t)(p->from_ns / NS_PER_S);
	char text[32] = "";
	struct tm tm;

	if (gmtime_r(&t, &tm) != NULL)
		strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &tm);
	snprintf(rs->file, sizeof(rs->file), "%.24s%s%.30s-%s-%llds.%s",
	    selector_name(page->selector), service != NULL ? "-" : "",
	    service != NULL ? service : "", text,
	    (long long)((p->until_ns - p->from_ns) / NS_PER_S), ext);
	for (char *c = rs->file; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && *c != '.' && *c != '-')
			*c = '_';
}

/* One way to write a page that has been answered. */
typedef const struct err *export_fn(struct profile_page *page,
    const struct request *rq, struct response *rs);

static const struct err *
export_run(struct context *c, struct request *rq, struct response *rs,
    const char *ext, const char *type, export_fn *fn)
{
	struct profile_page page;
	const struct err *e;

	e = profile_page_init_whole(&page, c, rq, rs);
	if (e == NULL && page.profile != NULL) {
		rs->type = type;
		export_name(rs, &page, ext);
		e = fn(&page, rq, rs);
	}
	profile_page_fini(&page);
	return e;
}

/* ---- text and tables ---- */

static const struct err *
export_folded(struct profile_page *page, const struct request *rq,
    struct response *rs)
{
	int64_t bare;
	const struct err *e;

	if ((e = request_int(rq, "bare", 0, 1, 0, &bare)) != NULL)
		return e;
	response_unit(rs, profile_page_units(page->profile));
	return folded_put(&rs->body, page->flame, bare != 0,
	    RESPONSE_BODY_MAX);
}

const struct err *
api_flamegraph_folded(struct context *c, struct request *rq,
    struct response *rs)
{
	return export_run(c, rq, rs, "folded", TYPE_TEXT, export_folded);
}

static const struct err *
export_speedscope(struct profile_page *page, const struct request *rq,
    struct response *rs)
{
	struct speedscope_out o = {page->query, page->profile->unit};
	struct buf name = {0};
	const struct err *e;

	(void)rq;
	buf_printf(&name, "%s, PARTIAL: ", page->query);
	partial_put_words(&name, page->store, page->from_ns, page->until_ns);
	buf_put_u8(&name, '\0');
	if (partial_is(page->store, page->from_ns, page->until_ns))
		o.name = (const char *)name.data;
	e = name.failed ? err_nomem()
			: speedscope_put(&rs->body, page->flame, &o,
			      RESPONSE_BODY_MAX);
	buf_fini(&name);
	return e;
}

const struct err *
api_flamegraph_speedscope(struct context *c, struct request *rq,
    struct response *rs)
{
	return export_run(c, rq, rs, "speedscope.json", TYPE_JSON,
	    export_speedscope);
}

static const struct err *
export_csv(struct profile_page *page, const struct request *rq,
    struct response *rs)
{
	const struct err *e;
	struct table *t;

	(void)rq;
	if ((e = table_of_flame(&t, page->flame)) != NULL)
		return e;
	response_unit(rs, profile_page_units(page->profile));
	table_sort(t, TABLE_SELF, NULL);
	csv_put_table(&rs->body, t);
	table_free(t);
	return NULL;
}

const struct err *
api_table_csv(struct context *c, struct request *rq, struct response *rs)
{
	return export_run(c, rq, rs, "csv", TYPE_CSV, export_csv);
}

/* ---- pprof ---- */

static const struct err *
export_pprof(struct profile_page *page, const struct request *rq,
    struct response *rs)
{
	struct profile_query q = {page->selector, page->from_ns,
	    page->until_ns, NULL, false};

	(void)rq;
	profile_page_drop(page); /* label sets make it another tree */
	return pprof_page_ask(&rs->body, page->store, &q,
	    selector_name(page->selector));
}

const struct err *
api_flamegraph_pprof(struct context *c, struct request *rq,
    struct response *rs)
{
	if (request_text(rq, "focus") != NULL ||
	    request_text(rq, "ignore") != NULL)
		return err_field(ERR_REQUEST, 400, request_text(rq, "focus") ?
		    "focus" : "ignore", "is not for pprof, whose tools have "
		    "their own");
	return export_run(c, rq, rs, "pb.gz", TYPE_BYTES, export_pprof);
}

/* ---- pictures ---- */

/* The picture of a request, and the page that it shows. */
static const struct err *
export_draw(struct context *c, struct request *rq, struct response *rs,
    struct profile_page *page, struct flamesvg_options *o, struct buf *svg)
{
	const struct err *e;

	*page = (struct profile_page){.why = ""};
	if ((e = svg_page_parse(rq, o)) != NULL ||
	    (e = profile_page_init(page, c, rq, rs)) != NULL ||
	    page->profile == NULL)
		return e;
	return svg_page_draw(page, o, svg);
}

const struct err *
api_flamegraph_png(struct context *c, struct request *rq, struct response *rs)
{
	struct flamesvg_options o = {0};
	struct profile_page page;
	struct buf svg = {0};
	const struct err *e;
	int64_t scale;

	if ((e = request_int(rq, "scale", 1, 4, 1, &scale)) != NULL)
		return e;
	e = export_draw(c, rq, rs, &page, &o, &svg);
	if (e == NULL && page.profile != NULL) {
		rs->type = TYPE_PNG;
		rs->shown = true;
		export_name(rs, &page, "png");
		e = draw_png(c->draw, &svg, (int)scale, &rs->body);
	}
	buf_fini(&svg);
	profile_page_fini(&page);
	return e;
}

static const struct err *
export_html(const struct profile_page *page, const struct buf *svg,
    const char *title, struct buf *out)
{
	struct html_options o = {.title = title,
	    .unit = profile_page_units(page->profile), .svg = svg->data,
	    .n_svg = svg->len, .height = html_svg_height(svg),
	    .max_rows = HTML_ROWS};
	struct flame_options whole = page->options;
	struct buf subtitle = {0};
	struct table *t = NULL;
	struct flame *f = NULL;
	const struct err *e;

	whole.max_nodes = -1;
	profile_page_put_title(&subtitle, page);
	e = subtitle.failed ? err_nomem()
			    : flame_new(&f, page->profile, &whole);
	if (e == NULL)
		e = table_of_flame(&t, f);
	if (e == NULL) {
		table_sort(t, TABLE_SELF, NULL);
		o.subtitle = (const char *)subtitle.data;
		html_put(out, t, &o);
	}
	table_free(t);
	flame_free(f);
	buf_fini(&subtitle);
	return e;
}

const struct err *
api_flamegraph_html(struct context *c, struct request *rq,
    struct response *rs)
{
	struct flamesvg_options o = {0};
	struct profile_page page;
	struct buf svg = {0};
	const struct err *e;

	e = export_draw(c, rq, rs, &page, &o, &svg);
	if (e == NULL && page.profile != NULL) {
		rs->type = TYPE_HTML;
		rs->scripted = true;
		export_name(rs, &page, "html");
		e = export_html(&page, &svg, o.title, &rs->body);
	}
	buf_fini(&svg);
	profile_page_fini(&page);
	return e;
}
