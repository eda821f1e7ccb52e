/*
 * GET /render and /render-diff: Pyroscope's own flame graphs and timelines,
 * for its page and its scripts.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/api/pages.h"
#include "fcgi/format/flame/diff.h"
#include "fcgi/format/flame/doublebearer.h"
#include "fcgi/format/flame/flame.h"
#include "fcgi/format/flame/flamebearer.h"
#include "fcgi/format/out/folded_out.h"
#include "fcgi/format/writer.h"
#include "fcgi/pyroscope/attime.h"
#include "fcgi/pyroscope/flameql.h"
#include "fcgi/pyroscope/pages.h"
#include "fcgi/query/pprof_page.h"
#include "fcgi/query/profile_page.h"
#include "fcgi/server/context.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/store.h"

#define MAX_NODES_DEFAULT 8192
#define TIMELINE_STEPS 1024

struct side {
	struct flameql query;
	int64_t from_ns, until_ns;
	struct profile *profile;
};

struct render {
	struct store *store;
	struct side side[2]; /* a diff has both */
	int64_t max_nodes;
	bool newer; /* below /pyroscope: no +1 in timelines */
};

static void
render_fini(struct render *r)
{
	for (int i = 0; i < 2; i++) {
		flameql_free(&r->side[i].query);
		profile_free(r->side[i].profile);
	}
}

/* ---- parameters ---- */

static const struct err *
render_time(const struct request *rq, const char *name, int64_t fallback,
    int64_t *ns)
{
	const char *text = request_text(rq, name);
	const struct err *e;

	*ns = fallback;
	if (text == NULL || (e = attime_parse(text, rq->now_ns, ns)) == NULL)
		return NULL;
	return err_field(e->domain, e->code, name, "%s", e->text);
}

/* maxNodes wins; 0 says nothing. */
static const struct err *
render_max_nodes(const struct request *rq, int64_t *max)
{
	static const char *const names[] = {"max-nodes", "maxNodes"};
	const struct err *e = NULL;
	int64_t n;

	*max = MAX_NODES_DEFAULT;
	for (size_t i = 0; i < 2 && e == NULL; i++) {
		e = request_int(rq, names[i], -1, INT32_MAX, 0, &n);
		if (e == NULL && n != 0)
			*max = n;
	}
	return e;
}

static const struct err *
render_side(struct render *r, const struct request *rq, struct side *s,
    const char *from, const char *until)
{
	int64_t hour = 3600 * NS_PER_S;
	const struct err *e;

	if ((e = render_time(rq, until, rq->now_ns, &s->until_ns)) != NULL ||
	    (e = render_time(rq, from, s->until_ns > hour
	    ? s->until_ns - hour : 0, &s->from_ns)) != NULL)
		return e;
	(void)r;
	if (s->from_ns >= s->until_ns)
		return err_field(ERR_REQUEST, 400, from, "is not before %s",
		    until);
	return NULL;
}

static const struct err *
render_load(struct render *r, struct side *s, struct response *rs)
{
	struct profile_query q = {.selector = s->query.selector};
	const struct err *e;

	if (store_kept_range(r->store, &s->from_ns, &s->until_ns))
		response_range(rs, s->from_ns, s->until_ns);
	q.from_ns = s->from_ns;
	q.until_ns = s->until_ns;
	e = store_query_profile(r->store, &q, &s->profile);
	if (e == NULL && s->profile->series > 0)
		e = flameql_check_unit(&s->query, s->profile->unit);
	return e;
}

static const struct err *
render_begin(struct render *r, struct context *c, const struct request *rq)
{
	const struct err *e;

	r->newer = strncmp(rq->path, "/pyroscope/", 11) == 0;
	if ((e = render_max_nodes(rq, &r->max_nodes)) != NULL)
		return e;
	return context_store(c, &r->store);
}

/* ---- JSON ---- */

