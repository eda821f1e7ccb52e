/*
 * A small HTTP/1.1 client for targets that may be slow, silent or strange:
 * one request, one connection, one deadline for all of it, every size
 * bounded.  Header and body leave in one packet, since some servers answer
 * 40 ms later otherwise.
 *
 * Errors: ERR_REQUEST 504 when the deadline passes, 502 for everything else
 * that goes wrong on the way; the answer's own status is no error.
 */
#ifndef FCGI_HTTP_CLIENT_H
#define FCGI_HTTP_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"

struct err;

#define HTTP_ANSWER_MAX (4u << 20)

struct http_request {
	const char *target; /* "address:port" or "[v6]:port" */
	const char *method, *path;
	const char *type;   /* of the body; NULL: no body */
	const void *body;
	size_t n_body;
	int64_t timeout_ns;
};

struct http_answer {
	int status;
	struct buf body;
	int64_t latency_ns; /* from connect to the last byte */
};

/* buf_fini() the answer's body after any outcome. */
const struct err *http_do(const struct http_request *rq,
    struct http_answer *answer);

/* Parses a whole answer of n bytes; what http_do() does with what it has
 * read.  Chunked bodies are joined. */
const struct err *http_parse(const char *text, size_t n,
    struct http_answer *answer);

#endif
