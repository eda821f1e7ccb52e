/*
 * One loop for both ways: what is due is sent, what was answered is counted.
 */
#include "fcgi/kv/latency_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/http/http.h"
#include "fcgi/kv/kv_ask.h"
#include "fcgi/server/context.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/settings.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/gone.h"

#define RUN_FLIGHT 64 /* writes that are not answered; more wait, late */
#define RUN_UNREAD_NS (5 * NS_PER_S)
#define RUN_LOOK_MS 100
#define RUN_AGAIN_NS (10 * NS_PER_MS) /* after a read that found nothing */
#define RUN_ANSWER_MAX 65536u

struct run_request {
	struct http_answer answer;
	struct buf text; /* the body, or the path */
	uint32_t sample;
	int64_t due_ns; /* monotonic: of the write */
	bool busy;
};

struct run {
	struct latency_run *r;
	const struct settings *settings;
	struct http *http;
	struct http_place place;
	struct run_request writes[RUN_FLIGHT], read;
	uint32_t flying; /* writes that are busy */
	int64_t again_ns; /* monotonic: when to read again; 0: not */
	int64_t began_ns;
};

static void
run_key(const struct run *x, uint32_t sample, char *out, size_t room)
{
	snprintf(out, room, "%s%u", x->r->prefix, sample);
}

static void
run_stop(struct run *x, const char *what, const char *why)
{
	if (x->r->stopped[0] == '\0')
		snprintf(x->r->stopped, sizeof(x->r->stopped), "%s: %s", what,
		    why);
}

static bool
run_stopped(const struct run *x)
{
	return x->r->stopped[0] != '\0';
}

/* When a write is to be sent. */
static int64_t
run_due_ns(const struct run *x, uint32_t sample)
{
	return x->r->rate > 0 ? x->began_ns +
	    (int64_t)((double)sample * 1e9 / x->r->rate) : clock_mono_ns();
}

static void
run_start(struct run *x, struct run_request *q, struct http_request *hr)
{
	if (q->text.failed) {
		run_stop(x, "here", "out of memory");
		return;
	}
	hr->place = &x->place;
	hr->accept = TYPE_JSON;
	hr->timeout_ns = x->settings->kv_timeout_ns;
	hr->answer_max = RUN_ANSWER_MAX;
	q->busy = true;
	http_start(x->http, hr, &q->answer);
}

static void
run_write(struct run *x, struct run_request *q, uint32_t sample,
    int64_t due_ns)
{
	struct http_request hr = {.path = "/v1/transactions/commit",
	    .type = TYPE_JSON};
	char key[96];

	run_key(x, sample, key, sizeof(key));
	buf_clear(&q->text);
	kv_put_body(&q->text, key, key, strlen(key));
	q->sample = sample;
	q->due_ns = due_ns;
	hr.body = q->text.data;
	hr.n_body = q->text.len;
	x->r->sent++;
	x->flying++;
	run_start(x, q, &hr);
}

static bool
run_is_reading(const struct run *x)
{
	return x->read.busy || x->again_ns != 0;
}

static void
run_read(struct run *x, uint32_t sample, int64_t due_ns)
{
	struct http_request hr = {0};
	char key[96];

	run_key(x, sample, key, sizeof(key));
	buf_clear(&x->read.text);
	kv_put_path(&x->read.text, key, KV_RAW); /* plain */
	x->read.sample = sample;
	x->read.due_ns = due_ns;
	x->again_ns = 0;
	hr.path = (const char *)x->read.text.data;
	run_start(x, &x->read, &hr);
}

/* Sends what is due. */
static void
run_send(struct run *x)
{
	size_t free = 0;

	while (!run_stopped(x) && x->r->sent < x->r->samples) {
		int64_t due_ns = run_due_ns(x, x->r->sent);

		if (x->r->rate > 0 ? due_ns > clock_mono_ns()
				   : x->flying > 0 || run_is_reading(x))
			return;
		while (free < RUN_FLIGHT && x->writes[free].busy)
			free++;
		if (free == RUN_FLIGHT)
			return;
		run_write(x, &x->writes[free], x->r->sent, due_ns);
	}
}

