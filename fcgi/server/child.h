/*
 * Work that may crash, leak or never end, done in a child, by us or by another
 * program: bytes come back.
 */
#ifndef FCGI_CHILD_H
#define FCGI_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"

struct err;

struct child_limits {
	int64_t time_ns;     /* of the wall clock, and of CPU in seconds */
	size_t memory_bytes; /* that it may allocate */
	size_t output_bytes; /* that it may send */
};

/* Runs in a fork of ours: appends its result; false is a failure.  Whatever it
 * prints is dropped. */
typedef bool child_fn(void *arg, struct buf *out);

/*
 * Appends the child's result to out.  Errors: ERR_REQUEST 503 when it passes
 * a limit, crashes or fails; `what` names the work in the message.
 */
const struct err *child_run(const char *what, const struct child_limits *l,
    child_fn *fn, void *arg, struct buf *out);

/*
 * The same by the program argv[0], a path, which reads `in` on its standard
 * input and says on standard error, in a line, why it fails: the message ends
 * with that.  The last of argv is NULL.
 */
const struct err *child_exec(const char *what, const struct child_limits *l,
    const char *const argv[], const struct buf *in, struct buf *out);

#endif
