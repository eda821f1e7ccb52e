/*
 * Requests over HTTP to services that may be slow, silent or strange: one
 * connection each, a deadline for all of it, every size bounded, no
 * redirects, no proxies.
 *
 *	http_new(&h, "memlens-scrape", NULL)
 *	http_start(h, &request, &answer)    as many as are wanted
 *	http_wait(h, -1, ms)                until answer.state is not HTTP_BUSY
 *	answer.body, or answer.why
 *	http_end(h, &answer)
 *
 * libcurl does the work.  It brings some thirty libraries, so it is loaded
 * by the first http_new(): the workers that parse what strangers push, which
 * ask nobody, never have it.
 */
#ifndef FCGI_HTTP_H
#define FCGI_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"

struct err;
struct http;

#define HTTP_HEAD_MAX (16u << 10) /* bytes of an answer's header */

/* Where requests go. */
struct http_place {
	char base[160];    /* "http://127.0.0.1:80", without a path */
	char path[512];    /* with the query; "/" where none was said */
	char name[112];    /* "host:port", or the path of the socket */
	char socket[108];  /* a unix socket's, or "" */
	char address[320]; /* of a name: "host:port:address", or "" */
};

/*
 * "http://host[:port]/path", the same with https, "unix:/socket[:/path]".
 * The name is looked up once, here; without `look_up`, where that could take
 * longer than somebody waits, addresses and "localhost" alone are known.
 * Errors: ERR_CONFIG.
 */
const struct err *http_place_parse(struct http_place *p, const char *text,
    bool look_up);

/* `agent` is what we call ourselves; `ca` a file of certificates by which
 * https is trusted, NULL: the system's.  Errors: ERR_CONFIG without libcurl,
 * ENOMEM. */
const struct err *http_new(struct http **out, const char *agent,
    const char *ca);
void http_free(struct http *h); /* NULL is fine; after the last http_end() */

struct http_request {
	const struct http_place *place;
	const char *path;   /* as it is sent, byte by byte; NULL: the place's */
	const char *accept; /* types, or NULL: all */
	const char *type;   /* of the body of a POST; NULL: a GET */
	const void *body;   /* borrowed until the end */
	size_t n_body;
	int64_t timeout_ns;
	size_t answer_max;  /* bytes of a body */
};

enum http_state {
	HTTP_NONE,
	HTTP_BUSY,
	HTTP_DONE,  /* status and body are there */
	HTTP_LATE,  /* the deadline has passed */
	HTTP_FAILED /* see why, which is there for HTTP_LATE too */
};

/* All zero before its first request; stays where it is while it is busy. */
struct http_answer {
	enum http_state state;
	int status;
	struct buf body;
	char why[200];
	/* the client's */
	void *easy, *headers, *resolved;
	char detail[256]; /* CURL_ERROR_SIZE */
	size_t head, answer_max;
	bool head_whole;
};

void http_start(struct http *h, const struct http_request *rq,
    struct http_answer *a);

/* Goes on with all requests; comes back when one of them has gone on, `fd`
 * (-1: none) can be read, a signal has come, or the time is over. */
void http_wait(struct http *h, int fd, int timeout_ms);

/* Breaks it off where it is busy, and frees; *a can be started again. */
void http_end(struct http *h, struct http_answer *a);

#endif
