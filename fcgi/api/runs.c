/*
 * Runs out of the store, and what a client says into one.  json-c parses
 * both: anyone in the socket's group can write a fact.
 */
#include "fcgi/api/runs.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/api/runs_host.h"
#include "fcgi/format/writer.h"
#include "fcgi/server/request.h"
#include "fcgi/server/timespec.h"
#include "store/base/array.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/store.h"

/* ---- out of the store ---- */

struct runs_list {
	struct run *runs;
	size_t n, cap;
	bool failed;
};

struct json_object *
runs_parse(const char *text, size_t n)
{
	struct json_tokener *t = json_tokener_new_ex(8);
	struct json_object *o;

	if (t == NULL)
		return NULL;
	json_tokener_set_flags(t, JSON_TOKENER_STRICT |
	    JSON_TOKENER_VALIDATE_UTF8);
	o = json_tokener_parse_ex(t, text, (int)n);
	if (json_tokener_get_error(t) == json_tokener_continue)
		/* the end of a text that has no NUL */
		o = json_tokener_parse_ex(t, "", 1);
	if (json_tokener_get_error(t) != json_tokener_success ||
	    !json_object_is_type(o, json_type_object)) {
		json_object_put(o);
		o = NULL;
	}
	json_tokener_free(t);
	return o;
}

static struct run *
runs_find(struct runs_list *l, const char *name)
{
	struct run *more;

	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->runs[i].name, name) == 0)
			return &l->runs[i];
	if (!array_room(&l->runs, l->n + 1, &l->cap)) {
		l->failed = true;
		return NULL;
	}
	more = &l->runs[l->n++];
	*more = (struct run){.recorded_ns = -1};
	snprintf(more->name, sizeof(more->name), "%s", name);
	return more;
}

static bool
runs_take(void *arg, int64_t time_ns, const char *subject, const void *data,
    size_t n)
{
	struct runs_list *l = arg;
	struct json_object *o;
	struct run *r;

	if (strlen(subject) > RUNS_NAME_MAX || n > RUNS_JSON_MAX ||
	    (o = runs_parse(data, n)) == NULL)
		return true;
	r = runs_find(l, subject);
	if (r == NULL || time_ns < r->recorded_ns) {
		json_object_put(o);
		return !l->failed;
	}
	json_object_put(r->object);
	r->object = o;
	r->recorded_ns = time_ns;
	return true;
}

static double
runs_from(const struct run *r)
{
	struct json_object *v;

	return json_object_object_get_ex(r->object, "from", &v)
	    ? json_object_get_double(v) : 0;
}

static int
runs_compare(const void *a, const void *b)
{
	const struct run *x = a, *y = b;
	double from = runs_from(x), other = runs_from(y);

	if (from != other)
		return from > other ? -1 : 1;
	return strcmp(x->name, y->name);
}

void
runs_free(struct run *runs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_object_put(runs[i].object);
	free(runs);
}

/* Takes out the runs that were removed. */
static void
runs_drop(struct runs_list *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct json_object *v;

		if (json_object_object_get_ex(l->runs[i].object, "removed",
		    &v) && json_object_get_boolean(v))
			json_object_put(l->runs[i].object);
		else
			l->runs[kept++] = l->runs[i];
	}
	l->n = kept;
}

const struct err *
runs_list(struct store *s, struct run **out, size_t *n)
{
	struct runs_list l = {0};
	const struct err *e;

	*out = NULL;
	*n = 0;
	e = store_each_fact(s, FACT_RUN, 0, INT64_MAX, runs_take, &l);
	if (e == NULL && l.failed)
		e = err_nomem();
	if (e != NULL) {
		runs_free(l.runs, l.n);
		return e;
	}
	runs_drop(&l);
	if (l.n > 0)
		qsort(l.runs, l.n, sizeof(*l.runs), runs_compare);
	while (l.n > RUNS_MAX)
		json_object_put(l.runs[--l.n].object);
	*out = l.runs;
	*n = l.n;
	return NULL;
}

/* ---- from a client ---- */

/* What a client may say, and nothing else is kept. */
static const char *const runs_texts[] = {"label", "build_id", "revision",
    "kernel", "governor", "client", "notes", NULL};
static const char *const runs_numbers[] = {"rate_target", "rate_reached",
    NULL};

static const struct err *
runs_text(struct json_object *in, const char *key, const char **text)
{
	struct json_object *v;

	*text = NULL;
	if (!json_object_object_get_ex(in, key, &v) || v == NULL)
		return NULL;
	if (!json_object_is_type(v, json_type_string))
		return err_field(ERR_REQUEST, 400, key, "is no text");
	*text = json_object_get_string(v);
	if ((size_t)json_object_get_string_len(v) != strlen(*text) ||
	    strlen(*text) > RUNS_TEXT_MAX)
		return err_field(ERR_REQUEST, 400, key,
		    "is longer than %u bytes or has a NUL", RUNS_TEXT_MAX);
	return NULL;
}

/* A number of seconds, or a text in the time language. */
static const struct err *
runs_time(struct json_object *in, const char *key, int64_t now_ns,
    int64_t fallback, int64_t *ns)
{
	struct json_object *v;
	const struct err *e;

	*ns = fallback;
	if (!json_object_object_get_ex(in, key, &v) || v == NULL)
		return NULL;
	/* a number too is read by its digits, so that none gets lost */
	e = timespec_parse(json_object_get_string(v), now_ns, ns);
	return e == NULL ? NULL
			 : err_field(ERR_REQUEST, 400, key, "%s", e->text);
}

