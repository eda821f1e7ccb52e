/*
 * ResilientDB's key-value interface, as far as the playground speaks it:
 *
 *	POST /v1/transactions/commit  {"id": KEY, "value": VALUE}  201
 *	GET  /v1/transactions/KEY     the stored body; empty: no such key
 *
 * Pure: from strings to strings.
 */
#ifndef FCGI_KV_H
#define FCGI_KV_H

#include <stddef.h>

#include "store/base/buf.h"

struct err;

/* What the target has said; whoever has it frees the body. */
struct kv_answer {
	int status;
	struct buf body;
	int64_t latency_ns; /* until the last byte */
};

/* The path of a key, NUL-terminated: all but A-Z a-z 0-9 - _ . ~ encoded. */
void kv_put_path(struct buf *out, const char *key);

/* The body of a commit. */
void kv_put_body(struct buf *out, const char *key, const char *value,
    size_t n);

/*
 * The member "value" of a stored body, as JSON.  Errors: ERR_REQUEST 404
 * with field "key" where the target has no such key, 502 for any other
 * answer than that interface's.
 */
const struct err *kv_value(const struct kv_answer *answer, struct buf *out);

#endif
