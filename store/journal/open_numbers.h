/*
 * How the index of an open journal keeps the numbers of a gauge's or counter's
 * block: in a fraction of what the journal takes, for there are hundreds of
 * thousands of them, in each reader.  What is read is what was put, whatever
 * the numbers.
 *
 *	gauge    2 * count + 1, change, time                all are `last`
 *	         2 * count, change, last - min, max - min,
 *	         sum - count * last, time
 *	counter  increase, count, change - increase, time
 *
 * The change is from what was last before, in the series' block before.  For
 * the time stands a small number that the caller knows it by: a source reads
 * its figures all at once.
 */
#ifndef STORE_OPEN_NUMBERS_H
#define STORE_OPEN_NUMBERS_H

#include <stdint.h>

#include "store/base/buf.h"

struct batch_block;

/* k->last_ns is that number. */
void open_numbers_put(struct buf *out, const struct batch_block *k,
    int64_t before);
/* k->kind is set. */
void open_numbers_take(struct cur *c, struct batch_block *k, int64_t before);

#endif
