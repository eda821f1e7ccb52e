/*
 * Names and headers, compared.
 */
#include "fcgi/server/guard.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fcgi/server/request.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define BETWEEN " \t," /* names in a list */
#define NAME_MAX_ 253

/* The length of a host without its port; 0: it is malformed. */
static size_t
guard_name_len(const char *host, size_t n)
{
	const char *close = *host == '[' ? memchr(host, ']', n) : NULL;
	const char *colon = memchr(host, ':', n);
	size_t name = n;

	if (*host == '[')
		name = close != NULL ? (size_t)(close - host) + 1 : 0;
	else if (colon != NULL)
		name = (size_t)(colon - host);
	if (name > NAME_MAX_ || (name < n && host[name] != ':'))
		return 0;
	for (size_t i = name + 1; i < n; i++)
		if (host[i] < '0' || host[i] > '9')
			return 0;
	return name;
}

static bool
guard_same(const char *a, size_t n_a, const char *b, size_t n_b)
{
	return n_a == n_b && strncasecmp(a, b, n_a) == 0;
}

/* An address in figures, or localhost and what is below it. */
static bool
guard_is_local(const char *name, size_t n)
{
	static const char local[] = ".localhost";
	size_t n_local = sizeof(local) - 1;
	char text[NAME_MAX_ + 1];
	struct in6_addr a;

	if (*name == '[') {
		memcpy(text, name + 1, n - 2);
		text[n - 2] = '\0';
		return inet_pton(AF_INET6, text, &a) == 1;
	}
	memcpy(text, name, n);
	text[n] = '\0';
	return inet_pton(AF_INET, text, &a) == 1 ||
	    guard_same(name, n, local + 1, n_local - 1) ||
	    (n > n_local && guard_same(name + n - n_local, n_local, local,
	    n_local));
}

/* Calls for each name of a list; the first that is true. */
static const char *
guard_find(const char *hosts, bool (*is)(const char *item, size_t n,
    const char *with), const char *with)
{
	const char *p = hosts != NULL ? hosts : "";

	for (p += strspn(p, BETWEEN); *p != '\0'; p += strspn(p, BETWEEN)) {
		size_t n = strcspn(p, BETWEEN);

		if (is(p, n, with))
			return p;
		p += n;
	}
	return NULL;
}

/* A host in its parts; a dot at its end says the same name, absolute. */
struct guard_part {
	const char *name, *port;
	size_t n, n_port; /* 0, 0: malformed; no port */
};

static struct guard_part
guard_split(const char *host, size_t all)
{
	size_t n = guard_name_len(host, all);
	struct guard_part p = {host, host + n + 1, n,
	    n > 0 && n < all ? all - n - 1 : 0};

	if (n > 1 && host[n - 1] == '.')
		p.n--;
	return p;
}

static bool
guard_same_name(const struct guard_part *a, const struct guard_part *b)
{
	return a->n > 0 && guard_same(a->name, a->n, b->name, b->n);
}

static bool
guard_lets_in(const char *item, size_t n, const char *host)
{
	struct guard_part a = guard_split(item, n);
	struct guard_part b = guard_split(host, strlen(host));

	if (n == 1 && *item == '*')
		return true;
	return guard_same_name(&a, &b) && (a.n_port == 0 ||
	    guard_same(a.port, a.n_port, b.port, b.n_port));
}

static bool
guard_equals(const char *item, size_t n, const char *authority)
{
	struct guard_part a = guard_split(item, n);
	struct guard_part b = guard_split(authority, strlen(authority));

	return guard_same_name(&a, &b) &&
	    guard_same(a.port, a.n_port, b.port, b.n_port);
}

bool
guard_host(const char *hosts, const char *host)
{
	struct guard_part p = guard_split(host, strlen(host));

	return p.n > 0 && (guard_is_local(p.name, p.n) ||
	    guard_find(hosts, guard_lets_in, host) != NULL);
}

bool
guard_origin(const char *hosts, const char *host, const char *origin,
    const char *site)
{
	const char *authority = strstr(origin, "://");

	/* the browser's own word, which no page can forge */
	if (*site != '\0')
		return strcmp(site, "same-origin") == 0 ||
		    strcmp(site, "none") == 0;
	if (*origin == '\0')
		return true;
	if (authority == NULL)
		return false;
	return guard_equals(host, strlen(host), authority + 3) ||
	    guard_find(hosts, guard_equals, authority + 3) != NULL;
}

static bool
guard_is_no_name(const char *item, size_t n, const char *with)
{
	static const char fine[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:[]";

	(void)with;
	if (n == 1 && *item == '*')
		return false;
	return strspn(item, fine) < n || guard_name_len(item, n) == 0;
}

const struct err *
guard_check_hosts(const char *hosts)
{
	const char *bad = guard_find(hosts, guard_is_no_name, NULL);

	if (bad == NULL)
		return NULL;
	return err_new(ERR_CONFIG, 0, "hosts: \"%.*s\" is no name, "
	    "name:port or *", (int)strcspn(bad, BETWEEN), bad);
}

/* Who sends one of these is a browser. */
static bool
guard_is_browser(const struct request *rq)
{
	return *rq->origin != '\0' || *rq->sec_fetch_site != '\0';
}

static bool
guard_only_reads(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

const struct err *
guard_request(const char *hosts, const struct request *rq)
{
	const char *old = hosts != NULL ? hosts : "";
	int name = (int)strcspn(rq->host, ":");

	if ((*rq->host != '\0' || guard_is_browser(rq)) &&
	    !guard_host(hosts, rq->host))
		return err_field(ERR_REQUEST, 403, "Host", "\"%.100s\" is no "
		    "name of this server; if it should be, write \"hosts = "
		    "%.60s%s%.*s\" into [worker] of memlens-fcgi.conf",
		    rq->host, old, *old != '\0' ? " " : "",
		    name < 100 ? name : 100, rq->host);
	if (!guard_only_reads(rq->method) &&
	    !guard_origin(hosts, rq->host, rq->origin, rq->sec_fetch_site))
		return err_field(ERR_REQUEST, 403, *rq->sec_fetch_site != '\0'
		    ? "Sec-Fetch-Site" : "Origin", "another site may not "
		    "write here: Origin \"%.60s\", Sec-Fetch-Site \"%.20s\", "
		    "Host \"%.60s\"; a proxy in front must pass the Host on, "
		    "or its name be in hosts of memlens-fcgi.conf",
		    rq->origin, rq->sec_fetch_site, rq->host);
	return NULL;
}

int64_t
guard_wait_ns(const struct request *rq)
{
	double sent = strtod(rq->sent, NULL);
	double waited = (double)rq->now_ns / NS_PER_S - sent;

	if (!(sent > 0 && waited > 0))
		return 0;
	return waited < 1e9 ? (int64_t)(waited * NS_PER_S) : INT64_MAX;
}

const struct err *
guard_waited(const struct request *rq)
{
	int64_t waited = guard_wait_ns(rq);

	if (waited <= GUARD_WAIT_S * NS_PER_S)
		return NULL;
	return err_new(ERR_REQUEST, 429, "%.0f s passed before a worker was "
	    "free: more is asked than can be done",
	    (double)waited / NS_PER_S);
}
