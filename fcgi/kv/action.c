/*
 * Bodies, turns and runs of actions.
 */
#include "fcgi/kv/action.h"

#include <json-c/json.h>
#include <stdio.h>
#include <time.h>

#include "fcgi/format/writer.h"
#include "fcgi/kv/kv.h"
#include "fcgi/kv/turn.h"
#include "fcgi/server/context.h"
#include "fcgi/server/fact_post.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define ACTION_BODY_MAX 4096

const struct err *
action_body(const struct request *rq, const char *does,
    struct json_object **out)
{
	struct json_object *v;

	*out = NULL;
	if (rq->body.len > 0 && rq->body.len <= ACTION_BODY_MAX)
		*out = kv_parse(&rq->body);
	if (!json_object_is_type(*out, json_type_object))
		return err_new(ERR_REQUEST, 415, "the body is no JSON object "
		    "in UTF-8 of at most %d bytes", ACTION_BODY_MAX);
	if (!json_object_object_get_ex(*out, "confirmed", &v) ||
	    !json_object_is_type(v, json_type_boolean) ||
	    !json_object_get_boolean(v))
		return err_field(ERR_REQUEST, 400, "confirmed",
		    "is not true: it %s", does);
	return NULL;
}

const struct err *
action_begin(struct context *c)
{
	if (turn_try(c->turns, TURN_ACTION))
		return NULL;
	return err_new(ERR_REQUEST, 409, "another latency test or fault is "
	    "under way: there is one at a time");
}

void
action_end(struct context *c)
{
	turn_end(c->turns, TURN_ACTION);
}

void
action_name(const char *what, int64_t now_ns, char name[ACTION_NAME_MAX])
{
	time_t s = (time_t)(now_ns / NS_PER_S);
	struct tm tm;
	char at[32];

	strftime(at, sizeof(at), "%Y-%m-%d %H:%M:%S", gmtime_r(&s, &tm));
	snprintf(name, ACTION_NAME_MAX, "%.30s %s", what, at);
}

const struct err *
action_keep(struct context *c, const char *name, const struct buf *run,
    struct response *rs)
{
	struct writer w = writer_of(&rs->body);
	const struct err *e;

	if (run->failed)
		return err_nomem();
	e = fact_post(c, clock_wall_ns(), FACT_RUN, name, run->data, run->len);
	writer_open(&w, '{');
	writer_key(&w, "run");
	writer_raw(&w, (const char *)run->data, run->len);
	writer_key(&w, "kept");
	writer_bool(&w, e == NULL);
	if (e != NULL)
		writer_key_str(&w, "why", e->text);
	writer_close(&w, '}');
	return NULL;
}
