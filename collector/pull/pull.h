/*
 * From what an endpoint or a dump file says to batches: heap dumps of
 * jemalloc and gperftools with names for their addresses, and pprof, with
 * names where it brings none.
 *
 *	inuse_space, inuse_objects    a stock: observed in the slot of the pull,
 *	                              the first time alone
 *	alloc_space, alloc_objects    a flow: what is more than at the pull
 *	                              before, over the time between the two
 *
 * The same holds for all that counts from a process's start: Go's contentions
 * of mutexes and blocking.  Where it has shrunk, the process has begun anew,
 * and all it has counted since is of the time between.  What is of a time of
 * its own, as Go's /debug/pprof/profile, is of that.
 *
 * How many bytes lie between two of a heap's samples is a gauge beside it,
 * where the source says it: TYPES_SAMPLING (store/model/types.h).
 *
 * This parses what strangers send: pull_child.h runs it behind walls.  The
 * same source's last body is kept, packed, for the difference.
 */
#ifndef COLLECTOR_PULL_H
#define COLLECTOR_PULL_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"

struct err;
struct pull;

#define PULL_PLAIN_MAX (64u << 20) /* bytes of a body when it is unpacked */
#define PULL_SOURCES_MAX 256u      /* bodies that are kept, and of them */
#define PULL_KEPT_MAX (32u << 20)  /* bytes: the oldest goes */

struct pull_ask {
	int64_t at_ns;   /* when it was asked for; of a dump, written */
	int64_t slot_ns;
	uint64_t run;    /* of the process, where that is known; or 0 */
	uint64_t origin; /* of a dump: whose it is, so that what is read of a
	                  * slot again counts once; else 0 */
	uint32_t source; /* whose body it is */
	char service[64], instance[64];
	char group[16];  /* last part of the path, "block", or "" */
};

/* What became of one body. */
struct pull_made {
	struct buf records;  /* of batches, the length before each: be32 */
	uint32_t n;          /* of them */
	uint32_t nameless;   /* addresses of files that could not be read */
	uint64_t skipped;    /* parts that were left out */
	char why[160];       /* of the last one, or "" */
};

/* NULL when out of memory. */
struct pull *pull_new(void);
void pull_free(struct pull *p); /* NULL is fine */

/*
 * Errors: ERR_REQUEST 422 for what is neither a heap dump nor a pprof or is
 * cut off, 413 for bounds, ENOMEM.  Then nothing of it is in the records, and
 * the body before is still the one before.
 */
const struct err *pull_take(struct pull *p, const struct pull_ask *ask,
    const void *data, size_t n, struct pull_made *made);

#endif
