/*
 * The pages of the playground: see route.h for what a page is, memlens-api.7
 * for what each answers.
 */
#ifndef FCGI_KV_PAGES_H
#define FCGI_KV_PAGES_H

#include "fcgi/server/route.h"

route_fn api_kv_get;
route_fn api_kv_put;
route_fn api_latency_post;
route_fn api_fault_post;

#endif