static void
render_put_metadata(struct writer *w, const struct request *rq,
    const struct render *r, const char *format)
{
	const struct side *s = &r->side[0];
	const char *query = request_text(rq, "query");
	char app[400];

	snprintf(app, sizeof(app), "%s.%s", s->query.service, s->query.type);
	if (query == NULL)
		query = (const char *)s->query.text.data;
	writer_key_open(w, "metadata", '{');
	writer_key_str(w, "format", format);
	writer_key_str(w, "spyName", "memlens");
	writer_key_int(w, "sampleRate", profile_page_rate(s->profile));
	writer_key_str(w, "units", profile_page_ticks(s->profile));
	writer_key_str(w, "name", app);
	writer_key_str(w, "appName", app);
	writer_key_int(w, "startTime", s->from_ns / NS_PER_S);
	writer_key_int(w, "endTime", s->until_ns / NS_PER_S);
	writer_key_str(w, "query", query);
	writer_key_int(w, "maxNodes", r->max_nodes);
	writer_close(w, '}');
}

struct timeline {
	int64_t from_ns, step_ns;
	struct totals *totals;
};

/* The largest of 10 s, 100 s, ... of which more than 1,024 fit. */
static int64_t
timeline_step(int64_t length_ns, int64_t slot_ns)
{
	int64_t step = 10 * NS_PER_S;

	while (step * 10 < length_ns / TIMELINE_STEPS)
		step *= 10;
	return (step + slot_ns - 1) / slot_ns * slot_ns;
}

static const struct err *
timeline_load(struct timeline *t, const struct render *r, const char *split)
{
	const struct side *s = &r->side[0];
	struct totals_query q = {.selector = s->query.selector,
	    .split = &split, .n_split = split != NULL};
	struct store_extent extent;
	int64_t ten = 10 * NS_PER_S;

	store_extent(r->store, &extent);
	if (ten % extent.slot_ns != 0)
		ten = extent.slot_ns;
	q.from_ns = s->from_ns / ten * ten;
	q.until_ns = (s->until_ns + ten - 1) / ten * ten;
	q.step_ns = timeline_step(q.until_ns - q.from_ns, extent.slot_ns);
	store_kept_steps(r->store, &q.from_ns, &q.until_ns, &q.step_ns);
	t->from_ns = q.from_ns;
	t->step_ns = q.step_ns;
	return store_query_totals(r->store, &q, &t->totals);
}

/* 0.37 tells nothing (0) from no samples (1) by one more everywhere. */
static void
timeline_put(struct writer *w, const struct timeline *t,
    const struct totals_group *g, bool newer)
{
	writer_open(w, '{');
	writer_key_int(w, "startTime", t->from_ns / NS_PER_S);
	writer_key_open(w, "samples", '[');
	for (size_t i = 0; i < t->totals->n_steps; i++) {
		bool there = g != NULL && g->steps[i].count > 0;

		writer_int128(w, !there ? 0 : g->steps[i].sum + !newer);
	}
	writer_close(w, ']');
	writer_key_int(w, "durationDelta", t->step_ns / NS_PER_S);
	writer_key_open(w, "watermarks", '{');
	writer_close(w, '}');
	writer_close(w, '}');
}

static const struct err *
render_put_timelines(struct writer *w, const struct request *rq,
    const struct render *r)
{
	const char *by = request_text(rq, "groupBy");
	struct timeline all = {0}, split = {0};
	const struct err *e;
	const struct totals *t;

	e = timeline_load(&all, r, NULL);
	if (e == NULL && by != NULL)
		e = timeline_load(&split, r, flameql_label(by));
	if (e == NULL) {
		t = all.totals;
		writer_key(w, "timeline");
		timeline_put(w, &all, t->n_groups > 0 ? &t->groups[0] : NULL,
		    r->newer);
		writer_key_open(w, "groups", '{');
		if (by == NULL) {
			writer_key(w, "*");
			timeline_put(w, &all, t->n_groups > 0 ? &t->groups[0]
			    : NULL, r->newer);
		}
		for (size_t i = 0; by != NULL && i < split.totals->n_groups;
		    i++) {
			const struct totals_group *g =
			    &split.totals->groups[i];

			writer_key_any(w, g->n_labels > 0
			    ? g->labels[0].value : "");
			timeline_put(w, &split, g, r->newer);
		}
		writer_close(w, '}');
	}
	totals_free(all.totals);
	totals_free(split.totals);
	return e;
}

