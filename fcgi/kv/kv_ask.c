/*
 * A client and a connection for each request: people type slowly.
 */
#include "fcgi/kv/kv_ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/http/http.h"
#include "fcgi/server/context.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/settings.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/gone.h"

#define KV_ANSWER_MAX (4u << 20)
#define KV_LOOK_MS 200 /* how often we look whether somebody waits */

const struct err *
kv_ask_check(const struct context *c)
{
	if (c->settings->kv_target == NULL)
		return err_new(ERR_REQUEST, 404, "no key-value service is "
		    "configured: see target in [kv] of memlens-fcgi.conf");
	return NULL;
}

const struct err *
kv_ask_place(const char *target, struct http_place *place)
{
	bool url = strstr(target, "://") != NULL ||
	    strncmp(target, "unix:", 5) == 0;
	const struct err *e;
	char *text;

	if (asprintf(&text, "%s%s", url ? "" : "http://", target) < 0)
		return err_nomem();
	e = http_place_parse(place, text, false);
	free(text);
	return e == NULL ? NULL :
	    err_new(ERR_REQUEST, 502, "the target: %s", e->text);
}

/* Errors: 504 when the deadline passes, 502 for all else that goes wrong on
 * the way, gone_check()'s; the answer's own status is no error. */
static const struct err *
kv_ask_answered(const struct http_answer *a, const char *target)
{
	switch (a->state) {
	case HTTP_DONE:
		return NULL;
	case HTTP_LATE:
		return err_new(ERR_REQUEST, 504, "the target does not answer "
		    "in time");
	default:
		return err_new(ERR_REQUEST, 502, "the target %.100s: %s",
		    target, a->why);
	}
}

/* Asks, and hands the answer to whoever makes ours of it. */
const struct err *
kv_ask(const struct context *c, struct http_request *hr, struct kv_answer *out)
{
	const char *target = c->settings->kv_target;
	struct http_answer a = {.state = HTTP_NONE};
	int64_t began_ns = clock_mono_ns();
	struct http_place place;
	const struct err *e;
	struct http *h;

	*out = (struct kv_answer){.status = 0};
	if ((e = kv_ask_place(target, &place)) != NULL ||
	    (e = http_new(&h, "memlens", c->settings->kv_ca)) != NULL)
		return e;
	hr->place = &place;
	hr->accept = TYPE_JSON;
	hr->timeout_ns = c->settings->kv_timeout_ns;
	hr->answer_max = KV_ANSWER_MAX;
	http_start(h, hr, &a);
	while (a.state == HTTP_BUSY && (e = gone_check()) == NULL)
		http_wait(h, -1, KV_LOOK_MS);
	if (e == NULL)
		e = kv_ask_answered(&a, target);
	out->status = a.status;
	out->body = a.body;
	out->latency_ns = clock_mono_ns() - began_ns;
	a.body = (struct buf){0};
	http_end(h, &a);
	http_free(h);
	return e;
}

const struct err *
kv_ask_get(const struct context *c, const char *key, enum kv_reads reads,
    struct buf *json, int64_t *latency_ns)
{
	struct kv_answer answer;
	struct buf path = {0};
	struct http_request hr = {0};
	const struct err *e;

	kv_put_path(&path, key, reads);
	if (path.failed)
		return err_nomem();
	hr.path = (const char *)path.data;
	e = kv_ask(c, &hr, &answer);
	if (e == NULL)
		e = kv_value(&answer, json);
	*latency_ns = answer.latency_ns;
	buf_fini(&answer.body);
	buf_fini(&path);
	return e;
}

const struct err *
kv_ask_put(const struct context *c, const char *key, const char *text,
    size_t n, int64_t *latency_ns)
{
	struct kv_answer answer;
	struct buf body = {0};
	struct http_request hr = {.path = "/v1/transactions/commit",
	    .type = TYPE_JSON};
	const struct err *e;

	kv_put_body(&body, key, text, n);
	if (body.failed) {
		buf_fini(&body);
		return err_nomem();
	}
	hr.body = body.data;
	hr.n_body = body.len;
	e = kv_ask(c, &hr, &answer);
	if (e == NULL && answer.status != 201)
		e = err_new(ERR_REQUEST, 502, "the target answers %d instead "
		    "of 201", answer.status);
	*latency_ns = answer.latency_ns;
	buf_fini(&answer.body);
	buf_fini(&body);
	return e;
}