static const struct err *
runs_put_texts(struct json_object *in, struct writer *w)
{
	const struct err *e;

	for (size_t i = 0; runs_texts[i] != NULL; i++) {
		char known[RUNS_TEXT_MAX + 1] = "";
		const char *text;

		if ((e = runs_text(in, runs_texts[i], &text)) != NULL)
			return e;
		if (text == NULL && runs_host_text(runs_texts[i], known,
		    sizeof(known)))
			text = known;
		if (text == NULL || *text == '\0')
			continue;
		writer_key_str(w, runs_texts[i], text);
	}
	return NULL;
}

static const struct err *
runs_put_numbers(struct json_object *in, struct writer *w)
{
	for (size_t i = 0; runs_numbers[i] != NULL; i++) {
		const char *key = runs_numbers[i], *text;
		struct json_object *v;

		if (!json_object_object_get_ex(in, key, &v) || v == NULL)
			continue;
		if (!json_object_is_type(v, json_type_int) &&
		    !json_object_is_type(v, json_type_double))
			return err_field(ERR_REQUEST, 400, key,
			    "is no number");
		text = json_object_get_string(v);
		/* json-c lets NaN and Infinity pass */
		if (strspn(text, "0123456789.eE+-") != strlen(text))
			return err_field(ERR_REQUEST, 400, key,
			    "is no finite number");
		writer_key(w, key);
		writer_raw(w, text, strlen(text));
	}
	return NULL;
}

static const struct err *
runs_put_sysctls(struct json_object *in, struct writer *w)
{
	struct json_object *all;
	const struct err *e;
	const char *text;

	writer_key_open(w, "sysctls", '{');
	if (!json_object_object_get_ex(in, "sysctls", &all) || all == NULL) {
		runs_host_sysctls(w);
		writer_close(w, '}');
		return NULL;
	}
	if (!json_object_is_type(all, json_type_object) ||
	    json_object_object_length(all) > RUNS_SYSCTLS_MAX)
		return err_field(ERR_REQUEST, 400, "sysctls", "is no object "
		    "of at most %d texts", RUNS_SYSCTLS_MAX);
	json_object_object_foreach(all, key, value) {
		(void)value;
		if (strlen(key) > RUNS_NAME_MAX)
			return err_field(ERR_REQUEST, 400, "sysctls",
			    "has a name that is too long");
		if ((e = runs_text(all, key, &text)) != NULL)
			return e;
		if (text == NULL)
			continue;
		writer_key_any(w, key);
		writer_str(w, text);
	}
	writer_close(w, '}');
	return NULL;
}

static const struct err *
runs_put_range(struct json_object *in, int64_t now_ns, struct writer *w)
{
	int64_t from_ns, until_ns;
	const struct err *e;

	if ((e = runs_time(in, "until", now_ns, now_ns, &until_ns)) != NULL ||
	    (e = runs_time(in, "from", now_ns, until_ns - 3600 * NS_PER_S,
	    &from_ns)) != NULL)
		return e;
	if (until_ns > REQUEST_UNTIL_MAX)
		until_ns = REQUEST_UNTIL_MAX;
	if (from_ns >= until_ns)
		return err_field(ERR_REQUEST, 400, "from",
		    "is not before until");
	writer_key_seconds(w, "from", from_ns);
	writer_key_seconds(w, "until", until_ns);
	return NULL;
}

static const struct err *
runs_put(struct json_object *in, const struct request *rq, struct writer *w,
    char name[RUNS_NAME_MAX + 1])
{
	struct json_object *v;
	const struct err *e;
	const char *text;
	bool removed;

	if ((e = runs_text(in, "name", &text)) != NULL)
		return e;
	if (text == NULL || *text == '\0' || strlen(text) > RUNS_NAME_MAX)
		return err_field(ERR_REQUEST, 400, "name",
		    "is missing or longer than %u bytes", RUNS_NAME_MAX);
	snprintf(name, RUNS_NAME_MAX + 1, "%s", text);
	removed = json_object_object_get_ex(in, "removed", &v) &&
	    json_object_get_boolean(v);
	writer_open(w, '{');
	writer_key_str(w, "name", name);
	if (removed) {
		writer_key(w, "removed");
		writer_bool(w, true);
	} else if ((e = runs_put_range(in, rq->now_ns, w)) != NULL ||
	    (e = runs_put_texts(in, w)) != NULL ||
	    (e = runs_put_numbers(in, w)) != NULL ||
	    (e = runs_put_sysctls(in, w)) != NULL) {
		return e;
	}
	writer_key_seconds(w, "recorded", rq->now_ns);
	writer_close(w, '}');
	return NULL;
}

const struct err *
runs_make(const struct request *rq, struct buf *out,
    char name[RUNS_NAME_MAX + 1])
{
	struct writer w = writer_of(out);
	struct json_object *in = NULL;
	const struct err *e;
	size_t before = out->len;

	if (rq->body.len > 0)
		in = runs_parse((const char *)rq->body.data, rq->body.len);
	if (in == NULL)
		return err_new(ERR_REQUEST, 415,
		    "the body is no JSON object in UTF-8");
	e = runs_put(in, rq, &w, name);
	json_object_put(in);
	if (e == NULL && out->failed)
		e = err_nomem();
	if (e == NULL && out->len - before > RUNS_JSON_MAX)
		e = err_new(ERR_REQUEST, 413,
		    "the run is larger than %u bytes", RUNS_JSON_MAX);
	return e;
}
