/*
 * Answers about graphs that a worker has made, by name and by a stamp of
 * the file that they were made from.  Bounded in number and bytes.
 */
#ifndef FCGI_GRAPH_CACHE_H
#define FCGI_GRAPH_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/buf.h"

struct graph_cache;

/* Appends what was kept under the key with this very stamp. */
bool graph_cache_get(const struct graph_cache *c, const char *key,
    uint64_t stamp, struct buf *out);

/* Keeps a copy, in place of the oldest; makes *c when it is NULL.  Does
 * nothing when memory is short or the answer is large. */
void graph_cache_put(struct graph_cache **c, const char *key, uint64_t stamp,
    const struct buf *answer);

void graph_cache_free(struct graph_cache *c);

#endif
