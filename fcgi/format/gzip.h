/*
 * Bodies and files that gzip has packed, with a bound on what they become.
 */
#ifndef FCGI_FORMAT_GZIP_H
#define FCGI_FORMAT_GZIP_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

/* What honest input does not reach: bytes out of one byte in.  It holds
 * beyond the first megabyte; pprof packs to a fifth, folded text to a
 * twentieth. */
#define GZIP_RATIO_MAX 400

/* Do the bytes begin as gzip's do? */
bool gzip_looks(const void *data, size_t n);

/*
 * Appends what was packed, all members of it, to out; at most `max` bytes.
 * Errors: ERR_REQUEST 413 for more than max or than the ratio, 422 for what
 * is damaged or ends early, with the byte offset; ENOMEM.
 */
const struct err *gzip_inflate(struct buf *out, const void *data, size_t n,
    size_t max);

/* Appends the bytes, packed. */
const struct err *gzip_deflate(struct buf *out, const void *data, size_t n);

/*
 * The same of bytes that come one after the other: what gzip_end() has ended
 * is what gzip_deflate() makes of all of them.  Errors: ENOMEM, from
 * gzip_end(), which frees it in any case; NULL is one that had no memory.
 */
struct gzip_out;
struct gzip_out *gzip_begin(struct buf *out); /* which is borrowed */
void gzip_put(struct gzip_out *g, const void *data, size_t n);
const struct err *gzip_end(struct gzip_out *g);

#endif
