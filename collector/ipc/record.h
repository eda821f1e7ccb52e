/*
 * memlensd -w: every batch that goes to the store also goes to a file, as
 * records of store/batch/batch.h one after the other.
 */
#ifndef COLLECTOR_RECORD_H
#define COLLECTOR_RECORD_H

#include <stdint.h>

struct batch;
struct err;
struct record;

/* Opens for appending; the file is made 0640. */
const struct err *record_open(struct record **out, const char *path);

/* One write(2).  A record that did not fit is cut off again, so that the
 * file always ends with a whole one. */
const struct err *record_write(struct record *r, struct batch *b);

uint64_t record_lost(const struct record *r); /* batches not written */
void record_close(struct record *r);          /* NULL is fine */

#endif
