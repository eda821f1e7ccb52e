/*
 * The table of routes: its answers without a store, and that the manual
 * pages know all of it, and all keys of the configuration.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/route.h"
#include "fcgi/server/settings.h"
#include "fcgi/site.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

static struct settings settings;
static struct response rs;

/* The status of a request to a worker whose store does not exist. */
static int
ask(const char *method, const char *path, enum pool pool)
{
	struct context c;
	struct request rq;
	char uri[256];

	snprintf(uri, sizeof(uri), "%s", path);
	response_fini(&rs);
	response_init(&rs);
	context_init(&c, &settings, "/nonexistent/store");
	CHECK_OK(request_init(&rq, method, uri, NULL, NULL, clock_wall_ns()));
	route_dispatch(&site, &c, pool, &rq, &rs);
	request_fini(&rq);
	context_fini(&c);
	return rs.status;
}

TEST(paths_and_methods)
{
	CHECK_INT(ask("GET", "/api/v1/health", POOL_ALL), 200);
	CHECK_INT(ask("HEAD", "/api/v1/health", POOL_HEALTH), 200);
	CHECK_INT(ask("GET", "/api/v1/health/", POOL_ALL), 404);
	CHECK_INT(ask("GET", "/api/v1/healthy", POOL_ALL), 404);
	CHECK_INT(ask("GET", "/", POOL_ALL), 404);
	CHECK_INT(ask("POST", "/api/v1/health", POOL_ALL), 405);
	CHECK_STR(rs.allow, "GET, HEAD");
	CHECK_INT(ask("DELETE", "/api/v1/kv/a", POOL_ALL), 405);
	CHECK_STR(rs.allow, "GET, HEAD, PUT");
	CHECK_INT(ask("get", "/api/v1/health", POOL_ALL), 405);
	CHECK_INT(ask("GET", "/api/v1/services", POOL_ALL), 503);
	CHECK(rs.retry_after_s > 0);
}

TEST(pools_keep_to_themselves)
{
	CHECK_INT(ask("GET", "/api/v1/kv/a", POOL_QUERY), 404);
	CHECK_INT(ask("GET", "/api/v1/health", POOL_PLAYGROUND), 404);
	/* what watches over us waits for no query */
	CHECK_INT(ask("GET", "/api/v1/health", POOL_QUERY), 404);
	CHECK_INT(ask("GET", "/metrics", POOL_QUERY), 404);
	CHECK_INT(ask("GET", "/api/v1/services", POOL_HEALTH), 404);
	CHECK_INT(ask("PUT", "/api/v1/kv/a", POOL_PLAYGROUND), 403);
}

TEST(no_route_twice)
{
	for (size_t i = 0; i < site.n_routes; i++)
		for (size_t k = i + 1; k < site.n_routes; k++)
			CHECK(strcmp(site.routes[i].path,
				  site.routes[k].path) != 0 ||
			    strcmp(site.routes[i].method,
				site.routes[k].method) != 0);
}

TEST(errors_are_three_members)
{
	response_fini(&rs);
	response_init(&rs);
	response_error(&rs, err_field(ERR_REQUEST, 400, "a\"", "b\n"));
	buf_put_u8(&rs.body, 0);
	CHECK_STR((char *)rs.body.data, "{\"error\":\"bad request\","
	    "\"field\":\"a\\\"\",\"detail\":\"b\\\\x0a\"}\n");
	response_error(&rs, err_new(ERR_FORMAT, 77, "x"));
	CHECK_INT(rs.status, 500);
	response_error(&rs, err_new(ERR_LIMIT, 0, "x"));
	CHECK_INT(rs.status, 413);
	response_error(&rs, err_new(ERR_REQUEST, 999, "x"));
	CHECK_INT(rs.status, 500);
}

static char page[100000];

static void
read_page(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(page, 1, sizeof(page) - 1, f) : 0;

	page[n] = '\0';
	CHECK(n > 0);
	if (f != NULL)
		fclose(f);
}

/* Is there a line `macro word`, or the word among others behind `macro`? */
static bool
documented(const char *macro, const char *word)
{
	char line[512];
	size_t n = strlen(word);

	for (const char *p = page; *p != '\0'; p += strcspn(p, "\n") + 1) {
		const char *at;

		snprintf(line, sizeof(line), "%.*s", (int)strcspn(p, "\n"), p);
		if (strncmp(line, macro, strlen(macro)) != 0)
			continue;
		for (at = line; (at = strstr(at, word)) != NULL; at += n)
			if (at[-1] == ' ' && (at[n] == ' ' || at[n] == '\0'))
				return true;
	}
	return false;
}

TEST(the_manual_knows_every_route)
{
	char heading[200], params[200], *next, *name;

	read_page("fcgi/memlens-api.7");
	for (size_t i = 0; i < site.n_routes; i++) {
		const struct route *r = &site.routes[i];
		bool below = r->path[strlen(r->path) - 1] == '/';

		snprintf(heading, sizeof(heading), ".Ss %s %s%s\n", r->method,
		    r->path, below ? "KEY" : "");
		if (strstr(page, heading) == NULL)
			printf("# missing: %s", heading);
		CHECK(strstr(page, heading) != NULL);
		snprintf(params, sizeof(params), "%s", r->params);
		for (next = params; (name = strsep(&next, " ")) != NULL;) {
			if (*name != '\0' && !documented(".Ar ", name))
				printf("# missing: %s of %s\n", name, r->path);
			CHECK(*name == '\0' || documented(".Ar ", name));
		}
	}
}

TEST(the_manual_knows_every_key)
{
	char section[64];

	read_page("fcgi/memlens-fcgi.8");
	for (size_t i = 0; i < settings_spec.n_keys; i++) {
		const struct conf_key *k = &settings_spec.keys[i];

		snprintf(section, sizeof(section), ".It Bq Cm %s\n",
		    k->section);
		CHECK(strstr(page, section) != NULL);
		if (!documented(".It Cm ", k->key))
			printf("# missing: %s\n", k->key);
		CHECK(documented(".It Cm ", k->key));
	}
	CHECK(documented(".It Cm ", "elf"));
	CHECK(documented(".It Cm ", "bazel"));
	CHECK(documented(".It Cm ", "root"));
}

TEST(settings)
{
	struct settings s;

	CHECK_OK(settings_load(&s, "fcgi/memlens-fcgi.conf"));
	CHECK(s.kv_target == NULL && !s.kv_allow_put);
	CHECK_INT(s.kv_timeout_ns, 2 * NS_PER_S);
	CHECK(settings_find_graph(&s, NULL) == NULL);
	settings_free(&s);
	CHECK(settings_load(&s, "/nonexistent/conf") != NULL);
	settings_free(&s);
}

int
main(void)
{
	CHECK_OK(settings_load(&settings, NULL));
	RUN(paths_and_methods);
	RUN(pools_keep_to_themselves);
	RUN(no_route_twice);
	RUN(errors_are_three_members);
	RUN(the_manual_knows_every_route);
	RUN(the_manual_knows_every_key);
	RUN(settings);
	response_fini(&rs);
	settings_free(&settings);
	return test_done();
}
