/*
 * The pages that Pyroscope's clients ask: see route.h for what a page is,
 * memlens-api.7 for what each answers.
 */
#ifndef FCGI_PYROSCOPE_PAGES_H
#define FCGI_PYROSCOPE_PAGES_H

#include "fcgi/server/route.h"

route_fn api_render;
route_fn api_render_diff;
route_fn api_labels;
route_fn api_label_values;
route_fn api_apps;
route_fn api_querier;

#endif
