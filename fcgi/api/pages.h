/*
 * MemLens's own pages: see route.h for what a page is, memlens-api.7 for
 * what each answers.
 */
#ifndef FCGI_API_PAGES_H
#define FCGI_API_PAGES_H

#include "fcgi/server/route.h"

route_fn api_health;
route_fn api_services;
route_fn api_types;
route_fn api_series;
route_fn api_percentiles;
route_fn api_threads;
route_fn api_heatmap;
route_fn api_flamegraph;
route_fn api_flamegraph_svg;
route_fn api_flamegraph_folded;
route_fn api_flamegraph_pprof;
route_fn api_flamegraph_speedscope;
route_fn api_flamegraph_html;
route_fn api_flamegraph_png;
route_fn api_table;
route_fn api_table_csv;
route_fn api_sandwich;
route_fn api_diff;
route_fn api_diff_svg;
route_fn api_diff_html;
route_fn api_compare;
route_fn api_leaks;
route_fn api_lifetimes;
route_fn api_runs_get;
route_fn api_runs_post;
route_fn api_marks_get;
route_fn api_marks_post;
route_fn api_metrics;

/* What api_health() keeps of the store's last state. */
void health_forget(struct context *c);

#endif
