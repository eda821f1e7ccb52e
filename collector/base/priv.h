/*
 * What the daemon may do.  A table of capabilities with the reason for each;
 * after priv_drop() the effective, permitted and bounding sets are exactly
 * that table (as far as the kernel has given us its entries), inheritable
 * and ambient sets are empty, and no program that is executed can gain more.
 */
#ifndef COLLECTOR_PRIV_H
#define COLLECTOR_PRIV_H

#include <stdint.h>

struct err;

enum priv_use {
	PRIV_LIVE,  /* sampling: the table */
	PRIV_REPLAY /* reading a recording: nothing */
};

/* The set that is wanted, as a mask of 1 << CAP_x. */
uint64_t priv_wanted(enum priv_use use);

/*
 * Drops everything else.  Must be called before threads are made.  *missing
 * receives what is wanted and was not there.  A caller without capabilities
 * keeps none, successfully.
 */
const struct err *priv_drop(enum priv_use use, uint64_t *missing);

/* Name and reason of one capability of the table, for messages. */
const char *priv_name(int cap);
const char *priv_reason(int cap);

#endif
