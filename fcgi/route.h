/*
 * From a request to its page: one static table.  It is also what the manual
 * page memlens-api.7 is compared with.
 */
#ifndef FCGI_ROUTE_H
#define FCGI_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

struct context;
struct err;
struct request;
struct response;

/* Workers of one pool do not wait for another's requests; what watches over
 * MemLens itself waits for none. */
enum pool {
	POOL_QUERY,
	POOL_HEALTH,
	POOL_INGEST,
	POOL_PLAYGROUND,
	POOL_ALL
};

/* "query", "health", "ingest", "playground", "all"; false when it is none of
 * them. */
bool pool_parse(const char *name, enum pool *pool);
const char *pool_name(enum pool pool);

/*
 * A page: from (store, request) to response.  An error becomes the response;
 * what the page wrote to the body is dropped then.
 */
typedef const struct err *route_fn(struct context *c, struct request *rq,
    struct response *rs);

struct route {
	const char *method; /* GET serves HEAD too */
	const char *path;   /* a "/" at its end: and all below it */
	enum pool pool;
	route_fn *page;
	const char *params; /* names, separated by blanks */
};

extern const struct route routes[];
extern const size_t n_routes;

/* How many bytes a body may have for a path, known or not. */
size_t route_body_max(const char *path);

/* Does a request change nothing, so that nobody minds when it is dropped? */
bool route_only_reads(const struct request *rq);

/* Answers a request; errors, unknown paths and methods included. */
void route_dispatch(struct context *c, enum pool pool, struct request *rq,
    struct response *rs);

#endif
