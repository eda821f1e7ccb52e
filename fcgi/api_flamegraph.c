/*
 * GET /api/v1/flamegraph.json: a call tree as flamebearer, with what it
 * really covers, what was lost on the way and the kind of code of each name
 * beside it.
 */
#include "fcgi/context.h"
#include "fcgi/format/flamebearer.h"
#include "fcgi/format/writer.h"
#include "fcgi/pages.h"
#include "fcgi/profile_page.h"
#include "fcgi/request.h"
#include "fcgi/respond.h"
#include "store/base/clock.h"
#include "store/base/err.h"

static void
flamegraph_put_metadata(struct writer *w, const struct profile_page *page)
{
	const struct profile *p = page->profile;

	writer_key(w, "metadata");
	writer_open(w, '{');
	writer_key(w, "format");
	writer_str(w, "single");
	writer_key(w, "spyName");
	writer_str(w, "memlens");
	writer_key(w, "sampleRate");
	writer_int(w, profile_page_rate(p));
	writer_key(w, "units");
	writer_str(w, profile_page_ticks(p));
	writer_key(w, "name");
	writer_str(w, page->query);
	writer_key(w, "appName");
	writer_str(w, selector_name(page->selector));
	writer_key(w, "startTime");
	writer_int(w, p->from_ns / NS_PER_S);
	writer_key(w, "endTime");
	writer_int(w, p->until_ns / NS_PER_S);
	writer_key(w, "query");
	writer_str(w, page->query);
	writer_key(w, "maxNodes");
	writer_int(w, page->options.max_nodes);
	writer_close(w, '}');
}

/* `total` is the mass before focus and ignore, `samples` what they left. */
static void
flamegraph_put_memlens(struct writer *w, const struct profile_page *page)
{
	writer_key(w, "memlens");
	writer_open(w, '{');
	profile_page_put(w, page);
	flamebearer_put_kinds(w, page->flame);
	writer_close(w, '}');
}

const struct err *
api_flamegraph(struct context *c, struct request *rq, struct response *rs)
{
	struct writer w = writer_of(&rs->body);
	struct profile_page page;
	const struct err *e;

	e = profile_page_init(&page, c, rq, rs);
	if (e == NULL && page.profile != NULL) {
		writer_open(&w, '{');
		writer_key(&w, "version");
		writer_int(&w, 1);
		if (!flamebearer_put(&w, page.flame))
			e = err_nomem();
		flamegraph_put_metadata(&w, &page);
		flamegraph_put_memlens(&w, &page);
		writer_close(&w, '}');
	}
	profile_page_fini(&page);
	return e;
}
