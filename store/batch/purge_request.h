/*
 * A purge, as memlens asks memlensd for it on its socket:
 *
 *	OFFSET SIZE
 *	0      4     "MLP1" (a batch begins with "MLB1")
 *	4      4     length of the payload, big endian, at most 8,192
 *	8      4     CRC-32C of the payload
 *	12     4     CRC-32C of bytes 0 to 11
 *	16     n     zigzag from, zigzag until (ns), selector as text
 *
 * The header is as long as a batch's.
 */
#ifndef STORE_PURGE_REQUEST_H
#define STORE_PURGE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"

struct err;

#define PURGE_REQUEST_HEADER 16
#define PURGE_REQUEST_MAX 8192u /* bytes of a payload */
#define PURGE_SELECTOR_MAX 4096u

struct purge_request {
	int64_t from_ns, until_ns;
	char selector[PURGE_SELECTOR_MAX + 1];
};

/* Appends the record.  ERR_LIMIT 413 for a selector that is too long. */
/* What it did. */
struct purge_report {
	uint64_t files;  /* rewritten or removed */
	uint64_t bytes;  /* given back to the file system */
	bool widened;    /* where retention has left the summary alone, whole
	                  * blocks of it went, beyond the range */
};

const struct err *purge_request_encode(const struct purge_request *r,
    struct buf *out);

/* Does a record's header begin one?  `header` has PURGE_REQUEST_HEADER
 * bytes. */
bool purge_request_is(const void *header);
/* The length of its payload.  ERR_FORMAT when the header is damaged,
 * ERR_LIMIT 413 when it is too long. */
const struct err *purge_request_length(const void *header, size_t *n);
/* Decodes a whole record; the selector is text without NUL, not parsed. */
const struct err *purge_request_decode(const void *record, size_t size,
    struct purge_request *r);

#endif