/* Ends a request; whether it was answered, and by this status. */
static bool
run_end(struct run *x, struct run_request *q, const char *what, int status)
{
	char why[64];

	q->busy = false;
	if (q->answer.state == HTTP_LATE)
		run_stop(x, what, "the target does not answer in time");
	else if (q->answer.state != HTTP_DONE)
		run_stop(x, what, q->answer.why);
	else if (q->answer.status != status) {
		snprintf(why, sizeof(why), "the target answers %d",
		    q->answer.status);
		run_stop(x, what, why);
	} else
		return true;
	return false;
}

static void
run_written(struct run *x, struct run_request *q, int64_t now_ns)
{
	x->flying--;
	if (run_end(x, q, "a write", 201)) {
		latency_observe(&x->r->accepted, now_ns - q->due_ns);
		x->r->took_ns = now_ns - x->began_ns;
		if (x->r->committed && !run_is_reading(x) && !run_stopped(x))
			run_read(x, q->sample, q->due_ns);
	}
	http_end(x->http, &q->answer);
}

static void
run_has_read(struct run *x, int64_t now_ns)
{
	struct run_request *q = &x->read;
	bool answered = run_end(x, q, "a read", 200);
	bool there = answered && q->answer.body.len > 0;

	http_end(x->http, &q->answer);
	if (there)
		latency_observe(&x->r->after_commit, now_ns - q->due_ns);
	else if (answered && now_ns - q->due_ns > RUN_UNREAD_NS)
		x->r->unread++;
	else if (answered)
		x->again_ns = now_ns + RUN_AGAIN_NS;
}

static void
run_take(struct run *x)
{
	int64_t now_ns = clock_mono_ns();

	for (size_t i = 0; i < RUN_FLIGHT; i++)
		if (x->writes[i].busy &&
		    x->writes[i].answer.state != HTTP_BUSY)
			run_written(x, &x->writes[i], now_ns);
	if (x->read.busy && x->read.answer.state != HTTP_BUSY)
		run_has_read(x, now_ns);
	if (x->again_ns != 0 && x->again_ns <= now_ns && !run_stopped(x))
		run_read(x, x->read.sample, x->read.due_ns);
	if (now_ns - x->began_ns > LATENCY_TIME_S * NS_PER_S)
		run_stop(x, "the test", "its time is over");
}

/* In whole milliseconds, down: a write is rather looked at once more than
 * sent late. */
static int
run_wait_ms(const struct run *x)
{
	int64_t ms = x->again_ns != 0 ? RUN_AGAIN_NS / NS_PER_MS
				      : RUN_LOOK_MS;

	if (x->r->rate > 0 && x->r->sent < x->r->samples)
		ms = (run_due_ns(x, x->r->sent) - clock_mono_ns()) / 1000000;
	return ms < 0 ? 0 : ms < RUN_LOOK_MS ? (int)ms : RUN_LOOK_MS;
}

static const struct err *
run_loop(struct run *x)
{
	const struct err *e = NULL;

	x->began_ns = clock_mono_ns();
	while (!run_stopped(x) && (e = gone_check()) == NULL) {
		run_send(x);
		if (x->r->sent == x->r->samples && x->flying == 0 &&
		    !run_is_reading(x))
			break;
		http_wait(x->http, -1, run_wait_ms(x));
		run_take(x);
	}
	return e;
}

static void
run_fini(struct run *x, struct run_request *q)
{
	if (q->busy)
		http_end(x->http, &q->answer);
	buf_fini(&q->text);
}

const struct err *
latency_run(struct context *c, struct latency_run *r)
{
	struct run *x = calloc(1, sizeof(*x));
	const struct err *e;

	if (x == NULL)
		return err_nomem();
	x->r = r;
	x->settings = c->settings;
	if ((e = kv_ask_place(c->settings->kv_target, &x->place)) == NULL &&
	    (e = http_new(&x->http, "memlens", c->settings->kv_ca)) == NULL)
		e = run_loop(x);
	for (size_t i = 0; i < RUN_FLIGHT; i++)
		run_fini(x, &x->writes[i]);
	run_fini(x, &x->read);
	http_free(x->http);
	free(x);
	return e;
}
