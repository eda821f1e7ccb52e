/*
 * A request: what came over FastCGI, bounded and decoded, and typed access
 * to its parameters.  A getter's error is ERR_REQUEST with a status and the
 * parameter's name, ready to be answered.
 *
 * A parameter that is absent, and one that is empty where text or a time is
 * wanted, has its default.  Names that nobody asks for are ignored; a name
 * that comes twice is an error.
 */
#ifndef FCGI_REQUEST_H
#define FCGI_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fcgi/server/timespec.h"
#include "store/base/buf.h"

struct err;

#define REQUEST_QUERY_MAX 16384u /* bytes of a query string */
#define REQUEST_PARAMS_MAX 64u
#define REQUEST_PATH_MAX 8192u
#define REQUEST_BODY_MAX (1u << 20) /* where a route says nothing */
#define INGEST_BODY_MAX (64u << 20)
#define REQUEST_PLAIN_MAX (64u << 20) /* of a body when it is unpacked */
/* The end of time, in the year 2248: sums with slots do not overflow. */
#define REQUEST_UNTIL_MAX TIMESPEC_MAX

struct request_param {
	const char *name, *value; /* decoded, NUL-terminated */
};

struct request {
	char method[8];
	const char *path; /* raw, percent-encoded, below the prefix */
	struct request_param params[REQUEST_PARAMS_MAX];
	size_t n_params;
	/* headers; "" when absent; borrowed */
	const char *host, *origin, *sec_fetch_site, *if_none_match;
	const char *content_type, *content_encoding, *idempotency_key;
	const char *sent; /* Unix seconds: when the web server passed it on */
	struct buf body;
	int64_t now_ns; /* when it came; what "now" means */
	char *text;     /* private: decoded query */
};

/*
 * Takes the request apart.  `uri` is the raw request URI (path and query,
 * or in absolute form), `prefix` what a reverse proxy has put before our
 * paths, `query` the query string.  `uri` must outlive the request.
 * Errors: 400, 413, 414 for what is malformed or over a bound.
 */
const struct err *request_init(struct request *rq, const char *method,
    char *uri, const char *prefix, const char *query, int64_t now_ns);
void request_fini(struct request *rq);

/* Takes off Content-Encoding; the body is what it was then.  Errors:
 * ERR_REQUEST 415, 413, 422. */
const struct err *request_unpack(struct request *rq);

/* The value of a parameter, or NULL when it is absent or empty. */
const char *request_text(const struct request *rq, const char *name);

/* The value of a parameter that must be there. */
const struct err *request_need(const struct request *rq, const char *name,
    const char **value);

/* A whole number in [min, max]. */
const struct err *request_int(const struct request *rq, const char *name,
    int64_t min, int64_t max, int64_t fallback, int64_t *value);

/* A decimal number in [min, max]. */
const struct err *request_real(const struct request *rq, const char *name,
    double min, double max, double fallback, double *value);

/* One of a list that ends with NULL: its position. */
const struct err *request_choice(const struct request *rq, const char *name,
    const char *const *choices, size_t fallback, size_t *value);

/* [from, until): until is now where it is absent, from an hour before it.
 * until is never after REQUEST_UNTIL_MAX. */
const struct err *request_range(const struct request *rq, int64_t *from_ns,
    int64_t *until_ns);

/* The same of two other names; what is absent is from_ns and until_ns as
 * they come in. */
const struct err *request_range_of(const struct request *rq, const char *from,
    const char *until, int64_t *from_ns, int64_t *until_ns);

/*
 * Decodes %XX in place ('+' too when `plus`); returns the length, or -1 for
 * a malformed escape.  The result may hold NULs and is NUL-terminated.
 */
long request_decode(char *s, bool plus);

#endif
