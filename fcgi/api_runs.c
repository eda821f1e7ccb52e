/*
 * GET and POST /api/v1/runs: named ranges, to be compared later.  A worker
 * writes nothing itself: a run goes to memlensd's socket as a fact.
 */
#include <json-c/json.h>
#include <string.h>

#include "fcgi/context.h"
#include "fcgi/format/writer.h"
#include "fcgi/pages.h"
#include "fcgi/partial.h"
#include "fcgi/request.h"
#include "fcgi/respond.h"
#include "fcgi/runs.h"
#include "fcgi/settings.h"
#include "store/base/err.h"
#include "store/post.h"

#define RUNS_POST_MS 5000

const struct err *
api_runs_get(struct context *c, struct request *rq, struct response *rs)
{
	const char *name = request_text(rq, "name");
	struct writer w = writer_of(&rs->body);
	struct store *s;
	struct run *runs;
	const struct err *e;
	size_t n;

	if ((e = context_store(c, &s)) != NULL ||
	    (e = runs_list(s, &runs, &n)) != NULL)
		return e;
	writer_open(&w, '{');
	partial_put_state(&w, s, 0, INT64_MAX);
	writer_key(&w, "runs");
	writer_open(&w, '[');
	for (size_t i = 0; i < n; i++) {
		const char *text;
		size_t len;

		if (name != NULL && strcmp(name, runs[i].name) != 0)
			continue;
		text = json_object_to_json_string_length(runs[i].object,
		    JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE,
		    &len);
		if (text != NULL)
			writer_raw(&w, text, len);
	}
	writer_close(&w, ']');
	writer_close(&w, '}');
	runs_free(runs, n);
	return NULL;
}

static const struct err *
runs_post(struct context *c, const struct request *rq, const char *name,
    const struct buf *json)
{
	struct store_extent extent;
	struct store *s;
	struct post *p = NULL;
	struct batch *b;
	const struct err *e;

	if ((e = context_store(c, &s)) != NULL)
		return e;
	store_extent(s, &extent);
	if ((b = batch_new((uint64_t)extent.slot_ns)) == NULL)
		return err_nomem();
	batch_add_fact(b, rq->now_ns, FACT_RUN, name, json->data, json->len);
	e = post_open(&p, c->settings->collector_socket, RUNS_POST_MS);
	if (e == NULL)
		e = post_batch(p, b);
	post_close(p);
	batch_free(b);
	if (e != NULL && e->domain != ERR_REQUEST)
		return err_new(ERR_REQUEST, 503,
		    "the collector does not take it: %s", e->text);
	return e;
}

const struct err *
api_runs_post(struct context *c, struct request *rq, struct response *rs)
{
	char name[RUNS_NAME_MAX + 1];
	const struct err *e;

	if ((e = runs_make(rq, &rs->body, name)) != NULL)
		return e;
	return runs_post(c, rq, name, &rs->body);
}
