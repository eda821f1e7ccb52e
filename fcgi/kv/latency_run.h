/*
 * The latency test of SET: keys of our own are written one after the other, or
 * at a rate, and how long that took is told twice, since a service may say
 * yes long before it has stored anything:
 *
 *	accepted   until its answer to the write
 *	committed  until an answer to a read that has the value: one read at a
 *	           time, so at a rate not every write is read, but the next
 *	           one whenever no read is under way
 *
 * At a rate (open loop) both count from the time at which the write was due:
 * one that has to wait since others are not answered is late, not left out.
 * In sequence the next write is sent when the last is read back.
 */
#ifndef FCGI_LATENCY_RUN_H
#define FCGI_LATENCY_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "fcgi/kv/latency.h"

struct context;
struct err;

#define LATENCY_SAMPLES_MIN 200u
#define LATENCY_SAMPLES_MAX 10000u
#define LATENCY_RATE_MAX 500.0 /* per second */
#define LATENCY_TIME_S 240     /* of a test */

struct latency_run {
	/* what is asked for */
	uint32_t samples;
	double rate; /* per second; 0: in sequence */
	bool committed;
	char prefix[64]; /* of the keys: a number follows */
	/* what came of it */
	uint32_t sent, unread; /* unread: accepted, not found in 5 seconds */
	int64_t took_ns; /* until the last write was answered */
	char stopped[200]; /* why before its end; "": it was not */
	struct latency accepted, after_commit;
};

/* Stops at the first request that is not answered in time, or not as it
 * should be.  Errors: as kv_ask(), before anything is sent; gone_check()'s. */
const struct err *latency_run(struct context *c, struct latency_run *r);

#endif
