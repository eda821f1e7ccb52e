/*
 * A small HTTP/1.1 client: one GET, never blocking, with a deadline and a
 * bound on its size.
 *
 *	http_get_start(&g, url, now, deadline)
 *	poll(2) on http_get_fd() for http_get_events()
 *	http_get_step(&g, now)        until it is no longer HTTP_BUSY
 *	g.body, or g.why
 *	http_get_fini(&g)
 *
 * Request and headers go in one packet; the connection is closed after each
 * answer.  No redirects, no TLS: targets are neighbours.
 */
#ifndef COLLECTOR_SCRAPE_HTTP_H
#define COLLECTOR_SCRAPE_HTTP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "store/base/buf.h"

struct err;

#define HTTP_BODY_MAX (1u << 20)
#define HTTP_HEAD_MAX (16u << 10)

struct http_url {
	char host[128]; /* as written, with the port: the Host header */
	char path[512]; /* with the query */
	struct sockaddr_storage address;
	socklen_t address_len;
};

/* "http://host[:port]/path"; the name is looked up once, here. */
const struct err *http_url_parse(const char *text, struct http_url *out);

enum http_state {
	HTTP_BUSY,
	HTTP_DONE,  /* status and body are there */
	HTTP_FAILED /* see why */
};

struct http_get {
	int fd; /* -1: none */
	enum http_state state;
	int64_t deadline_ns; /* monotonic */
	struct buf out, in;  /* request; raw answer */
	size_t sent;
	int status;
	struct buf body;
	char why[160];
};

void http_get_start(struct http_get *g, const struct http_url *url,
    int64_t deadline_ns);
short http_get_events(const struct http_get *g); /* POLLIN or POLLOUT */
/* Goes on as far as it can; past the deadline it fails. */
void http_get_step(struct http_get *g, int64_t now_ns);
/* Closes and frees; *g can be started again. */
void http_get_fini(struct http_get *g);

/*
 * Looks at what has come: HTTP_BUSY, more is needed; HTTP_DONE, *status and
 * *body are set; HTTP_FAILED, not HTTP or too large.  `eof`: nothing more
 * will come.  Pure, for tests.
 */
enum http_state http_answer(const struct buf *in, bool eof, int *status,
    struct buf *body);

#endif
