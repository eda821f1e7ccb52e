/*
 * GET and POST /api/v1/marks: what happened in a range, and somebody's own
 * words about a moment, as charts show them.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/api/pages.h"
#include "fcgi/api/runs.h"
#include "fcgi/format/writer.h"
#include "fcgi/query/marks.h"
#include "fcgi/query/programs.h"
#include "fcgi/server/context.h"
#include "fcgi/server/fact_post.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/timespec.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/store.h"

#define MARKS_BODY_MAX 4096

static void
marks_put(struct writer *w, const struct mark *m)
{
	struct programs_end end;

	writer_open(w, '{');
	writer_key_seconds(w, "time", m->time_ns);
	writer_key_str(w, "what", m->what);
	writer_key_str(w, "text", m->text);
	writer_key(w, "service");
	*m->service != '\0' ? writer_str(w, m->service) : writer_null(w);
	if (programs_end(m, &end)) {
		writer_key_str(w, "end", end.words);
		writer_key(w, "trouble");
		writer_bool(w, end.trouble);
	}
	writer_close(w, '}');
}

const struct err *
api_marks_get(struct context *c, struct request *rq, struct response *rs)
{
	struct mark_query q = {.what = request_text(rq, "what"),
	    .service = request_text(rq, "service")};
	struct writer w = writer_of(&rs->body);
	size_t n, left_out;
	struct mark *list;
	struct store *s;
	const struct err *e;
	int64_t limit;

	if ((e = request_range(rq, &q.from_ns, &q.until_ns)) != NULL ||
	    (e = request_int(rq, "limit", 1, MARKS_MAX, MARKS_MAX,
	    &limit)) != NULL || (e = context_store(c, &s)) != NULL)
		return e;
	q.max = (size_t)limit;
	if ((e = marks_list(s, &q, &list, &n, &left_out)) != NULL)
		return e;
	writer_open(&w, '{');
	partial_put_state(&w, s, q.from_ns, q.until_ns);
	writer_key_seconds(&w, "from", q.from_ns);
	writer_key_seconds(&w, "until", q.until_ns);
	writer_key_int(&w, "left_out", (int64_t)left_out);
	writer_key_open(&w, "marks", '[');
	for (size_t i = 0; i < n; i++)
		marks_put(&w, &list[i]);
	writer_close(&w, ']');
	writer_close(&w, '}');
	free(list);
	return NULL;
}

/* A text of the body, "" where it is absent; no byte that ends a part of a
 * fact. */
static const struct err *
marks_text(struct json_object *in, const char *key, size_t max,
    const char **out)
{
	struct json_object *v;
	size_t n;

	*out = "";
	if (!json_object_object_get_ex(in, key, &v) || v == NULL)
		return NULL;
	if (!json_object_is_type(v, json_type_string))
		return err_field(ERR_REQUEST, 400, key, "is no text");
	*out = json_object_get_string(v);
	n = (size_t)json_object_get_string_len(v);
	if (n > max)
		return err_field(ERR_REQUEST, 400, key,
		    "is longer than %zu bytes", max);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)(*out)[i] < 0x20)
			return err_field(ERR_REQUEST, 400, key,
			    "has a control byte at %zu", i);
	return NULL;
}

static const struct err *
marks_read(struct json_object *in, int64_t now_ns, struct mark *m)
{
	const char *text, *service, *what;
	struct json_object *time;
	const struct err *e;

	if ((e = marks_text(in, "text", MARKS_TEXT_MAX, &text)) != NULL ||
	    (e = marks_text(in, "service", MARKS_SERVICE_MAX,
	    &service)) != NULL ||
	    (e = marks_text(in, "what", MARKS_WHAT_MAX, &what)) != NULL)
		return e;
	if (*what != '\0' && strcmp(what, "note") != 0 &&
	    strcmp(what, "fault") != 0)
		return err_field(ERR_REQUEST, 400, "what",
		    "is neither note nor fault");
	if (*text == '\0')
		return err_field(ERR_REQUEST, 400, "text", "is missing");
	m->time_ns = now_ns;
	if (json_object_object_get_ex(in, "time", &time) && time != NULL &&
	    (e = timespec_parse(json_object_get_string(time), now_ns,
	    &m->time_ns)) != NULL)
		return err_field(ERR_REQUEST, 400, "time", "%s", e->text);
	if (m->time_ns > now_ns)
		return err_field(ERR_REQUEST, 400, "time",
		    "has not come yet");
	fact_part_copy(fact_part_of(*what != '\0' ? what : "note"), m->what,
	    sizeof(m->what));
	fact_part_copy(fact_part_of(text), m->text, sizeof(m->text));
	fact_part_copy(fact_part_of(service), m->service, sizeof(m->service));
	return NULL;
}

/* What was before the store began would go at its next sealing, unseen. */
static const struct err *
marks_check_held(struct context *c, const struct mark *m)
{
	struct store_extent extent;
	const struct err *e;
	struct store *s;

	if ((e = context_store(c, &s)) != NULL)
		return e;
	store_extent(s, &extent);
	if (extent.until_ns == 0 || m->time_ns >= extent.from_ns)
		return NULL;
	return err_field(ERR_REQUEST, 400, "time",
	    "is before the store begins, at %" PRId64,
	    extent.from_ns / NS_PER_S);
}

static const struct err *
marks_post(struct context *c, const struct mark *m)
{
	const struct err *e;
	struct buf text = {0};

	buf_printf(&text, "%s\t%s", m->text, m->service);
	e = text.failed ? err_nomem() : fact_post(c, m->time_ns, FACT_MARK,
	    m->what, text.data, text.len);
	buf_fini(&text);
	return e;
}

const struct err *
api_marks_post(struct context *c, struct request *rq, struct response *rs)
{
	const struct err *e = NULL;
	struct writer w = writer_of(&rs->body);
	struct json_object *in = NULL;
	struct mark m;

	if (rq->body.len > 0 && rq->body.len <= MARKS_BODY_MAX)
		in = runs_parse((const char *)rq->body.data, rq->body.len);
	if (in == NULL)
		e = err_new(ERR_REQUEST, 415, "the body is no JSON object in "
		    "UTF-8 of at most %d bytes", MARKS_BODY_MAX);
	if (e == NULL && (e = marks_read(in, rq->now_ns, &m)) == NULL &&
	    (e = marks_check_held(c, &m)) == NULL &&
	    (e = marks_post(c, &m)) == NULL)
		marks_put(&w, &m);
	json_object_put(in);
	return e;
}