static const struct err *
render_json(const struct request *rq, const struct render *r,
    struct response *rs)
{
	struct flame_options o = {.max_nodes = r->max_nodes, .other = "other"};
	struct writer w = writer_of(&rs->body);
	struct flame *f;
	const struct err *e;

	if ((e = flame_new(&f, r->side[0].profile, &o)) != NULL)
		return e;
	writer_open(&w, '{');
	writer_key_int(&w, "version", 1);
	if (!flamebearer_put(&w, f))
		e = err_nomem();
	render_put_metadata(&w, rq, r, "single");
	if (e == NULL)
		e = render_put_timelines(&w, rq, r);
	partial_put_state(&w, r->store, 0, INT64_MAX);
	writer_key(&w, "heatmap");
	writer_null(&w);
	writer_key_open(&w, "annotations", '[');
	writer_close(&w, ']');
	writer_close(&w, '}');
	flame_free(f);
	return e;
}

/* ---- files ---- */

static void
render_name(const struct render *r, struct response *rs, const char *ext)
{
	const struct side *s = &r->side[0];

	rs->type = "application/octet-stream";
	snprintf(rs->file, sizeof(rs->file), "%.40s.%.20s-%lld.%s",
	    s->query.service, s->query.type,
	    (long long)(s->from_ns / NS_PER_S), ext);
	for (char *c = rs->file; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && strchr(".-_", *c) == NULL)
			*c = '_';
}

static const struct err *
render_pprof(const struct request *rq, const struct render *r,
    struct response *rs)
{
	const struct side *s = &r->side[0];
	struct profile_query q = {s->query.selector, s->from_ns, s->until_ns,
	    NULL, false};

	(void)rq;
	render_name(r, rs, "pprof");
	return pprof_page_ask(&rs->body, r->store, &q, s->query.type);
}

static const struct err *
render_collapsed(const struct request *rq, const struct render *r,
    struct response *rs)
{
	struct flame_options o = {.max_nodes = -1, .other = "other"};
	const struct err *e;
	struct flame *f;

	(void)rq;
	if ((e = flame_new(&f, r->side[0].profile, &o)) != NULL)
		return e;
	render_name(r, rs, "collapsed.txt");
	response_unit(rs, profile_page_units(r->side[0].profile));
	e = folded_put(&rs->body, f, true, RESPONSE_BODY_MAX);
	flame_free(f);
	return e;
}

/* Our own page of the same question, of one side or of both. */
static const struct err *
render_html(struct context *c, const struct request *rq,
    const struct render *r, size_t sides, struct response *rs)
{
	static const char *const names[2][3] = {{"query", "from", "until"},
	    {"query-b", "from-b", "until-b"}};
	struct request inner = {.if_none_match = "", .path = rq->path,
	    .now_ns = rq->now_ns};
	char times[2][2][24], max[24];

	for (size_t i = 0; i < sides; i++) {
		const struct side *s = &r->side[i];
		const char *values[3] = {(const char *)s->query.text.data,
		    times[i][0], times[i][1]};

		snprintf(times[i][0], 24, "%019lld", (long long)s->from_ns);
		snprintf(times[i][1], 24, "%019lld", (long long)s->until_ns);
		for (size_t k = 0; k < 3; k++)
			inner.params[inner.n_params++] =
			    (struct request_param){names[i][k], values[k]};
	}
	snprintf(max, sizeof(max), "%lld", (long long)r->max_nodes);
	inner.params[inner.n_params++] =
	    (struct request_param){"max-nodes", max};
	return (sides == 2 ? api_diff_html : api_flamegraph_html)(c, &inner,
	    rs);
}

