/*
 * memlensd -r: the batches of a recording, in their order and with their
 * ids, so that replaying a file is the same each time.
 */
#ifndef COLLECTOR_REPLAY_H
#define COLLECTOR_REPLAY_H

#include <stdint.h>

struct batch;
struct err;
struct replay;

const struct err *replay_open(struct replay **out, const char *path);

/* The next whole record, decoded, for the caller to free; NULL at the end.
 * What is damaged is skipped up to the next magic, and counted. */
const struct err *replay_next(struct replay *r, struct batch **out);

/* The recording's clock: the end of the newest slot of a batch, or its
 * newest fact; 0 for an empty batch. */
int64_t replay_time_ns(const struct batch *b);

uint64_t replay_damaged(const struct replay *r);
void replay_close(struct replay *r); /* NULL is fine */

#endif
