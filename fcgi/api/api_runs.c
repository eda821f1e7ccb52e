/*
 * GET and POST /api/v1/runs: named ranges, to be compared later.
 */
#include <json-c/json.h>
#include <string.h>

#include "fcgi/api/pages.h"
#include "fcgi/api/runs.h"
#include "fcgi/format/writer.h"
#include "fcgi/server/context.h"
#include "fcgi/server/fact_post.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/err.h"

/* As we write it, not json-c: what acts on who shows it is escaped. */
static void
runs_put(struct writer *w, struct json_object *o)
{
	const char *text;
	size_t n;

	switch (json_object_get_type(o)) {
	case json_type_object:
		writer_open(w, '{');
		json_object_object_foreach(o, key, value) {
			writer_key_any(w, key);
			runs_put(w, value);
		}
		writer_close(w, '}');
		return;
	case json_type_array:
		writer_open(w, '[');
		for (size_t i = 0; i < json_object_array_length(o); i++)
			runs_put(w, json_object_array_get_idx(o, i));
		writer_close(w, ']');
		return;
	case json_type_string:
		writer_strn(w, json_object_get_string(o),
		    (size_t)json_object_get_string_len(o));
		return;
	default: /* numbers by the digits they came with */
		text = json_object_to_json_string_length(o,
		    JSON_C_TO_STRING_PLAIN, &n);
		writer_raw(w, text != NULL ? text : "null",
		    text != NULL ? n : 4);
	}
}

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
	writer_key_open(&w, "runs", '[');
	for (size_t i = 0; i < n; i++) {
		if (name == NULL || strcmp(name, runs[i].name) == 0)
			runs_put(&w, runs[i].object);
	}
	writer_close(&w, ']');
	writer_close(&w, '}');
	runs_free(runs, n);
	return NULL;
}

const struct err *
api_runs_post(struct context *c, struct request *rq, struct response *rs)
{
	char name[RUNS_NAME_MAX + 1];
	const struct err *e;

	if ((e = runs_make(rq, &rs->body, name)) != NULL)
		return e;
	return fact_post(c, rq->now_ns, FACT_RUN, name, rs->body.data,
	    rs->body.len);
}
