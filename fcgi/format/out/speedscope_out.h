/*
 * A flame graph as a file of speedscope: one sampled profile, stacks from
 * the root, weights in the unit.
 */
#ifndef FCGI_FORMAT_SPEEDSCOPE_OUT_H
#define FCGI_FORMAT_SPEEDSCOPE_OUT_H

#include <stdint.h>

#include "fcgi/format/flame/flame.h"

struct speedscope_out {
	const char *name;
	const char *unit; /* "nanoseconds", "bytes"; others become "none" */
};

/* Appends the JSON.  Errors: ENOMEM, ERR_REQUEST 413 when it is more than
 * `max_bytes`. */
const struct err *speedscope_put(struct buf *out, const struct flame *f,
    const struct speedscope_out *o, size_t max_bytes);

#endif
