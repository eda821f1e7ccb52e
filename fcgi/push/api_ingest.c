/*
 * POST /ingest: a profile in any of Pyroscope's formats, and in ours.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fcgi/format/gzip.h"
#include "fcgi/format/in/folded.h"
#include "fcgi/format/in/foreign.h"
#include "fcgi/format/in/texttype.h"
#include "fcgi/format/jfr/jfr.h"
#include "fcgi/format/pprof/pprof.h"
#include "fcgi/format/stacks.h"
#include "fcgi/format/writer.h"
#include "fcgi/push/ingest.h"
#include "fcgi/push/ingest_jfr.h"
#include "fcgi/push/ingest_pprof.h"
#include "fcgi/push/pages.h"
#include "fcgi/push/push.h"
#include "fcgi/push/push_cache.h"
#include "fcgi/pyroscope/appname.h"
#include "fcgi/pyroscope/attime.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch_client.h"
#include "store/model/types.h"
#include "store/model/unit.h"

struct ingest {
	struct request *rq;
	struct appname app;
	int64_t from_ns, until_ns;
	int64_t rate; /* Hz */
	struct context *c;
	struct stacks *stacks; /* NULL: not chosen yet */
	bool kept;             /* they are the context's */
	const char *format;    /* a constant */
};


/* ---- parameters ---- */

static const struct err *
ingest_time(const struct request *rq, const char *name, int64_t *ns)
{
	const char *text = request_text(rq, name);
	const struct err *e;

	e = attime_parse(text != NULL ? text : "", rq->now_ns, ns);
	return e == NULL ? NULL
			 : err_field(e->domain, e->code, name, "%s", e->text);
}

static const struct err *
ingest_params(struct ingest *in)
{
	const struct request *rq = in->rq;
	const struct err *e;
	const char *name;

	if ((e = request_int(rq, "sampleRate", 1, NS_PER_S,
	    TEXTTYPE_RATE, &in->rate)) != NULL ||
	    (e = request_need(rq, "name", &name)) != NULL ||
	    (e = appname_parse(&in->app, name)) != NULL ||
	    (e = ingest_time(rq, "from", &in->from_ns)) != NULL ||
	    (e = ingest_time(rq, "until", &in->until_ns)) != NULL)
		return e;
	/* Pyroscope never compares the two, and an agent's last flush of a
	 * window may say its end late: it is a profile of `from` */
	if (in->until_ns < in->from_ns)
		in->until_ns = in->from_ns;
	return NULL;
}

/* ---- text and trees: one type, which the name says ---- */

static const struct err *
ingest_type(struct ingest *in, struct stacks_type *t)
{
	const char *sum = request_text(in->rq, "aggregationType");
	const struct type *known = appname_suffix(in->app.service);
	const struct err *e;

	if (known != NULL)
		appname_cut(&in->app);
	e = texttype_of(t, known != NULL ? known->name : NULL,
	    request_text(in->rq, "units"), in->rate);
	if (sum != NULL && strncmp(sum, "av", 2) == 0)
		t->kind = SERIES_STOCK;
	else if (sum != NULL && strcmp(sum, "sum") == 0)
		t->kind = SERIES_FLOW;
	return e;
}

static const struct err *
ingest_new_stacks(struct ingest *in)
{
	in->stacks = stacks_new(&stacks_limits_push);
	return in->stacks != NULL ? NULL : err_nomem();
}

/* Those that know the lines of the requests before. */
static const struct err *
ingest_kept_stacks(struct ingest *in)
{
	struct context *c = in->c;

	if (c->kept != NULL)
		in->stacks = push_cache_stacks(c->kept);
	if (in->stacks == NULL) {
		push_cache_free(c->kept);
		if ((c->kept = push_cache_new()) == NULL)
			return err_nomem();
		in->stacks = push_cache_stacks(c->kept);
	}
	in->kept = true;
	return NULL;
}

static const struct err *
ingest_typed(struct ingest *in, const struct foreign *f)
{
	struct stacks_type type;
	const struct err *e;
	bool text = f->typed == folded_parse || f->typed == folded_parse_lines;
	bool lines = text && (in->c->post == NULL ||
	    !batch_client_is_whole(in->c->post));

	e = lines && in->rq->body.len <= PUSH_CACHE_TEXT_MAX
	    ? ingest_kept_stacks(in) : ingest_new_stacks(in);
	if (e != NULL)
		return e;
	e = ingest_type(in, &type);
	return e != NULL ? e : f->typed(in->stacks, in->rq->body.data,
	    in->rq->body.len, &type);
}

/* ---- profiles that name their types ---- */

static bool
ingest_is_form(const struct request *rq)
{
	return strcasestr(rq->content_type, "multipart/form-data") != NULL;
}

