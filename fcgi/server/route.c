/*
 * From a request to its page, by a table of routes.
 */
#include "fcgi/server/route.h"

#include <errno.h>
#include <string.h>

#include "fcgi/server/context.h"
#include "fcgi/server/guard.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/settings.h"
#include "store/base/err.h"
#include "store/base/gone.h"

#define ROUTE_TRIES 3 /* while damage comes to light */

static const char *const pools[] = {"query", "health", "ingest", "playground",
    "all"};

bool
route_pool_parse(const char *name, enum pool *pool)
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
route_pool_name(enum pool pool)
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

/* The first route of a path; NULL: none. */
static const struct route *
route_of(const struct site *site, const char *path)
{
	for (size_t i = 0; i < site->n_routes; i++)
		if (route_has_path(&site->routes[i], path))
			return &site->routes[i];
	return NULL;
}

size_t
route_body_max(const struct site *site, const char *path)
{
	const struct route *r = route_of(site, path);

	return r != NULL && r->body_max != 0 ? r->body_max : REQUEST_BODY_MAX;
}

/* A path with two methods has both in its Allow line. */
static const char *
route_allow(const struct site *site, const char *path)
{
	bool get = false, put = false, post = false;

	for (size_t i = 0; i < site->n_routes; i++) {
		const struct route *r = &site->routes[i];

		if (!route_has_path(r, path))
			continue;
		if (strcmp(r->method, "GET") == 0)
			get = true;
		else if (strcmp(r->method, "PUT") == 0)
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
route_in_time(const struct request *rq, struct response *rs)
{
	const struct err *e = guard_waited(rq);

	if (e != NULL)
		rs->retry_after_s = 5;
	return e;
}

/* Does the route answer from the store, so that damage is its business? */
static bool
route_is_query(const struct route *r)
{
	return r->reads || strstr(r->params, "strict") != NULL;
}

static bool
route_lacks_memory(const struct err *e)
{
	return e != NULL && e->domain == ERR_ERRNO && e->code == ENOMEM;
}

/*
 * One page, and once more when damage was found under it: its first part may
 * have been read from what its last part had to leave out; or when there was
 * no memory beside what earlier questions have left.
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
		if (!route_is_query(r) || c->store == NULL ||
		    i == ROUTE_TRIES - 1)
			break;
		if (e != NULL ? i > 0 || !route_lacks_memory(e) ||
		    !context_forget(c) : store_breaks(c->store) == breaks)
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
route_run(const struct site *site, const struct route *r, struct context *c,
    struct request *rq, struct response *rs)
{
	const struct err *e = route_in_time(rq, rs);
	int64_t strict = 0;

	if (e == NULL && strstr(r->params, "strict") != NULL)
		e = request_int(rq, "strict", 0, 1, 0, &strict);
	if (e == NULL)
		e = route_ask(r, c, rq, rs);
	if (route_lacks_memory(e) && route_is_query(r))
		e = err_field(ERR_REQUEST, 413, "query", "the answer needs "
		    "more memory than a worker may have: ask for a shorter "
		    "range, or for fewer nodes");
	/* what stopped half-way looks whole, or like another error */
	if (gone() && route_only_reads(site, rq))
		e = gone_check();
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
route_answer(const struct site *site, struct context *c, enum pool pool,
    struct request *rq, struct response *rs)
{
	bool path_known = false;
	const struct err *e = guard_request(c->settings->hosts, rq);

	if (e != NULL)
		return e;
	for (size_t i = 0; i < site->n_routes; i++) {
		const struct route *r = &site->routes[i];

		if (!route_has_path(r, rq->path))
			continue;
		if (pool != POOL_ALL && r->pool != pool)
			return err_new(ERR_REQUEST, 404,
			    "served by the pool \"%s\", this is \"%s\"",
			    route_pool_name(r->pool), route_pool_name(pool));
		if (route_has_method(r, rq->method))
			return route_run(site, r, c, rq, rs);
		path_known = true;
	}
	if (!path_known)
		return err_new(ERR_REQUEST, 404, "no such path: \"%.200s\"",
		    rq->path);
	rs->allow = route_allow(site, rq->path);
	return err_new(ERR_REQUEST, 405, "%s is not for this path",
	    rq->method);
}

bool
route_only_reads(const struct site *site, const struct request *rq)
{
	const struct route *r = route_of(site, rq->path);

	return strcmp(rq->method, "GET") == 0 ||
	    strcmp(rq->method, "HEAD") == 0 || (r != NULL && r->reads);
}

int
route_time_s(const struct site *site, const struct request *rq)
{
	const struct route *r = route_of(site, rq->path);

	return r != NULL ? r->time_s : 0;
}

/* How errors are written below a path. */
static route_error_fn *
route_error_of(const struct site *site, const char *path)
{
	for (size_t i = 0; i < site->n_errors; i++)
		if (strncmp(path, site->errors[i].below,
		    strlen(site->errors[i].below)) == 0)
			return site->errors[i].write;
	return response_error;
}

/* A push, whether it came as far as its page or not; workers of other pools
 * count none. */
static bool
route_is_push(const struct site *site, enum pool pool,
    const struct request *rq)
{
	const struct route *r = route_of(site, rq->path);

	return pool == POOL_INGEST ||
	    (pool == POOL_ALL && r != NULL && r->pool == POOL_INGEST);
}

void
route_dispatch(const struct site *site, struct context *c, enum pool pool,
    struct request *rq, struct response *rs)
{
	const struct err *e = route_answer(site, c, pool, rq, rs);

	if (e != NULL && route_is_push(site, pool, rq))
		site->refused(c, e);
	if (e != NULL && rs->allow == NULL)
		route_error_of(site, rq->path)(rs, e);
	else if (e != NULL)
		response_error(rs, e);
}
