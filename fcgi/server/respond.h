/*
 * A response: status, headers and body, complete before its first byte
 * leaves.  A body has a bound; past it the answer is 413, never a short one.
 *
 * Caching.  An answer over a range that nothing ordinary can still change
 * carries a strong ETag, a hash of the request and of the state of the files
 * that it was read from, and "no-cache": keep it, but ask.  All others are
 * "no-store".
 */
#ifndef FCGI_RESPOND_H
#define FCGI_RESPOND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"

struct err;
struct request;
struct store;

#define RESPONSE_BODY_MAX (64u << 20)

#define TYPE_JSON "application/json"
#define TYPE_SVG "image/svg+xml"
#define TYPE_TEXT "text/plain; charset=utf-8"

struct response {
	int status;
	const char *type;  /* Content-Type */
	const char *allow; /* methods, for 405 */
	int retry_after_s; /* for 429 and 503; 0: not told */
	bool scripted;     /* the body is a document with a script of its own */
	char etag[40];     /* quoted, or "" */
	char file[120];    /* name to save the body under, or "": letters,
			    * digits, '.', '-' and '_' */
	bool shown;        /* where it has such a name: shown all the same */
	struct buf partial; /* what the answer lacks, for MemLens-Partial;
			     * empty: nothing */
	char range[128];   /* that is covered where a wider one than that of
			    * the request is, or "": see response_range() */
	char unit[32];     /* of the amounts in a body that has no place to
			    * say so, or "": see response_unit() */
	struct buf body;
};

void response_init(struct response *rs);
void response_fini(struct response *rs);

/*
 * Gives an answer over [from, until) its ETag when nothing will change it
 * any more.  True when the client has that very answer: the response is a
 * 304 then, and the work can be saved.
 */
bool response_unchanged(struct response *rs, const struct request *rq,
    const struct store *s, int64_t from_ns, int64_t until_ns);

/* The same by a number that stands for all that the answer was made of. */
bool response_unchanged_tag(struct response *rs, const struct request *rq,
    uint64_t tag);

/* Says in the header MemLens-Range that more is covered than was asked for;
 * of two ranges one after the other. */
void response_range(struct response *rs, int64_t from_ns, int64_t until_ns);

/* Says in the header MemLens-Unit what a text of bare numbers counts.  Units
 * come from strangers, too: of other bytes than letters, digits, '.', '-', '_'
 * and '/' it has '_'. */
void response_unit(struct response *rs, const char *unit);

/* Turns the response into {"error", "field", "detail"} with a status:
 * ERR_REQUEST's code, 413 for bounds of ours, 500 for the rest. */
void response_error(struct response *rs, const struct err *e);

/* Header lines, each ended by CRLF, and the empty line. */
void response_head(const struct response *rs, struct buf *out);

#endif
