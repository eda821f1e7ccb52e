/*
 * Bytes made smaller: raw deflate streams, whose length is known from
 * elsewhere.
 */
#ifndef STORE_DEFLATE_H
#define STORE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

/* Appends n bytes deflated.  `letters`: by how often each byte is, without
 * looking for repetitions, which numbers do not have. */
const struct err *deflate_put(struct buf *out, const void *p, size_t n,
    bool letters);
/* Appends what `size` bytes at p hold; ERR_FORMAT unless it is n bytes. */
const struct err *deflate_take(struct buf *out, size_t n, const void *p,
    size_t size);

#endif
