/*
 * GET /api/v1/flamegraph.json: a call tree as flamebearer, with what it
 * really covers, what was lost on the way, what is not shown frame by frame
 * and the kind of code of each name beside it.
 */
#include <string.h>

#include "fcgi/api/pages.h"
#include "fcgi/format/flame/flamebearer.h"
#include "fcgi/format/writer.h"
#include "fcgi/query/profile_page.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/clock.h"
#include "store/base/err.h"

static void
flamegraph_put_metadata(struct writer *w, const struct profile_page *page)
{
	const struct profile *p = page->profile;

	writer_key_open(w, "metadata", '{');
	writer_key_str(w, "format", "single");
	writer_key_str(w, "spyName", "memlens");
	writer_key_int(w, "sampleRate", profile_page_rate(p));
	writer_key_str(w, "units", profile_page_ticks(p));
	writer_key_str(w, "name", page->query);
	writer_key_str(w, "appName", selector_name(page->selector));
	writer_key_int(w, "startTime", p->from_ns / NS_PER_S);
	writer_key_int(w, "endTime", p->until_ns / NS_PER_S);
	writer_key_str(w, "query", page->query);
	writer_key_int(w, "maxNodes", page->options.max_nodes);
	writer_close(w, '}');
}

/* What "(other)" stands for. */
static void
flamegraph_put_cut(struct writer *w, const struct flame *f)
{
	struct profile_samples root;
	struct flame_cut cut;

	flame_cut(f, &cut);
	writer_key_open(w, "cut", '{');
	writer_key_int128(w, "total", cut.total);
	profile_page_put_samples(w, "samples", flame_samples(f, 0, &root),
	    cut.samples);
	profile_page_put_samples(w, "samples_unknown",
	    flame_samples(f, 0, &root), cut.unknown);
	writer_key_int(w, "nodes", (int64_t)cut.n_nodes);
	writer_close(w, '}');
}

/* `total` is the amount before focus and ignore, numTicks what they left. */
static bool
flamegraph_put_memlens(struct writer *w, const struct profile_page *page)
{
	bool good;

	writer_key_open(w, "memlens", '{');
	profile_page_put(w, page);
	flamegraph_put_cut(w, page->flame);
	flamebearer_put_kinds(w, page->flame);
	good = flamebearer_put_samples(w, page->flame);
	writer_close(w, '}');
	return good;
}

/* Pixels are for pictures. */
static const struct err *
flamegraph_check_width(const struct request *rq)
{
	const char *text = request_text(rq, "min-width");

	return text == NULL || text[strlen(text) - 1] == '%' ? NULL :
	    err_field(ERR_REQUEST, 400, "min-width", "\"%.64s\" is no share: "
	    "0%% to 100%%", text);
}

const struct err *
api_flamegraph(struct context *c, struct request *rq, struct response *rs)
{
	struct writer w = writer_of(&rs->body);
	struct profile_page page = {.why = ""};
	const struct err *e = flamegraph_check_width(rq);

	if (e == NULL)
		e = profile_page_init(&page, c, rq, rs);
	if (e == NULL && page.profile != NULL) {
		writer_open(&w, '{');
		writer_key_int(&w, "version", 1);
		if (!flamebearer_put(&w, page.flame))
			e = err_nomem();
		flamegraph_put_metadata(&w, &page);
		if (!flamegraph_put_memlens(&w, &page))
			e = err_nomem();
		writer_close(&w, '}');
	}
	profile_page_fini(&page);
	return e;
}
