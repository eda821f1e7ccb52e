/*
 * The batches of one push, kept as they came until the last one is there: all
 * of them are taken or none.
 */
#ifndef COLLECTOR_INTAKE_PARTS_H
#define COLLECTOR_INTAKE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"

struct batch;
struct err;

/* Of one push, in records: leaves room for others in INTAKE_BYTES_MAX. */
#define INTAKE_PUSH_MAX (32u << 20)

struct intake_parts {
	struct buf *records;
	size_t n, cap;
	size_t bytes; /* of memory, in all records */
	uint8_t id[16]; /* of the first */
	uint64_t until; /* end of the newest slot of all */
};

/* Takes the memory of the whole record of batch `b`.  Errors: out of memory,
 * and it stays the caller's. */
const struct err *intake_parts_add(struct intake_parts *p, struct buf *record,
    const struct batch *b);
/* Batch i, which the caller frees. */
const struct err *intake_parts_get(const struct intake_parts *p, size_t i,
    struct batch **b);
void intake_parts_fini(struct intake_parts *p);

#endif
