/*
 * Purges that memlens asks for on the socket: one at a time, carried out by
 * the store's background thread.  The client hears of it once a second.
 */
#ifndef COLLECTOR_PURGER_H
#define COLLECTOR_PURGER_H

#include <stdint.h>

struct err;
struct intake;
struct purge_request;
struct purger;
struct store_writer;

const struct err *purger_new(struct purger **out);
/* After the store is closed.  NULL is fine. */
void purger_free(struct purger *p);

/* Begins a purge for a client of the intake; its answer comes with
 * purger_tick().  Errors: ERR_REQUEST for the selector, ERR_LIMIT 429 when
 * one is under way. */
const struct err *purger_begin(struct purger *p, struct store_writer *store,
    const struct purge_request *r, uint64_t client);

/* Tells the client how far it is, or how it ended. */
void purger_tick(struct purger *p, struct intake *in);

#endif
