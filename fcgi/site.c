/*
 * The table of routes: one row a page.  It is also what the manual page
 * memlens-api.7 is compared with.
 */
#include "fcgi/site.h"

#include "fcgi/api/pages.h"
#include "fcgi/graph/graph_cache.h"
#include "fcgi/graph/pages.h"
#include "fcgi/kv/pages.h"
#include "fcgi/push/ingest.h"
#include "fcgi/push/pages.h"
#include "fcgi/push/push_cache.h"
#include "fcgi/pyroscope/pages.h"
#include "fcgi/server/connect.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"

#define PROFILE_PARAMS                                                         \
	"query from until max-nodes focus ignore idle collapse reverse "       \
	"min-width calibrate strict"
#define PICTURE_PARAMS PROFILE_PARAMS " width title orientation"
#define WHOLE_PARAMS "query from until focus ignore idle collapse strict"
#define PAIR_PARAMS                                                            \
	"query from until query-b from-b until-b normalise requests strict"
#define PAIR_PICTURE_PARAMS                                                    \
	PAIR_PARAMS " max-nodes focus ignore idle collapse reverse "           \
		    "min-width width title orientation widths"
#define INGEST_PARAMS                                                          \
	"name from until sampleRate spyName units aggregationType format"
#define RENDER_PARAMS                                                          \
	"query name from until format max-nodes maxNodes groupBy strict"
#define RENDER_DIFF_PARAMS                                                     \
	"leftQuery leftFrom leftUntil rightQuery rightFrom rightUntil "        \
	"max-nodes maxNodes format strict"
#define GRAPH_PARAMS                                                           \
	"target depth collapse plain node query from until query-b from-b "    \
	"until-b strict"

