/*
 * Who may ask: hosts, origins and waiting times, and that the table of
 * routes lets nobody past them.
 */
#include <stdio.h>

#include "fcgi/server/context.h"
#include "fcgi/server/guard.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/route.h"
#include "fcgi/server/settings.h"
#include "fcgi/site.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

TEST(hosts_that_need_no_list)
{
	CHECK(guard_host(NULL, "localhost"));
	CHECK(guard_host(NULL, "LocalHost:8080"));
	CHECK(guard_host(NULL, "localhost."));
	CHECK(guard_host(NULL, "db.localhost:1"));
	CHECK(guard_host(NULL, "127.0.0.1"));
	CHECK(guard_host(NULL, "127.9.9.9:80"));
	CHECK(guard_host(NULL, "192.168.1.20:8080"));
	CHECK(guard_host(NULL, "[::1]"));
	CHECK(guard_host(NULL, "[fe80::1]:8080"));
}

TEST(hosts_that_nobody_knows)
{
	CHECK(!guard_host(NULL, "evil.example"));
	CHECK(!guard_host(NULL, "evil.example:8080"));
	CHECK(!guard_host(NULL, "localhost.evil.example"));
	CHECK(!guard_host(NULL, "evillocalhost"));
	CHECK(!guard_host(NULL, ".localhost"));
	CHECK(!guard_host(NULL, "127.0.0.1.evil.example"));
	CHECK(!guard_host(NULL, "2130706433"));
	CHECK(!guard_host(NULL, "localhost:80@evil.example"));
	CHECK(!guard_host(NULL, "[::1].evil.example"));
	CHECK(!guard_host(NULL, "[::1"));
	CHECK(!guard_host(NULL, "[]"));
	CHECK(!guard_host(NULL, "["));
	CHECK(!guard_host(NULL, "::1"));
	CHECK(!guard_host(NULL, ":80"));
	CHECK(!guard_host(NULL, ""));
	CHECK(!guard_host("", "evil.example"));
}

TEST(hosts_of_a_list)
{
	const char *list = " perf.example, DB7:8443 ";

	CHECK(guard_host(list, "perf.example"));
	CHECK(guard_host(list, "Perf.Example:8080"));
	CHECK(guard_host(list, "db7:8443"));
	CHECK(!guard_host(list, "db7"));
	CHECK(!guard_host(list, "db7:80"));
	CHECK(!guard_host(list, "perf.example.evil"));
	CHECK(!guard_host(list, "evil.perf.example"));
	CHECK(guard_host("*", "any.example:1"));
	CHECK_OK(guard_check_hosts(list));
	CHECK_OK(guard_check_hosts("*"));
	CHECK_OK(guard_check_hosts(NULL));
	CHECK(guard_check_hosts("http://perf.example") != NULL);
	CHECK(guard_check_hosts("a b/c") != NULL);
	CHECK(guard_check_hosts("*.example") != NULL);
}

/* A browser that is sent to "name." keeps the dot. */
TEST(a_dot_at_the_end_is_the_same_name)
{
	const char *list = "perf.example db7:8443 MiXed.Org. dot.org.:81";

	CHECK(guard_host(list, "PERF.example."));
	CHECK(guard_host(list, "perf.example.:80"));
	CHECK(guard_host(list, "db7.:8443"));
	CHECK(!guard_host(list, "db7.:80"));
	CHECK(guard_host(list, "mixed.org"));
	CHECK(guard_host(list, "mixed.ORG.:1"));
	CHECK(guard_host(list, "dot.org:81"));
	CHECK(!guard_host(list, "dot.org"));
	CHECK(!guard_host(list, "perf.example.."));
	CHECK(!guard_host(list, "."));
	CHECK(!guard_host(list, ".:8443"));
	CHECK(guard_origin(list, "in", "https://Perf.Example.", ""));
	CHECK(guard_origin(NULL, "h.:80", "http://h:80", ""));
	CHECK(!guard_origin(NULL, "h.:80", "http://h.:81", ""));
	CHECK_OK(guard_check_hosts(list));
}

