/*
 * The pages of dependency graphs: see route.h for what a page is, memlens-api.7
 * for what each answers.
 */
#ifndef FCGI_GRAPH_PAGES_H
#define FCGI_GRAPH_PAGES_H

#include "fcgi/server/route.h"

route_fn api_graph_json;
route_fn api_graph_dot;
route_fn api_graph_svg;

#endif
