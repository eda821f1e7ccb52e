/*
 * The table of routes and its only reader.
 */
#include "route.h"

#include <string.h>

#include "fcgi/connect.h"
#include "fcgi/context.h"
#include "fcgi/guard.h"
#include "fcgi/ingest.h"
#include "fcgi/pages.h"
#include "fcgi/partial.h"
#include "fcgi/request.h"
#include "fcgi/respond.h"
#include "fcgi/settings.h"
#include "store/base/err.h"

#define PROFILE_PARAMS                                                         \
	"query from until max-nodes focus ignore collapse reverse min-width "  \
	"strict"
#define PICTURE_PARAMS PROFILE_PARAMS " width title orientation"
#define WHOLE_PARAMS "query from until focus ignore collapse strict"
#define PAIR_PARAMS                                                            \
	"query from until query-b from-b until-b normalise requests strict"
#define PAIR_PICTURE_PARAMS                                                    \
	PAIR_PARAMS " max-nodes focus ignore collapse reverse min-width "      \
		    "width title orientation widths"
#define INGEST_PARAMS                                                          \
	"name from until sampleRate spyName units aggregationType format"
#define RENDER_PARAMS                                                          \
	"query name from until format max-nodes maxNodes groupBy strict"
#define RENDER_DIFF_PARAMS                                                     \
	"leftQuery leftFrom leftUntil rightQuery rightFrom rightUntil "        \
	"max-nodes maxNodes format strict"
#define GRAPH_PARAMS "target depth"
#define ROUTE_TRIES 3 /* while damage comes to light */

const struct route routes[] = {
    {"GET", "/api/v1/health", POOL_HEALTH, api_health, ""},
    {"GET", "/api/v1/services", POOL_QUERY, api_services,
        "from until strict"},
    {"GET", "/api/v1/series", POOL_QUERY, api_series,
        "query from until step fn strict"},
    {"GET", "/api/v1/percentiles", POOL_QUERY, api_percentiles,
        "query from until step strict"},
    {"GET", "/api/v1/flamegraph.json", POOL_QUERY, api_flamegraph,
        PROFILE_PARAMS},
    {"GET", "/api/v1/flamegraph.svg", POOL_QUERY, api_flamegraph_svg,
        PICTURE_PARAMS},
    {"GET", "/api/v1/flamegraph.png", POOL_QUERY, api_flamegraph_png,
        PICTURE_PARAMS " scale"},
    {"GET", "/api/v1/flamegraph.html", POOL_QUERY, api_flamegraph_html,
        PICTURE_PARAMS},
    {"GET", "/api/v1/flamegraph.folded", POOL_QUERY, api_flamegraph_folded,
        WHOLE_PARAMS " bare"},
    {"GET", "/api/v1/flamegraph.speedscope.json", POOL_QUERY,
        api_flamegraph_speedscope, WHOLE_PARAMS},
    {"GET", "/api/v1/flamegraph.pprof", POOL_QUERY, api_flamegraph_pprof,
        "query from until strict"},
    {"GET", "/api/v1/table.csv", POOL_QUERY, api_table_csv, WHOLE_PARAMS},
    {"GET", "/api/v1/table.json", POOL_QUERY, api_table,
        WHOLE_PARAMS " sort limit function step places search"},
    {"GET", "/api/v1/sandwich.json", POOL_QUERY, api_sandwich,
        WHOLE_PARAMS " max-nodes function"},
    {"GET", "/api/v1/diff.json", POOL_QUERY, api_diff,
        PAIR_PARAMS " max-nodes focus ignore collapse reverse sort limit "
                    "search"},
    {"GET", "/api/v1/diff.svg", POOL_QUERY, api_diff_svg,
        PAIR_PICTURE_PARAMS},
    {"GET", "/api/v1/diff.html", POOL_QUERY, api_diff_html,
        PAIR_PICTURE_PARAMS},
    {"GET", "/api/v1/compare.json", POOL_QUERY, api_compare,
        "query from until from-b until-b requests show limit strict"},
    {"GET", "/api/v1/runs", POOL_QUERY, api_runs_get, "name strict"},
    {"POST", "/api/v1/runs", POOL_QUERY, api_runs_post, ""},
    {"GET", "/api/v1/graph.json", POOL_QUERY, api_graph_json, GRAPH_PARAMS},
    {"GET", "/api/v1/graph.dot", POOL_QUERY, api_graph_dot, GRAPH_PARAMS},
    {"GET", "/api/v1/graph.svg", POOL_QUERY, api_graph_svg, GRAPH_PARAMS},
    {"GET", "/api/v1/kv/", POOL_PLAYGROUND, api_kv_get, ""},
    {"PUT", "/api/v1/kv/", POOL_PLAYGROUND, api_kv_put, ""},
    {"GET", "/metrics", POOL_HEALTH, api_metrics, "strict"},
    {"POST", "/ingest", POOL_INGEST, api_ingest, INGEST_PARAMS},
    {"POST", "/pyroscope/ingest", POOL_INGEST, api_ingest, INGEST_PARAMS},
    {"POST", "/push.v1.PusherService/Push", POOL_INGEST, api_push, ""},
    {"GET", "/render", POOL_QUERY, api_render, RENDER_PARAMS},
    {"GET", "/pyroscope/render", POOL_QUERY, api_render, RENDER_PARAMS},
    {"GET", "/render-diff", POOL_QUERY, api_render_diff, RENDER_DIFF_PARAMS},
    {"GET", "/pyroscope/render-diff", POOL_QUERY, api_render_diff,
        RENDER_DIFF_PARAMS},
    {"GET", "/labels", POOL_QUERY, api_labels, "query strict"},
    {"GET", "/label-values", POOL_QUERY, api_label_values,
        "label query strict"},
    {"GET", "/pyroscope/label-values", POOL_QUERY, api_label_values,
        "label query strict"},
    {"GET", "/api/apps", POOL_QUERY, api_apps, "strict"},
    {"POST", "/querier.v1.QuerierService/", POOL_QUERY, api_querier, ""},
};