TEST(origins)
{
	CHECK(guard_origin(NULL, "h:80", "", ""));
	CHECK(guard_origin(NULL, "h:80", "http://h:80", "same-origin"));
	CHECK(guard_origin(NULL, "H", "https://h", ""));
	CHECK(guard_origin(NULL, "h", "", "none"));
	CHECK(guard_origin(NULL, "in:80", "https://outside", "same-origin"));
	CHECK(!guard_origin(NULL, "h", "http://evil", ""));
	CHECK(!guard_origin(NULL, "h", "http://h:81", ""));
	CHECK(!guard_origin(NULL, "h", "null", ""));
	CHECK(!guard_origin(NULL, "h", "", "cross-site"));
	CHECK(!guard_origin(NULL, "h", "http://h", "same-site"));
	CHECK(!guard_origin(NULL, "h", "http://h.evil", ""));
	/* a proxy in front that does not pass the Host on */
	CHECK(guard_origin("h out", "127.0.0.1", "https://out", ""));
	CHECK(!guard_origin("h out", "127.0.0.1", "https://out:81", ""));
	CHECK(guard_origin("out:81", "127.0.0.1", "https://out:81", ""));
	CHECK(!guard_origin("*", "127.0.0.1", "https://out", ""));
	CHECK(!guard_origin("out", "127.0.0.1", "https://out", "cross-site"));
}

TEST(waiting)
{
	struct request rq = {.now_ns = 1000 * NS_PER_S, .sent = ""};

	CHECK_OK(guard_waited(&rq));
	rq.sent = "991.5";
	CHECK_OK(guard_waited(&rq));
	rq.sent = "2000";
	CHECK_OK(guard_waited(&rq));
	rq.sent = "989.9";
	CHECK_INT(guard_waited(&rq)->code, 429);
}

static struct settings settings;
static struct response rs;

struct headers {
	const char *host, *origin, *site, *sent;
};

/* The status that the table of routes gives; nothing has a store here. */
static int
ask(const char *method, const char *path, struct headers h)
{
	struct context c;
	struct request rq;
	char uri[256];

	snprintf(uri, sizeof(uri), "%s", path);
	response_fini(&rs);
	response_init(&rs);
	context_init(&c, &settings, "/nonexistent/store");
	CHECK_OK(request_init(&rq, method, uri, NULL, NULL, clock_wall_ns()));
	rq.host = h.host;
	rq.origin = h.origin != NULL ? h.origin : "";
	rq.sec_fetch_site = h.site != NULL ? h.site : "";
	rq.sent = h.sent != NULL ? h.sent : "";
	route_dispatch(&site, &c, POOL_ALL, &rq, &rs);
	request_fini(&rq);
	context_fini(&c);
	buf_put_u8(&rs.body, 0);
	return rs.status;
}

static bool
said(const char *text)
{
	return strstr((const char *)rs.body.data, text) != NULL;
}

TEST(every_route_asks_who_it_is)
{
	const struct headers rebound = {.host = "evil.example:8080",
	    .site = "same-origin"};
	const struct headers foreign = {.host = "localhost:8080",
	    .origin = "http://evil.example"};
	const struct headers cross = {.host = "localhost:8080",
	    .site = "cross-site"};

	for (size_t i = 0; i < site.n_routes; i++) {
		const struct route *r = &site.routes[i];
		bool reads = strcmp(r->method, "GET") == 0;

		CHECK_INT(ask(r->method, r->path, rebound), 403);
		CHECK(said("hosts = evil.example\\\""));
		CHECK((ask(r->method, r->path, foreign) == 403) == !reads);
		CHECK((ask(r->method, r->path, cross) == 403) == !reads);
	}
	CHECK_INT(ask("GET", "/nowhere", rebound), 403);
	CHECK_INT(ask("HEAD", "/api/v1/health", rebound), 403);
	CHECK_INT(ask("OPTIONS", "/ingest", foreign), 403);
	/* a browser whose Host is lost on the way */
	CHECK_INT(ask("GET", "/api/v1/health",
	    (struct headers){.host = "", .site = "none"}), 403);
	CHECK_INT(ask("GET", "/api/v1/health",
	    (struct headers){.host = ""}), 200);
	CHECK_INT(ask("POST", "/querier.v1.QuerierService/Series", cross),
	    403);
	CHECK(said("\"code\":\"permission_denied\""));
}

TEST(every_route_refuses_what_has_waited)
{
	const struct headers late = {.host = "localhost", .sent = "1000.5"};

	for (size_t i = 0; i < site.n_routes; i++) {
		CHECK_INT(
		    ask(site.routes[i].method, site.routes[i].path, late), 429);
		CHECK(rs.retry_after_s > 0);
	}
}

int
main(void)
{
	CHECK_OK(settings_load(&settings, NULL));
	RUN(hosts_that_need_no_list);
	RUN(hosts_that_nobody_knows);
	RUN(hosts_of_a_list);
	RUN(a_dot_at_the_end_is_the_same_name);
	RUN(origins);
	RUN(waiting);
	RUN(every_route_asks_who_it_is);
	RUN(every_route_refuses_what_has_waited);
	response_fini(&rs);
	settings_free(&settings);
	return test_done();
}
