/*
 * A flame graph as folded text: "main;read;vfs_read_[k] 12", a line for each
 * stack with something of its own, in the order of the tree and in the
 * flame's unit.  What folded.h reads, and every other tool for flame graphs.
 *
 * A name's ';' and line ends become ':', as does a '#' that begins a line;
 * _[k], _[j] and _[i] at a frame's end say kernel, JIT and inlined code.
 */
#ifndef FCGI_FORMAT_FOLDED_OUT_H
#define FCGI_FORMAT_FOLDED_OUT_H

#include "fcgi/format/flame/flame.h"

/* Appends the lines; `bare` leaves these marks away.  Errors: ENOMEM,
 * ERR_REQUEST 413 when they are more than `max_bytes`. */
const struct err *folded_put(struct buf *out, const struct flame *f,
    bool bare, size_t max_bytes);

#endif
