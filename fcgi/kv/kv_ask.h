/*
 * Asks the key-value service of the configuration: one request, one answer,
 * a deadline.  Nothing is retried: a target that hangs hangs for the next
 * request too.
 */
#ifndef FCGI_KV_ASK_H
#define FCGI_KV_ASK_H

#include "fcgi/kv/kv.h"

struct context;
struct err;
struct http_place;
struct http_request;

/* Is there a target?  ERR_REQUEST 404. */
const struct err *kv_ask_check(const struct context *c);

/* Where the target is; a name is not looked up, since that can take longer
 * than any deadline.  Errors: 502. */
const struct err *kv_ask_place(const char *target, struct http_place *place);

/* *hr has path and body; the rest is filled in.  Whoever has *out frees its
 * body, after errors too.  Errors: 504 when the deadline passes, 502 for all
 * else that goes wrong on the way, gone_check()'s; the answer's own status is
 * no error. */
const struct err *kv_ask(const struct context *c, struct http_request *hr,
    struct kv_answer *out);

/* The value of a key as JSON.  Errors: those, and kv_value()'s. */
const struct err *kv_ask_get(const struct context *c, const char *key,
    enum kv_reads reads, struct buf *json, int64_t *latency_ns);

/* Stores a text; when this comes back it was accepted, no more.  Errors:
 * those, 502 where the target refuses. */
const struct err *kv_ask_put(const struct context *c, const char *key,
    const char *text, size_t n, int64_t *latency_ns);

#endif
