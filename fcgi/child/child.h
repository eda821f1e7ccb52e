/*
 * Work that may crash, leak or never end, done in a child: bytes come back.
 */
#ifndef FCGI_CHILD_H
#define FCGI_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
 * The pieces of it, for who starts a program (fcgi/server/draw.c) and for the
 * program.
 */

/* The fork begins: it ends with its parent, has nothing of its signals, and
 * these as standard input, output and error; -1 is /dev/null. */
void child_begin(int in, int out, int said);

/* The limits of time and memory, from here on. */
void child_limit(const struct child_limits *l);

/* Is there something to read, or the end?  Else why it is waited for no
 * longer, to be put after the name of the work. */
const char *child_await(int fd, int64_t deadline_ns);

/* Reads to the end, at most `max` bytes; what went wrong, or NULL. */
const char *child_read(int fd, int64_t deadline_ns, size_t max,
    struct buf *out);

bool child_write(int fd, const uint8_t *p, size_t n);

/* Waits for its end; the status of waitpid(). */
int child_reap(pid_t pid);

/* What we lack for it, by errno, as processes and descriptors: there may be
 * some in a moment. */
const struct err *child_lacks(const char *what, const char *call);

/* It ended with this status; the reason in its own words, or "". */
const struct err *child_failed(const char *what, const char *reason,
    int status);

#endif
