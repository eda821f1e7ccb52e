/*
 * GET and PUT /api/v1/kv/KEY: the playground's way to a key-value service
 * with ResilientDB's interface.
 *
 * KEY is read from the raw request URI, so that "%2F" and "//" reach the
 * target as they were meant.
 */
#include <string.h>

#include "fcgi/format/writer.h"
#include "fcgi/kv/kv_ask.h"
#include "fcgi/kv/kv_keys.h"
#include "fcgi/kv/pages.h"
#include "fcgi/kv/turn.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/settings.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define KV_PATH "/api/v1/kv/"
#define KV_KEY_MAX 1024u
#define KV_BACK_NS (5 * NS_PER_S) /* to find a value again */

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
	if (strcmp(key, ".") == 0 || strcmp(key, "..") == 0)
		return err_field(ERR_REQUEST, 422, "key", "\"%s\" cannot be in "
		    "a path, by which the target is asked: it is a step in "
		    "one", key);
	return NULL;
}

static void
kv_put_answer(struct writer *w, const char *key, const struct buf *json,
    int64_t latency_ns)
{
	writer_open(w, '{');
	writer_key_str(w, "key", key);
	writer_key(w, "value");
	writer_raw(w, (const char *)json->data, json->len);
	writer_key_seconds(w, "latency_seconds", latency_ns);
}

/* The key is sent as the target reads it; in both ways where nobody knows. */
static const struct err *
kv_get(struct context *c, const char *key, struct buf *json,
    int64_t *latency_ns)
{
	enum kv_reads reads;
	const struct err *e = kv_keys_reads(c, key, &reads), *raw;
	int64_t first_ns;

	if (e != NULL || (e = kv_keys_check(key, reads)) != NULL)
		return e;
	e = kv_ask_get(c, key, reads, json, latency_ns);
	if (e == NULL || e->code != 404 || reads != KV_UNKNOWN ||
	    kv_is_plain(key) || kv_unsent(key) != NULL)
		return e;
	first_ns = *latency_ns;
	raw = kv_ask_get(c, key, KV_RAW, json, latency_ns);
	*latency_ns += first_ns;
	/* who does not take the key as it stands has not got it */
	return raw == NULL || raw->code == 504 ? raw : e;
}

const struct err *
api_kv_get(struct context *c, struct request *rq, struct response *rs)
{
	char key[3 * KV_KEY_MAX + 1];
	struct writer w = writer_of(&rs->body);
	struct buf json = {0};
	const struct err *e;
	int64_t latency_ns;

	if ((e = kv_key(rq, key, sizeof(key))) != NULL ||
	    (e = kv_ask_check(c)) != NULL ||
	    (e = turn_wait(c->turns, TURN_KEYS)) != NULL)
		return e;
	e = kv_get(c, key, &json, &latency_ns);
	turn_end(c->turns, TURN_KEYS);
	if (e == NULL) {
		kv_put_answer(&w, key, &json, latency_ns);
		writer_close(&w, '}');
	}
	buf_fini(&json);
	return e;
}

/* What a reading back has found. */
struct kv_back {
	bool asked;
	int64_t stored_ns; /* until it had the value; -1: not within the time */
	struct buf why;    /* what it had instead, in words; may be empty */
};

/*
 * Asks until the key has this text.  A consensus may take its time, and an
 * older value is no error.
 */
static void
kv_read_back(struct context *c, const char *key, const struct buf *text,
    struct kv_back *back)
{
	int64_t began_ns = clock_mono_ns(), latency_ns;
	const struct err *e = NULL;
	struct buf json = {0};
	bool same = false;

	while (e == NULL && clock_mono_ns() - began_ns < KV_BACK_NS && !same) {
		buf_clear(&json);
		buf_clear(&back->why);
		e = kv_get(c, key, &json, &latency_ns);
		if (e != NULL && e->domain == ERR_REQUEST && e->code == 404) {
			e = NULL;
			buf_printf(&back->why, "after 5 seconds there is no "
			    "such key");
		} else if (e == NULL) {
			buf_printf(&back->why, "after 5 seconds it has "
			    "another value: ");
			same = kv_is_text(&json, (const char *)text->data,
			    text->len, &back->why);
		} else {
			buf_printf(&back->why, "%s", e->text);
		}
	}
	back->stored_ns = same ? clock_mono_ns() - began_ns : -1;
	buf_fini(&json);
}

/* What became of it: all that a 201 says is that it was taken. */
static void
kv_put_state(struct writer *w, const struct kv_back *back)
{
	bool stored = back->asked && back->stored_ns >= 0;

	writer_key_str(w, "state", stored ? "stored" : "accepted");
	if (!back->asked)
		return;
	writer_key(w, "stored_seconds");
	stored ? writer_seconds(w, back->stored_ns) : writer_null(w);
	if (stored)
		return;
	writer_key(w, "read_back");
	writer_strn(w, (const char *)back->why.data, back->why.len);
}

static const struct err *
kv_put(struct context *c, const char *key, const struct request *rq,
    struct kv_back *back, struct response *rs)
{
	struct buf json = {0};
	struct writer value = writer_of(&json), w = writer_of(&rs->body);
	const char *text = (const char *)rq->body.data;
	const struct err *e;
	int64_t latency_ns;

	/* Before the target is asked: no error may follow a write. */
	writer_strn(&value, text, rq->body.len);
	e = json.failed ? err_nomem() : kv_ask_put(c, key, text,
	    rq->body.len, &latency_ns);
	if (e == NULL && back->asked)
		kv_read_back(c, key, &rq->body, back);
	if (e == NULL) {
		kv_put_answer(&w, key, &json, latency_ns);
		kv_put_state(&w, back);
		writer_close(&w, '}');
	}
	buf_fini(&json);
	buf_fini(&back->why);
	return e;
}

const struct err *
api_kv_put(struct context *c, struct request *rq, struct response *rs)
{
	char key[3 * KV_KEY_MAX + 1];
	enum kv_reads reads;
	const struct err *e;
	int64_t back;

	if (!c->settings->kv_allow_put)
		return err_new(ERR_REQUEST, 403, "writing is switched off: see "
		    "allow-put in [kv] of memlens-fcgi.conf");
	if ((e = kv_key(rq, key, sizeof(key))) != NULL ||
	    (e = kv_keys_own(key)) != NULL ||
	    (e = kv_ask_check(c)) != NULL ||
	    (e = request_int(rq, "read-back", 0, 1, 0, &back)) != NULL)
		return e;
	if (!writer_utf8_valid((const char *)rq->body.data, rq->body.len))
		return err_field(ERR_REQUEST, 415, "value",
		    "the body is not UTF-8 text");
	if ((e = turn_wait(c->turns, TURN_KEYS)) != NULL)
		return e;
	if ((e = kv_keys_reads(c, key, &reads)) == NULL &&
	    (e = kv_keys_check(key, reads)) == NULL)
		e = kv_put(c, key, rq, &(struct kv_back){.asked = back == 1},
		    rs);
	turn_end(c->turns, TURN_KEYS);
	return e;
}
