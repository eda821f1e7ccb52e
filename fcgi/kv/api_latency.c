/*
 * POST /api/v1/actions/latency-test: the latency of SET, by writes of our own
 * under a reserved prefix, which somebody has to confirm.  There is one test
 * at a time; what came of it is kept as a named run.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "fcgi/kv/action.h"
#include "fcgi/kv/kv_ask.h"
#include "fcgi/kv/kv_keys.h"
#include "fcgi/kv/latency_run.h"
#include "fcgi/kv/pages.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/settings.h"
#include "store/base/clock.h"
#include "store/base/err.h"

/* A member of the body that is a number, or `fallback`. */
static const struct err *
latency_number(struct json_object *in, const char *key, double min,
    double max, double fallback, double *out)
{
	struct json_object *v;

	*out = fallback;
	if (!json_object_object_get_ex(in, key, &v) || v == NULL)
		return NULL;
	if (json_object_is_type(v, json_type_int) ||
	    json_object_is_type(v, json_type_double))
		*out = json_object_get_double(v);
	else
		*out = max + 1;
	if (!(*out >= min && *out <= max))
		return err_field(ERR_REQUEST, 400, key,
		    "is no number from %g to %g", min, max);
	return NULL;
}

static const struct err *
latency_samples(struct json_object *in, uint32_t *out)
{
	double n;
	const struct err *e = latency_number(in, "samples",
	    LATENCY_SAMPLES_MIN, LATENCY_SAMPLES_MAX, LATENCY_SAMPLES_MIN,
	    &n);

	if (e == NULL && n != (uint32_t)n)
		e = err_field(ERR_REQUEST, 400, "samples",
		    "is no whole number");
	if (e == NULL)
		*out = (uint32_t)n;
	return e;
}

static const struct err *
latency_flag(struct json_object *in, const char *key, bool *out)
{
	struct json_object *v;

	if (!json_object_object_get_ex(in, key, &v))
		return NULL;
	if (!json_object_is_type(v, json_type_boolean))
		return err_field(ERR_REQUEST, 400, key,
		    "is neither true nor false");
	*out = json_object_get_boolean(v);
	return NULL;
}

static const struct err *
latency_read(const struct request *rq, struct latency_run *r)
{
	struct json_object *in;
	const struct err *e = action_body(rq, "writes to the database", &in);

	r->committed = true;
	if (e == NULL && (e = latency_samples(in, &r->samples)) == NULL &&
	    (e = latency_number(in, "rate", 0, LATENCY_RATE_MAX, 0,
	    &r->rate)) == NULL &&
	    (e = latency_flag(in, "committed", &r->committed)) == NULL &&
	    r->rate > 0 && r->samples / r->rate > LATENCY_TIME_S)
		e = err_field(ERR_REQUEST, 400, "rate", "so many samples "
		    "would take more than %d s", LATENCY_TIME_S);
	json_object_put(in);
	return e;
}

/* What people read, in milliseconds. */
static void
latency_words(const struct latency_run *r, char *out, size_t room)
{
	double a = (double)latency_quantile(&r->accepted, 990) / 1e6;
	double c = (double)latency_quantile(&r->after_commit, 990) / 1e6;
	int n = snprintf(out, room, "SET, %u of %u sent", r->sent, r->samples);

	if (n > 0 && r->accepted.n > 0)
		n += snprintf(out + n, room - (size_t)n,
		    ", accepted p99 %.3g ms (%u)", a, r->accepted.n);
	if (n > 0 && r->after_commit.n > 0)
		n += snprintf(out + n, room - (size_t)n,
		    ", committed p99 %.3g ms (%u)", c, r->after_commit.n);
	if (n > 0 && r->unread > 0)
		n += snprintf(out + n, room - (size_t)n,
		    ", %u not there after 5 s", r->unread);
	if (n > 0 && r->stopped[0] != '\0')
		snprintf(out + n, room - (size_t)n, "; stopped: %s",
		    r->stopped);
}

/* The run as it is kept (fcgi/api/runs.h), with what was measured. */
static void
latency_put_run(struct writer *w, const struct latency_run *r,
    const char *name, int64_t from_ns, int64_t until_ns)
{
	double took_s = (double)r->took_ns / 1e9;
	char notes[400];

	latency_words(r, notes, sizeof(notes));
	writer_open(w, '{');
	writer_key_str(w, "name", name);
	writer_key_seconds(w, "from", from_ns);
	writer_key_seconds(w, "until", until_ns);
	writer_key_str(w, "label", r->rate > 0 ? "latency test, open loop"
	    : "latency test, in sequence");
	writer_key_str(w, "client", "MemLens");
	writer_key_str(w, "notes", notes);
	if (r->rate > 0) {
		writer_key(w, "rate_target");
		writer_decimal(w, (int128)(r->rate * 1e6), 6);
	}
	if (r->accepted.n > 0 && took_s > 0) {
		writer_key(w, "rate_reached"); /* by what was answered */
		writer_decimal(w, (int128)(r->accepted.n / took_s * 1e6), 6);
	}
	writer_key_open(w, "latency", '{');
	writer_key_str(w, "keys", r->prefix);
	writer_key_int(w, "samples", r->samples);
	writer_key_int(w, "sent", r->sent);
	writer_key(w, "stopped");
	r->stopped[0] != '\0' ? writer_str(w, r->stopped) : writer_null(w);
	writer_key(w, "accepted");
	latency_put(w, &r->accepted);
	writer_key(w, "committed");
	r->committed ? latency_put(w, &r->after_commit) : writer_null(w);
	writer_key_int(w, "unread", r->unread);
	writer_close(w, '}');
	writer_key_seconds(w, "recorded", until_ns);
	writer_close(w, '}');
}

/* Measures, keeps, answers: a run that cannot be kept was measured. */
static const struct err *
latency_test(struct context *c, const struct request *rq,
    struct latency_run *r, struct response *rs)
{
	int64_t from_ns = clock_wall_ns();
	char name[ACTION_NAME_MAX];
	struct buf run = {0};
	struct writer kept = writer_of(&run);
	const struct err *e;

	action_name("latency of SET", rq->now_ns, name);
	snprintf(r->prefix, sizeof(r->prefix), KV_KEYS_PREFIX "p99-%lld-",
	    (long long)(rq->now_ns / NS_PER_MS));
	if ((e = latency_run(c, r)) == NULL) {
		latency_put_run(&kept, r, name, from_ns, clock_wall_ns());
		e = action_keep(c, name, &run, rs);
	}
	buf_fini(&run);
	return e;
}

const struct err *
api_latency_post(struct context *c, struct request *rq, struct response *rs)
{
	struct latency_run *r;
	const struct err *e;

	if (!c->settings->kv_allow_put)
		return err_new(ERR_REQUEST, 403, "writing is switched off: see "
		    "allow-put in [kv] of memlens-fcgi.conf");
	if ((e = kv_ask_check(c)) != NULL)
		return e;
	if ((r = calloc(1, sizeof(*r))) == NULL)
		return err_nomem();
	if ((e = latency_read(rq, r)) == NULL &&
	    (e = action_begin(c)) == NULL) {
		e = latency_test(c, rq, r, rs);
		action_end(c);
	}
	free(r);
	return e;
}
