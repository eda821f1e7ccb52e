/*
 * The dumps that programs write into a folder: a prefix as MALLOC_CONF or
 * HEAPPROFILE names it, "/var/lib/db/heap/jp" of
 *
 *	jp.4711.12.i12.heap     jemalloc: process, number, why
 *	jp.0012.heap            gperftools: number; jp_4711.0012.heap of a child
 */
#ifndef COLLECTOR_PULL_DUMPS_H
#define COLLECTOR_PULL_DUMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"

struct err;

#define PULL_DUMPS_MAX 16u /* processes that write at a time */

struct pull_dump {
	char name[256];  /* in the folder */
	uint64_t run;    /* the process, or 0 */
	int64_t time_ns; /* when it was written last */
	uint64_t bytes;
};

struct pull_dumps {
	struct pull_dump all[PULL_DUMPS_MAX]; /* oldest first */
	size_t n;
	size_t left_out; /* of more processes, those written earliest */
	bool any;        /* is there one at all, however old? */
	bool future;     /* is one written later than a minute from then? */
};

/*
 * The newest dump of each process that was written last after after_ns and
 * before before_ns.  Errors: a folder that cannot be read.
 */
const struct err *pull_dumps_find(const char *prefix, int64_t after_ns,
    int64_t before_ns, struct pull_dumps *found);

/* Reads one that is at most `max` bytes long and is a regular file. */
const struct err *pull_dumps_read(const char *prefix,
    const struct pull_dump *d, size_t max, struct buf *out);

#endif
