/*
 * A worker writes nothing itself: what it has to keep goes to memlensd's
 * socket as a fact.
 */
#ifndef FCGI_FACT_POST_H
#define FCGI_FACT_POST_H

#include <stddef.h>
#include <stdint.h>

#include "store/model/fact.h"

struct context;
struct err;

/* Errors: the daemon's own as ERR_REQUEST (batch_client.h); 503 where it does
 * not take it, or there is no store yet. */
const struct err *fact_post(struct context *c, int64_t time_ns,
    enum fact_kind kind, const char *subject, const void *data, size_t n);

#endif