static const char *const formats[] = {"json", "html", "pprof", "collapsed",
    NULL};

static const struct err *
render_answer(struct render *r, struct context *c, struct request *rq,
    struct response *rs)
{
	struct side *s = &r->side[0];
	const char *query = request_text(rq, "query");
	const char *name = request_text(rq, "name");
	const struct err *e;
	size_t format;

	if ((e = request_choice(rq, "format", formats, 0, &format)) != NULL ||
	    (e = render_begin(r, c, rq)) != NULL ||
	    (e = render_side(r, rq, s, "from", "until")) != NULL)
		return e;
	if (query == NULL && name == NULL)
		return err_field(ERR_REQUEST, 400, "query", "is missing");
	e = query != NULL ? flameql_parse(&s->query, r->store, query)
			  : flameql_parse_name(&s->query, r->store, name);
	if (e == NULL && format == 1)
		return render_html(c, rq, r, 1, rs);
	if (e == NULL)
		e = render_load(r, s, rs);
	if (e != NULL)
		return e;
	if (format == 0)
		return render_json(rq, r, rs);
	return (format == 2 ? render_pprof : render_collapsed)(rq, r, rs);
}

const struct err *
api_render(struct context *c, struct request *rq, struct response *rs)
{
	struct render r = {0};
	const struct err *e = render_answer(&r, c, rq, rs);

	render_fini(&r);
	return e;
}

/* ---- two of them ---- */

static const struct err *
render_diff_json(const struct request *rq, const struct render *r,
    struct response *rs)
{
	const struct profile *a = r->side[0].profile,
			     *b = r->side[1].profile;
	struct doublebearer_options o = {.max_nodes = r->max_nodes,
	    .other = "other"};
	struct writer w = writer_of(&rs->body);
	struct diff *d;
	const struct err *e;

	if (a->n_nodes > 1 && b->n_nodes > 1 && strcmp(a->unit, b->unit) != 0)
		return err_field(ERR_REQUEST, 400, "rightQuery",
		    "counts in other units");
	if ((e = diff_new(&d, a, b)) != NULL)
		return e;
	writer_open(&w, '{');
	writer_key_int(&w, "version", 1);
	e = doublebearer_put(&w, d, &o);
	render_put_metadata(&w, rq, r, "double");
	partial_put_state(&w, r->store, 0, INT64_MAX);
	writer_key(&w, "timeline");
	writer_null(&w);
	writer_key_int128(&w, "leftTicks", a->nodes[0].total);
	writer_key_int128(&w, "rightTicks", b->nodes[0].total);
	writer_close(&w, '}');
	diff_free(d);
	return e;
}

static const struct err *
render_diff_answer(struct render *r, struct context *c,
    const struct request *rq, struct response *rs)
{
	static const char *const two[] = {"json", "html", NULL};
	static const char *const names[2][3] = {
	    {"leftQuery", "leftFrom", "leftUntil"},
	    {"rightQuery", "rightFrom", "rightUntil"}};
	const struct err *e;
	const char *query;
	size_t format;

	if ((e = request_choice(rq, "format", two, 0, &format)) != NULL ||
	    (e = render_begin(r, c, rq)) != NULL)
		return e;
	for (size_t i = 0; i < 2 && e == NULL; i++) {
		struct side *s = &r->side[i];

		if ((e = request_need(rq, names[i][0], &query)) != NULL ||
		    (e = render_side(r, rq, s, names[i][1],
		    names[i][2])) != NULL ||
		    (e = flameql_parse(&s->query, r->store, query)) != NULL)
			return e;
		if (format == 0)
			e = render_load(r, s, rs);
	}
	if (e == NULL && format == 1)
		return render_html(c, rq, r, 2, rs);
	return e != NULL ? e : render_diff_json(rq, r, rs);
}

const struct err *
api_render_diff(struct context *c, struct request *rq, struct response *rs)
{
	struct render r = {0};
	const struct err *e = render_diff_answer(&r, c, rq, rs);

	render_fini(&r);
	return e;
}