static const struct err *
ingest_pprof(struct ingest *in)
{
	const struct request *rq = in->rq;
	const char *spy = request_text(rq, "spyName");
	bool files = spy != NULL && (strcmp(spy, "pyspy") == 0 ||
	    strcmp(spy, "rbspy") == 0);
	const struct err *e;

	if ((e = ingest_new_stacks(in)) != NULL)
		return e;
	if (ingest_is_form(rq) && rq->body.len > 2 &&
	    memcmp(rq->body.data, "--", 2) == 0)
		return ingest_pprof_form(&in->stacks, rq->content_type,
		    rq->body.data, rq->body.len, files);
	return ingest_pprof_raw(in->stacks, rq->body.data, rq->body.len,
	    files);
}

/* Pyroscope's agent calls its application after the event that it sampled by,
 * "app.itimer", whatever types are in the recording. */
static const struct err *
ingest_jfr(struct ingest *in)
{
	const struct request *rq = in->rq;
	bool said = request_text(rq, "sampleRate") != NULL;
	const struct err *e;

	if ((e = ingest_new_stacks(in)) != NULL)
		return e;
	e = ingest_jfr_body(in->stacks, ingest_is_form(rq) ? rq->content_type
	    : NULL, rq->body.data, rq->body.len, said ? in->rate : 0);
	if (e == NULL && appname_suffix(in->app.service) != NULL)
		appname_cut(&in->app);
	return e;
}

/* Files that say how much but not of what, as speedscope's: "app.cpu" is of
 * the type that its suffix names, where that counts in the same unit, or in
 * samples. */
static const struct err *
ingest_name_type(struct ingest *in)
{
	const struct type *known = appname_suffix(in->app.service);
	struct stacks_type is, says;
	const struct err *e;
	bool samples;

	if (known == NULL || stacks_n_types(in->stacks) != 1)
		return NULL;
	stacks_get_type(in->stacks, 0, &is);
	samples = strcmp(is.unit, "samples") == 0;
	if (strcmp(is.name, known->name) == 0 ||
	    (!samples && !unit_same(is.unit, known->unit)))
		return NULL;
	if ((e = ingest_type(in, &says)) != NULL)
		return e;
	if (!samples) {
		says.period = is.period;
		says.unit = is.unit;
	}
	stacks_retype(in->stacks, 0, &says);
	return NULL;
}

static const struct err *
ingest_foreign(struct ingest *in, const struct foreign *f)
{
	const struct err *e;

	if ((e = ingest_new_stacks(in)) != NULL)
		return e;
	e = foreign_parse(in->stacks, f->name, in->rq->body.data,
	    in->rq->body.len, REQUEST_PLAIN_MAX);
	if (e == NULL && stacks_error(in->stacks) == NULL)
		e = ingest_name_type(in);
	return e;
}

/* ---- which format ---- */

static const struct err *
ingest_as(struct ingest *in, const struct foreign *f)
{
	in->format = f->name;
	if (f->parse == pprof_parse)
		return ingest_pprof(in);
	if (f->parse == jfr_parse)
		return ingest_jfr(in);
	return f->typed != NULL ? ingest_typed(in, f) : ingest_foreign(in, f);
}

/* Bytes that no text has in its beginning. */
static bool
ingest_is_binary(const struct buf *b)
{
	for (size_t i = 0; i < b->len && i < 100; i++)
		if (b->data[i] < 32 && memchr("\t\n\r", b->data[i], 3) == NULL)
			return true;
	return false;
}

/* What a request says nothing of, or nothing that is known. */
static const struct err *
ingest_any(struct ingest *in, bool said)
{
	const struct foreign *pair = foreign_find("folded-pair");
	const struct buf *b = &in->rq->body;
	const struct foreign *f = foreign_guess(b->data,
	    b->len < FOREIGN_LOOK ? b->len : FOREIGN_LOOK);

	if (f != NULL && f->sure)
		return ingest_as(in, f);
	if (ingest_is_binary(b))
		return ingest_as(in, foreign_find("pprof"));
	/* agents say no format: frames of theirs may end in numbers, but then
	 * not all */
	if (!said && pair->looks((const char *)b->data, b->len))
		return foreign_single(pair);
	return ingest_as(in, foreign_find("folded"));
}

/* A form is a pprof, whatever else is said but that it is a recording. */
static const struct err *
ingest_parse(struct ingest *in)
{
	const char *format = request_text(in->rq, "format");
	const struct foreign *f = foreign_of_content(in->rq->content_type);

	if (f == NULL && format != NULL)
		f = foreign_find(format);
	if (ingest_is_form(in->rq) && (f == NULL || f->parse != jfr_parse))
		f = foreign_find("pprof");
	return f != NULL ? ingest_as(in, f) : ingest_any(in, format != NULL);
}

