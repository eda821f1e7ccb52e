/*
 * GET and PUT /api/v1/kv/KEY: the playground's way to a key-value service
 * with ResilientDB's interface.
 *
 * KEY is read from the raw request URI, so that "%2F" and "//" reach the
 * target as they were meant.  Nothing is retried: a target that hangs hangs
 * for the next request too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "fcgi/http/http.h"
#include "fcgi/kv/kv.h"
#include "fcgi/kv/pages.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/settings.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/gone.h"

#define KV_PATH "/api/v1/kv/"
#define KV_KEY_MAX 1024u
#define KV_ANSWER_MAX (4u << 20)
#define KV_LOOK_MS 200 /* how often we look whether somebody waits */

/* The key, decoded; at most a third of its percent-encoded form. */
static const struct err *
kv_key(const struct request *rq, char *key, size_t room)
{
	const char *raw = rq->path + strlen(KV_PATH);
	long n;

	if (strlen(raw) >= room)
		return err_field(ERR_REQUEST, 414, "key",
		    "is longer than %u bytes", KV_KEY_MAX);
	memcpy(key, raw, strlen(raw) + 1);
	n = request_decode(key, false);
	if (n < 0)
		return err_field(ERR_REQUEST, 400, "key",
		    "malformed percent-encoding");
	if (n == 0)
		return err_field(ERR_REQUEST, 400, "key", "is missing");
	if (n > (long)KV_KEY_MAX)
		return err_field(ERR_REQUEST, 414, "key",
		    "is longer than %u bytes", KV_KEY_MAX);
	if (strlen(key) != (size_t)n)
		return err_field(ERR_REQUEST, 400, "key", "has a NUL byte");
	if (!writer_utf8_valid(key, (size_t)n))
		return err_field(ERR_REQUEST, 400, "key", "is not UTF-8");
	return NULL;
}

static const struct err *
kv_check(const struct context *c)
{
	if (c->settings->kv_target == NULL)
		return err_new(ERR_REQUEST, 404, "no key-value service is "
		    "configured: see target in [kv] of memlens-fcgi.conf");
	return NULL;
}

static void
kv_put_answer(struct writer *w, const char *key, const char *json, size_t n,
    int64_t latency_ns)
{
	writer_open(w, '{');
	writer_key_str(w, "key", key);
	writer_key(w, "value");
	writer_raw(w, json, n);
	writer_key_seconds(w, "latency_seconds", latency_ns);
	writer_close(w, '}');
}

/* Where the target is; a name is not looked up, since that can take longer
 * than any deadline. */
static const struct err *
kv_place(const char *target, struct http_place *place)
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
kv_answered(const struct http_answer *a, const char *target)
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
static const struct err *
kv_ask(const struct context *c, struct http_request *hr, struct kv_answer *out)
{
	const char *target = c->settings->kv_target;
	struct http_answer a = {.state = HTTP_NONE};
	int64_t began_ns = clock_mono_ns();
	struct http_place place;
	const struct err *e;
	struct http *h;

	*out = (struct kv_answer){.status = 0};
	if ((e = kv_place(target, &place)) != NULL ||
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
		e = kv_answered(&a, target);
	out->status = a.status;
	out->body = a.body;
	out->latency_ns = clock_mono_ns() - began_ns;
	a.body = (struct buf){0};
	http_end(h, &a);
	http_free(h);
	return e;
}

static const struct err *
kv_get(struct context *c, const char *key, struct response *rs)
{
	struct kv_answer answer;
	struct buf path = {0}, value = {0};
	struct http_request hr = {0};
	struct writer w = writer_of(&rs->body);
	const struct err *e;

	kv_put_path(&path, key);
	if (path.failed)
		return err_nomem();
	hr.path = (const char *)path.data;
	e = kv_ask(c, &hr, &answer);
	if (e == NULL)
		e = kv_value(&answer, &value);
	if (e == NULL)
		kv_put_answer(&w, key, (const char *)value.data, value.len,
		    answer.latency_ns);
	buf_fini(&answer.body);
	buf_fini(&value);
	buf_fini(&path);
	return e;
}

const struct err *
api_kv_get(struct context *c, struct request *rq, struct response *rs)
{
	char key[3 * KV_KEY_MAX + 1];
	const struct err *e;

	if ((e = kv_key(rq, key, sizeof(key))) != NULL ||
	    (e = kv_check(c)) != NULL)
		return e;
	return kv_get(c, key, rs);
}

static const struct err *
kv_put(struct context *c, const char *key, const struct request *rq,
    struct response *rs)
{
	struct kv_answer answer;
	struct buf body = {0}, json = {0};
	struct http_request hr = {.path = "/v1/transactions/commit",
	    .type = TYPE_JSON};
	struct writer value = writer_of(&json), w = writer_of(&rs->body);
	const char *text = (const char *)rq->body.data;
	const struct err *e;

	/* Both before the target is asked: no error may follow a write. */
	writer_strn(&value, text, rq->body.len);
	kv_put_body(&body, key, text, rq->body.len);
	if (body.failed || json.failed) {
		buf_fini(&body);
		buf_fini(&json);
		return err_nomem();
	}
	hr.body = body.data;
	hr.n_body = body.len;
	e = kv_ask(c, &hr, &answer);
	if (e == NULL && answer.status != 201)
		e = err_new(ERR_REQUEST, 502, "the target answers %d instead "
		    "of 201", answer.status);
	if (e == NULL)
		kv_put_answer(&w, key, (const char *)json.data, json.len,
		    answer.latency_ns);
	buf_fini(&answer.body);
	buf_fini(&body);
	buf_fini(&json);
	return e;
}

const struct err *
api_kv_put(struct context *c, struct request *rq, struct response *rs)
{
	char key[3 * KV_KEY_MAX + 1];
	const struct err *e;

	if (!c->settings->kv_allow_put)
		return err_new(ERR_REQUEST, 403, "writing is switched off: see "
		    "allow-put in [kv] of memlens-fcgi.conf");
	if ((e = kv_key(rq, key, sizeof(key))) != NULL ||
	    (e = kv_check(c)) != NULL)
		return e;
	if (!writer_utf8_valid((const char *)rq->body.data, rq->body.len))
		return err_field(ERR_REQUEST, 415, "value",
		    "the body is not UTF-8 text");
	return kv_put(c, key, rq, rs);
}