static const struct route routes[] = {
    {"GET", "/api/v1/health", POOL_HEALTH, api_health, .params = ""},
    {"GET", "/api/v1/services", POOL_QUERY, api_services,
        .params = "from until strict"},
    {"GET", "/api/v1/types", POOL_QUERY, api_types, .params = "strict"},
    {"GET", "/api/v1/series", POOL_QUERY, api_series,
        .params = "query from until step fn strict"},
    {"GET", "/api/v1/percentiles", POOL_QUERY, api_percentiles,
        .params = "query from until step strict"},
    {"GET", "/api/v1/threads", POOL_QUERY, api_threads,
        .params = "query from until step by strict"},
    {"GET", "/api/v1/heatmap.json", POOL_QUERY, api_heatmap,
        .params = "query from until step bands strict"},
    {"GET", "/api/v1/flamegraph.json", POOL_QUERY, api_flamegraph,
        .params = PROFILE_PARAMS},
    {"GET", "/api/v1/flamegraph.svg", POOL_QUERY, api_flamegraph_svg,
        .params = PICTURE_PARAMS},
    {"GET", "/api/v1/flamegraph.png", POOL_QUERY, api_flamegraph_png,
        .params = PICTURE_PARAMS " scale"},
    {"GET", "/api/v1/flamegraph.html", POOL_QUERY, api_flamegraph_html,
        .params = PICTURE_PARAMS},
    {"GET", "/api/v1/flamegraph.folded", POOL_QUERY, api_flamegraph_folded,
        .params = WHOLE_PARAMS " bare"},
    {"GET", "/api/v1/flamegraph.speedscope.json", POOL_QUERY,
        api_flamegraph_speedscope, .params = WHOLE_PARAMS},
    {"GET", "/api/v1/flamegraph.pprof", POOL_QUERY, api_flamegraph_pprof,
        .params = "query from until strict"},
    {"GET", "/api/v1/table.csv", POOL_QUERY, api_table_csv,
        .params = WHOLE_PARAMS},
    {"GET", "/api/v1/table.json", POOL_QUERY, api_table,
        .params = WHOLE_PARAMS " sort limit function step places search"},
    {"GET", "/api/v1/sandwich.json", POOL_QUERY, api_sandwich,
        .params = WHOLE_PARAMS " max-nodes function"},
    {"GET", "/api/v1/diff.json", POOL_QUERY, api_diff,
        .params = PAIR_PARAMS " max-nodes focus ignore idle collapse reverse "
                              "sort limit search"},
    {"GET", "/api/v1/diff.svg", POOL_QUERY, api_diff_svg,
        .params = PAIR_PICTURE_PARAMS},
    {"GET", "/api/v1/diff.html", POOL_QUERY, api_diff_html,
        .params = PAIR_PICTURE_PARAMS},
    {"GET", "/api/v1/compare.json", POOL_QUERY, api_compare,
        .params = "query from until query-b from-b until-b requests requests-b "
                  "show limit strict"},
    {"GET", "/api/v1/leaks", POOL_QUERY, api_leaks,
        .params = "service instance from until type requests limit strict"},
    {"GET", "/api/v1/lifetimes", POOL_QUERY, api_lifetimes,
        .params = "service instance from until limit strict"},
    {"GET", "/api/v1/runs", POOL_QUERY, api_runs_get, .params = "name strict"},
    {"POST", "/api/v1/runs", POOL_QUERY, api_runs_post, .params = ""},
    {"GET", "/api/v1/marks", POOL_QUERY, api_marks_get,
        .params = "from until service what limit strict"},
    {"POST", "/api/v1/marks", POOL_QUERY, api_marks_post, .params = ""},
    {"GET", "/api/v1/graph.json", POOL_QUERY, api_graph_json,
        .params = GRAPH_PARAMS},
    {"GET", "/api/v1/graph.dot", POOL_QUERY, api_graph_dot,
        .params = GRAPH_PARAMS},
    {"GET", "/api/v1/graph.svg", POOL_QUERY, api_graph_svg,
        .params = GRAPH_PARAMS},
    {"GET", "/api/v1/kv/", POOL_PLAYGROUND, api_kv_get, .params = ""},
    {"PUT", "/api/v1/kv/", POOL_PLAYGROUND, api_kv_put,
        .params = "read-back"},
    {"POST", "/api/v1/actions/latency-test", POOL_PLAYGROUND,
        api_latency_post, .params = "", .time_s = 300},
    {"POST", "/api/v1/actions/fault", POOL_PLAYGROUND, api_fault_post,
        .params = "", .time_s = 300},
    {"GET", "/metrics", POOL_HEALTH, api_metrics, .params = "strict"},
    {"POST", "/ingest", POOL_INGEST, api_ingest, .params = INGEST_PARAMS,
        .body_max = INGEST_BODY_MAX},
    {"POST", "/pyroscope/ingest", POOL_INGEST, api_ingest,
        .params = INGEST_PARAMS,
        .body_max = INGEST_BODY_MAX},
    {"POST", "/push.v1.PusherService/Push", POOL_INGEST, api_push, .params = "",
        .body_max = INGEST_BODY_MAX},
    {"GET", "/render", POOL_QUERY, api_render, .params = RENDER_PARAMS},
    {"GET", "/pyroscope/render", POOL_QUERY, api_render,
        .params = RENDER_PARAMS},
    {"GET", "/render-diff", POOL_QUERY, api_render_diff,
        .params = RENDER_DIFF_PARAMS},
    {"GET", "/pyroscope/render-diff", POOL_QUERY, api_render_diff,
        .params = RENDER_DIFF_PARAMS},
    {"GET", "/labels", POOL_QUERY, api_labels, .params = "query strict"},
    {"GET", "/label-values", POOL_QUERY, api_label_values,
        .params = "label query strict"},
    {"GET", "/pyroscope/label-values", POOL_QUERY, api_label_values,
        .params = "label query strict"},
    {"GET", "/api/apps", POOL_QUERY, api_apps, .params = "strict"},
    {"POST", "/querier.v1.QuerierService/", POOL_QUERY, api_querier,
        .params = "strict",
        .reads = true},
};

static const struct route_errors errors[] = {
    {"/push.v1.", connect_error},
    {"/querier.v1.", connect_error},
};

/* What the pages kept in the context. */
static void
site_rest(struct context *c)
{
	graph_cache_free(c->graphs);
	health_forget(c);
	push_cache_free(c->kept);
	c->graphs = NULL;
	c->kept = NULL;
}

static void
site_end(struct context *c)
{
	ingest_tell(c, true);
	site_rest(c);
}

static int
site_idle(struct context *c)
{
	return ingest_tell(c, false);
}

const struct site site = {
    .routes = routes, .n_routes = sizeof(routes) / sizeof(routes[0]),
    .errors = errors, .n_errors = sizeof(errors) / sizeof(errors[0]),
    .refused = ingest_refuse_for, .idle = site_idle, .rest = site_rest,
    .end = site_end};