/* ---- a whole request ---- */

/* gzip in the body itself, whatever the headers say. */
static const struct err *
ingest_unpack(struct request *rq)
{
	struct buf plain = {0};
	const struct err *e;

	if (!gzip_looks(rq->body.data, rq->body.len))
		return NULL;
	e = gzip_inflate(&plain, rq->body.data, rq->body.len,
	    REQUEST_PLAIN_MAX);
	buf_fini(&rq->body);
	rq->body = plain;
	return e;
}

/* "app.cpu" with a profile that has a type "cpu" is the service "app". */
static void
ingest_cut_name(struct ingest *in)
{
	const struct type *known = appname_suffix(in->app.service);
	struct stacks_type t;

	for (uint32_t i = 0; known != NULL && i < stacks_n_types(in->stacks);
	    i++) {
		stacks_get_type(in->stacks, i, &t);
		if (strcmp(t.name, known->name) == 0) {
			appname_cut(&in->app);
			return;
		}
	}
}

static void
ingest_put_types(struct writer *w, const struct stacks *s)
{
	writer_key_open(w, "types", '[');
	for (uint32_t t = 0; t < stacks_n_types(s); t++) {
		struct stacks_type type;

		stacks_get_type(s, t, &type);
		writer_open(w, '{');
		writer_key_str(w, "name", type.name);
		writer_key_str(w, "unit", type.unit);
		writer_key_int(w, "period", type.period);
		writer_key_int(w, "accepted", stacks_total(s, t));
		writer_close(w, '}');
	}
	writer_close(w, ']');
}

static void
ingest_put_skipped(struct writer *w, const struct stacks *s,
    size_t labels_left_out)
{
	struct stacks_skipped skipped;

	writer_key_open(w, "skipped", '[');
	for (size_t i = 0; i < stacks_n_skipped(s); i++) {
		stacks_get_skipped(s, i, &skipped);
		writer_open(w, '{');
		writer_key_str(w, "reason", skipped.why);
		writer_key_int(w, "count", (int64_t)skipped.n);
		writer_close(w, '}');
	}
	writer_close(w, ']');
	writer_key_int(w, "labels_left_out", (int64_t)labels_left_out);
}

static const struct err *
ingest_take(struct ingest *in, struct context *c, struct response *rs)
{
	struct writer w = writer_of(&rs->body);
	struct ingest_report report = {in->format, 1, in->stacks};
	struct push_window window = {in->app.service, in->app.labels,
	    in->app.n_labels, in->from_ns, in->until_ns};
	struct push *p = NULL;
	const struct err *e;

	e = ingest_begin(c, in->rq, in->kept, &p);
	if (e == NULL)
		e = push_add(p, in->stacks, &window);
	if (e == NULL) {
		push_mean(p, stacks_mean(in->stacks), &window);
		push_places(p, &c->told, in->stacks, &window);
	}
	if (e == NULL)
		e = ingest_send(c, in->rq, p, &report, rs);
	if (e == NULL) {
		writer_open(&w, '{');
		writer_key_str(&w, "service", in->app.service);
		writer_key_str(&w, "format", in->format);
		ingest_put_types(&w, in->stacks);
		writer_key_int(&w, "dropped", 0);
		ingest_put_skipped(&w, in->stacks, in->app.left_out);
		writer_key_int(&w, "batches", (int64_t)push_n_batches(p));
		writer_close(&w, '}');
	}
	push_free(p);
	return e;
}

/* What an error has left half done is not kept. */
static void
ingest_end(struct ingest *in, const struct err *e)
{
	if (!in->kept)
		stacks_free(in->stacks);
	if (e != NULL && in->kept) {
		push_cache_free(in->c->kept);
		in->c->kept = NULL;
	}
	appname_free(&in->app);
}

const struct err *
api_ingest(struct context *c, struct request *rq, struct response *rs)
{
	struct ingest in = {.rq = rq, .c = c};
	const struct err *e;

	if ((e = ingest_params(&in)) == NULL &&
	    (e = request_unpack(rq)) == NULL &&
	    (e = ingest_unpack(rq)) == NULL && (e = ingest_parse(&in)) == NULL)
		e = stacks_error(in.stacks);
	if (e == NULL)
		ingest_cut_name(&in);
	if (e == NULL)
		e = ingest_take(&in, c, rs);
	else if (e->domain == ERR_FORMAT)
		e = err_new(ERR_REQUEST, 422, "%s", e->text);
	else if (e->domain == ERR_ERRNO)
		e = err_new(ERR_REQUEST, 413, "too large for the memory that "
		    "a worker may have");
	ingest_end(&in, e);
	return e;
}
