/*
 * From a request to its page, by the table of a site (site.c).
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
bool route_pool_parse(const char *name, enum pool *pool);
const char *route_pool_name(enum pool pool);

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
	size_t body_max;    /* bytes; 0: REQUEST_BODY_MAX */
	bool reads;         /* a POST that changes nothing */
	int time_s;         /* it may take; 0: as the configuration says */
};

/* Writes an error as an answer. */
typedef void route_error_fn(struct response *rs, const struct err *e);

struct route_errors {
	const char *below; /* begin of paths */
	route_error_fn *write;
};

/* All that is served, and what the rest of a worker's life needs of it. */
struct site {
	const struct route *routes;
	size_t n_routes;
	const struct route_errors *errors; /* others: response_error() */
	size_t n_errors;
	/* A push was refused with this, wherever: one of POOL_INGEST. */
	void (*refused)(struct context *c, const struct err *e);
	/* Nobody asks: does what is due; in how many milliseconds to call
	 * again, -1: not before another request. */
	int (*idle)(struct context *c);
	/* The same for minutes: frees what pages keep and can do without. */
	void (*rest)(struct context *c);
	/* The worker ends: frees what pages keep in the context. */
	void (*end)(struct context *c);
};

/* How many bytes a body may have for a path, known or not. */
size_t route_body_max(const struct site *site, const char *path);

/* Does a request change nothing, so that nobody minds when it is dropped? */
bool route_only_reads(const struct site *site, const struct request *rq);

/* How long the page of a request may take, in seconds; 0: as others. */
int route_time_s(const struct site *site, const struct request *rq);

/* Answers a request; errors, unknown paths and methods included. */
void route_dispatch(const struct site *site, struct context *c,
    enum pool pool, struct request *rq, struct response *rs);

#endif
