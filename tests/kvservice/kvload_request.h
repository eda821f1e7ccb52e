/*
 * What is asked: the mix of operations, drawn from a seed, the text of a
 * request, and whether an answer is the right one for it.
 */

#ifndef KVLOAD_REQUEST_H
#define KVLOAD_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvload_answer.h"

enum op { OP_SET, OP_GET, OP_SCAN, OP_COUNT };

/* An answer counts under one of these. */
enum outcome { GOT_SET, GOT_FOUND, GOT_MISSING, GOT_SCAN, GOT_COUNT };

/* Or else the request counts under one of these. */
enum failure {
	FAIL_CONNECT,	/* refused */
	FAIL_CLOSED,	/* the connection ended before the answer */
	FAIL_TIMEOUT,	/* not answered, or not even sent, in time */
	FAIL_STATUS,	/* not 200, for set not 201 */
	FAIL_WRONG,	/* another body than this key's */
	FAIL_PROTOCOL,	/* not HTTP */
	FAIL_COUNT
};

struct mix {
	uint32_t weight[OP_COUNT];	/* of 0 to 1000000 each */
	double missing;		/* share of gets that ask for no known key */
	uint32_t keys;
	uint32_t scan_length;
	size_t value_size;
	const char *prefix;	/* of keys; unreserved characters only */
	bool close;		/* a connection per request */
	uint64_t seed;
};

struct request {
	enum op op;
	uint32_t key;
	bool absent;		/* a get of a key that nobody sets */
};

struct source;

/* Returns NULL when out of memory. mix is copied, its prefix is not. */
struct source *source_new(const struct mix *);
void source_free(struct source *);

/* The next request of the mix. */
struct request source_draw(struct source *);

/* At most that many bytes are written by request_write. */
size_t request_size_max(const struct mix *);

/* Write the text of a request to to; returns its length. */
size_t request_write(struct source *, const struct request *, char *to);

/* Judge a whole answer. True: *got is set; false: *why is. */
bool request_judge(const struct source *, const struct request *,
    const struct answer *, enum outcome *got, enum failure *why);

#endif
