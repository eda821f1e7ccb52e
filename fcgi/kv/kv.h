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

#include <stdbool.h>
#include <stddef.h>

#include "store/base/buf.h"

struct err;
struct json_object;

/* What the target has said; whoever has it frees the body. */
struct kv_answer {
	int status;
	struct buf body;
	int64_t latency_ns; /* until the last byte */
};

/* How a target reads the key in a path. */
enum kv_reads {
	KV_UNKNOWN, /* nobody has looked yet */
	KV_DECODES, /* as HTTP says: %2F is a slash */
	KV_RAW,     /* as it stands: crow knows no %2F */
	KV_NEITHER  /* a key that needs encoding was not found by either */
};

/* Is it the same either way, of A-Z a-z 0-9 - _ . ~ alone? */
bool kv_is_plain(const char *key);
bool kv_is_ascii(const char *key);

/* What a target that decodes nothing cannot be asked for: bytes that no path
 * has, and those at which one ends.  Its first such byte, or NULL. */
const char *kv_unsent(const char *key);

/* The path of a key, NUL-terminated: as it stands for KV_RAW, else all but
 * the bytes above encoded. */
void kv_put_path(struct buf *out, const char *key, enum kv_reads reads);

/* The body of a commit. */
void kv_put_body(struct buf *out, const char *key, const char *value,
    size_t n);

/* One JSON value and nothing behind it but blanks; NULL when it is not. */
struct json_object *kv_parse(const struct buf *body);

/*
 * The member "value" of a stored body, as JSON.  Errors: ERR_REQUEST 404
 * with field "key" where the target has no such key, 502 for any other
 * answer than that interface's.
 */
const struct err *kv_value(const struct kv_answer *answer, struct buf *out);

/* Is such a value this text, UTF-8 of n bytes, however it is escaped?  Where
 * not, `why` says in words at which character they part, by its code. */
bool kv_is_text(const struct buf *json, const char *text, size_t n,
    struct buf *why);

#endif
