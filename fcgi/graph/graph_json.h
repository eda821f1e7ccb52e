/*
 * The answer for a dependency graph as JSON: memlens-api.7 says what is in it.
 */
#ifndef FCGI_GRAPH_JSON_H
#define FCGI_GRAPH_JSON_H

struct buf;
struct err;
struct graph_page;

/* Appends it.  Errors: of the store. */
const struct err *graph_put_json(const struct graph_page *page,
    struct buf *out);

#endif
