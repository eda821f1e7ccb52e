/*
 * The last body of each source, packed, for the difference to the next one;
 * bounded: the one that was put first goes first.
 */
#ifndef COLLECTOR_PULL_KEPT_H
#define COLLECTOR_PULL_KEPT_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"

struct err;

struct pull_kept_body {
	uint64_t run;
	uint32_t source;
	int64_t at_ns;
	struct buf packed;
};

struct pull_kept { /* all zero is empty; the oldest first */
	struct pull_kept_body *bodies;
	uint32_t n, cap;
	size_t bytes;
};

void pull_kept_fini(struct pull_kept *k);

/* The body of a source's process and when it was: borrowed until the next
 * put; NULL where there is none. */
const void *pull_kept_find(const struct pull_kept *k, uint32_t source,
    uint64_t run, size_t *n, int64_t *at_ns);

/* Keeps a copy, instead of the one before.  ENOMEM. */
const struct err *pull_kept_put(struct pull_kept *k, uint32_t source,
    uint64_t run, int64_t at_ns, const void *data, size_t n);

#endif
