/*
 * GET and PUT /api/v1/kv/KEY: the playground's way to a key-value service
 * with ResilientDB's interface.
 *
 * KEY is read from the raw request URI, so that "%2F" and "//" reach the
 * target as they were meant.  Nothing is retried: a target that hangs hangs
 * for the next request too.
 */
#include <string.h>

#include "fcgi/server/context.h"
#include "fcgi/format/writer.h"
#include "fcgi/kv/http_client.h"
#include "fcgi/kv/kv.h"
#include "fcgi/kv/pages.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/settings.h"
#include "store/base/err.h"

#define KV_PATH "/api/v1/kv/"
#define KV_KEY_MAX 1024u

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
	writer_key(w, "key");
	writer_str(w, key);
	writer_key(w, "value");
	writer_raw(w, json, n);
	writer_key(w, "latency_seconds");
	writer_seconds(w, latency_ns);
	writer_close(w, '}');
}

static const struct err *
kv_get(struct context *c, const char *key, struct response *rs)
{
	struct http_answer answer;
	struct buf path = {0}, value = {0};
	struct http_request hr = {.target = c->settings->kv_target,
	    .method = "GET", .timeout_ns = c->settings->kv_timeout_ns};
	struct writer w = writer_of(&rs->body);
	const struct err *e;

	kv_put_path(&path, key);
	if (path.failed)
		return err_nomem();
	hr.path = (const char *)path.data;
	e = http_do(&hr, &answer);
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
	struct http_answer answer;
	struct buf body = {0}, json = {0};
	struct http_request hr = {.target = c->settings->kv_target,
	    .method = "POST", .path = "/v1/transactions/commit",
	    .type = TYPE_JSON, .timeout_ns = c->settings->kv_timeout_ns};
	struct writer value = writer_of(&json), w = writer_of(&rs->body);
	const char *text = (const char *)rq->body.data;
	const struct err *e;

	writer_strn(&value, text, rq->body.len);
	kv_put_body(&body, key, text, rq->body.len);
	if (body.failed || json.failed) {
		buf_fini(&body);
		buf_fini(&json);
		return err_nomem();
	}
	hr.body = body.data;
	hr.n_body = body.len;
	e = http_do(&hr, &answer);
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
