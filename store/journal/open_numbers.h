/*
 * How the index of an open journal keeps the numbers of a gauge's or counter's
 * block: in a third of what the journal takes, for there are hundreds of
 * thousands of them, in each reader.  What is read is what was put, whatever
 * the numbers.
 *
 *	gauge    2 * count + 1, last, time                  all are `last`
 *	         2 * count, last, last - min, max - min,
 *	         sum - count * last, time
 *	counter  increase, count, last, time
 *
 * A time is told by how far it is from another, that of the slot's first
 * block: a source reads its figures all at once.
 */
#ifndef STORE_OPEN_NUMBERS_H
#define STORE_OPEN_NUMBERS_H

#include <stdint.h>

#include "store/base/buf.h"

struct batch_block;

void open_numbers_put(struct buf *out, const struct batch_block *k,
    int64_t time_ns);
/* k->kind is set. */
void open_numbers_take(struct cur *c, struct batch_block *k, int64_t time_ns);

#endif
