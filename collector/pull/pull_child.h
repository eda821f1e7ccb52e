/*
 * The process that parses what was pulled: without rights, network, or a way
 * to write a file or start a program; its memory is bounded, and whoever
 * started it ends it when it takes too long.  It reads program files, for
 * names.
 *
 *	scraper                     memlens-pull
 *	  body in a memory file  ->   pull_take()
 *	  records, or why not    <-   in another one
 *
 * One body at a time.  A process that dies or is ended takes the bodies with
 * it that are kept for differences: the next flow begins anew.
 */
#ifndef COLLECTOR_PULL_CHILD_H
#define COLLECTOR_PULL_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/pull/pull.h"

struct err;

#define PULL_CHILD_DEADLINE_NS (INT64_C(60) * 1000000000)

struct pull_child { /* .socket -1: none runs */
	int socket;
	pid_t pid;
	bool busy;
	int64_t since_ns; /* monotonic: when it was asked */
};

/* Hands a body over; starts the process where none runs.  Errors: what the
 * system lacks. */
const struct err *pull_child_ask(struct pull_child *c,
    const struct pull_ask *ask, const void *data, size_t n);

/*
 * Is it done with what it was asked?  Then *made is filled, its records the
 * caller's, or *e says why there is nothing: it lives as any error does.
 * Ends a process that has taken longer than PULL_CHILD_DEADLINE_NS.
 */
bool pull_child_done(struct pull_child *c, struct pull_made *made,
    const struct err **e);

void pull_child_end(struct pull_child *c);

#endif