const size_t n_routes = sizeof(routes) / sizeof(routes[0]);

static const char *const pools[] = {"query", "health", "ingest", "playground",
    "all"};

bool
pool_parse(const char *name, enum pool *pool)
{
	for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++) {
		if (strcmp(name, pools[i]) == 0) {
			*pool = (enum pool)i;
			return true;
		}
	}
	return false;
}

const char *
pool_name(enum pool pool)
{
	return pools[pool];
}

static bool
route_has_path(const struct route *r, const char *path)
{
	size_t n = strlen(r->path);

	if (r->path[n - 1] == '/')
		return strncmp(r->path, path, n) == 0;
	return strcmp(r->path, path) == 0;
}

static bool
route_has_method(const struct route *r, const char *method)
{
	return strcmp(r->method, method) == 0 ||
	    (strcmp(r->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

/* Bodies that may be larger than REQUEST_BODY_MAX. */
static const struct {
	const char *path;
	size_t max;
} bodies[] = {
    {"/ingest", INGEST_BODY_MAX},
    {"/pyroscope/ingest", INGEST_BODY_MAX},
    {"/push.v1.PusherService/Push", INGEST_BODY_MAX},
};

size_t
route_body_max(const char *path)
{
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		if (strcmp(bodies[i].path, path) == 0)
			return bodies[i].max;
	return REQUEST_BODY_MAX;
}

/* A path with two methods has both in its Allow line. */
static const char *
route_allow(const char *path)
{
	bool get = false, put = false, post = false;

	for (size_t i = 0; i < n_routes; i++) {
		if (!route_has_path(&routes[i], path))
			continue;
		if (strcmp(routes[i].method, "GET") == 0)
			get = true;
		else if (strcmp(routes[i].method, "PUT") == 0)
			put = true;
		else
			post = true;
	}
	if (get && put)
		return "GET, HEAD, PUT";
	if (get && post)
		return "GET, HEAD, POST";
	return get ? "GET, HEAD" : "POST";
}

/* What has waited for too long is refused before any work is done on it: who
 * has asked is about to give up, or has.  A push would be stored after its
 * sender was told that it was not. */
static const struct err *
route_in_time(const struct route *r, struct context *c,
    const struct request *rq, struct response *rs)
{
	const struct err *e = guard_waited(rq);

	if (e == NULL)
		return NULL;
	rs->retry_after_s = 5;
	if (r->pool == POOL_INGEST)
		ingest_refuse(c, "overload");
	return e;
}

/* Does the route answer from the store, so that damage is its business? */
static bool
route_is_query(const struct route *r)
{
	return r->page == api_querier || strstr(r->params, "strict") != NULL;
}

/*
 * One page, and once more when damage was found under it: its first part may
 * have been read from what its last part had to leave out.
 */
static const struct err *
route_ask(const struct route *r, struct context *c, struct request *rq,
    struct response *rs)
{
	const struct err *e = NULL;

	for (int i = 0; i < ROUTE_TRIES; i++) {
		uint64_t breaks = c->store ? store_breaks(c->store) : 0;

		if (c->store != NULL)
			store_missing_forget(c->store);
		e = r->page(c, rq, rs);
		if (e != NULL || !route_is_query(r) || c->store == NULL ||
		    store_breaks(c->store) == breaks || i == ROUTE_TRIES - 1)
			break;
		response_fini(rs);
		response_init(rs);
	}
	return e;
}

/* An answer that lacks data says so, is not kept, or is none. */
static const struct err *
route_mark_partial(const struct context *c, int64_t strict,
    struct response *rs)
{
	if (c->store == NULL || rs->status != 200 ||
	    !partial_is(c->store, 0, INT64_MAX))
		return NULL;
	partial_put_header(&rs->partial, c->store);
	if (rs->partial.failed)
		return err_nomem();
	rs->etag[0] = '\0';
	if (!strict)
		return NULL;
	return err_field(ERR_REQUEST, 503, "strict", "partial: %.*s",
	    (int)rs->partial.len, (const char *)rs->partial.data);
}

static const struct err *
route_run(const struct route *r, struct context *c, struct request *rq,
    struct response *rs)
{
	const struct err *e = route_in_time(r, c, rq, rs);
	int64_t strict = 0;

	if (e == NULL && strstr(r->params, "strict") != NULL)
		e = request_int(rq, "strict", 0, 1, 0, &strict);
	if (e == NULL) {
		e = route_ask(r, c, rq, rs);
		if (e != NULL && r->pool == POOL_INGEST)
			ingest_refuse_for(c, e);
	}
	if (e == NULL && route_is_query(r))
		e = route_mark_partial(c, strict, rs);
	if (e != NULL)
		return e;
	if (rs->body.failed)
		return err_nomem();
	if (rs->body.len > RESPONSE_BODY_MAX)
		return err_new(ERR_REQUEST, 413,
		    "the answer would be larger than %u bytes: ask for less",
		    RESPONSE_BODY_MAX);
	return NULL;
}

static const struct err *
route_answer(struct context *c, enum pool pool, struct request *rq,
    struct response *rs)
{
	bool path_known = false;
	const struct err *e = guard_request(c->settings->hosts, rq);

	if (e != NULL)
		return e;
	for (size_t i = 0; i < n_routes; i++) {
		const struct route *r = &routes[i];

		if (!route_has_path(r, rq->path))
			continue;
		if (pool != POOL_ALL && r->pool != pool)
			return err_new(ERR_REQUEST, 404,
			    "served by the pool \"%s\", this is \"%s\"",
			    pool_name(r->pool), pool_name(pool));
		if (route_has_method(r, rq->method))
			return route_run(r, c, rq, rs);
		path_known = true;
	}
	if (!path_known)
		return err_new(ERR_REQUEST, 404, "no such path: \"%.200s\"",
		    rq->path);
	rs->allow = route_allow(rq->path);
	return err_new(ERR_REQUEST, 405, "%s is not for this path",
	    rq->method);
}

static bool
route_is_querier(const char *path)
{
	return strncmp(path, "/querier.v1.", 12) == 0;
}

/* Below these, errors are Connect's. */
static bool
route_is_connect(const char *path)
{
	return strncmp(path, "/push.v1.", 9) == 0 || route_is_querier(path);
}

bool
route_only_reads(const struct request *rq)
{
	return strcmp(rq->method, "GET") == 0 ||
	    strcmp(rq->method, "HEAD") == 0 || route_is_querier(rq->path);
}

void
route_dispatch(struct context *c, enum pool pool, struct request *rq,
    struct response *rs)
{
	const struct err *e = route_answer(c, pool, rq, rs);

	if (e != NULL && route_is_connect(rq->path) && rs->allow == NULL)
		connect_error(rs, e);
	else if (e != NULL)
		response_error(rs, e);
}
