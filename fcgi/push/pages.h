/*
 * The pages that take profiles: see route.h for what a page is, memlens-api.7
 * for what each answers.
 */
#ifndef FCGI_PUSH_PAGES_H
#define FCGI_PUSH_PAGES_H

#include "fcgi/server/route.h"

route_fn api_ingest;
route_fn api_push;

#endif
