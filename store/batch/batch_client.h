/*
 * The client's side of memlensd's socket: one batch, one answer.
 *
 *	struct batch_client *p;
 *	e = batch_client_open(&p, "/run/memlens/memlensd.sock", 2000);
 *	if (e == NULL)
 *		e = batch_client_batch(p, batch);
 *	batch_client_close(p);
 *
 * A connection may be kept; the daemon closes one on which nothing comes for
 * two minutes, which shows as an error of the next batch.
 */
#ifndef STORE_BATCH_CLIENT_H
#define STORE_BATCH_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

struct batch;
struct err;
struct batch_client;

/* Connects; every step of this and of what follows takes at most
 * `timeout_ms`.  ERR_ERRNO: nobody is there.  gone_check()'s error when a
 * worker has no more time for it. */
const struct err *batch_client_open(struct batch_client **out, const char *path,
    int timeout_ms);

/*
 * Sends one record (batch_encode()) and waits for its answer.  ERR_REQUEST
 * with the daemon's code and text when it refuses: 400, 403, 413, 422 will
 * never pass, 429 and 507 may later.  ERR_ERRNO or ERR_FORMAT when the
 * connection is of no more use: close it, open another and send again; the
 * batch's id keeps it from counting twice.
 */
const struct err *batch_client_record(
    struct batch_client *p, const void *record, size_t n);
const struct err *batch_client_batch(struct batch_client *p, struct batch *b);

/* When a 429 of memlensd's may pass, where its text ends with "again in N s":
 * these seconds; 0: it does not say. */
int batch_client_again_s(const struct err *e);

/*
 * Sends a batch that the caller uses again and again (batch_renew()): its
 * names go once over a connection, if the daemon has room for them.  After
 * an error all of them go again.
 */
const struct err *batch_client_stream(struct batch_client *p, struct batch *b);
/* Has it said that it has no room?  Then a batch with no other names than it
 * needs is cheaper. */
bool batch_client_is_whole(const struct batch_client *p);

struct purge_report;
struct purge_request;

/*
 * Asks the daemon for a purge, which only root may, and waits for its end,
 * however long it takes; `progress` (may be NULL) is told about once a second
 * how far it is, 0 to 1.  Errors as above.
 */
const struct err *batch_client_purge(struct batch_client *p,
    const struct purge_request *r, void (*progress)(void *arg, double share),
    void *arg, struct purge_report *report);

void batch_client_close(struct batch_client *p); /* NULL is fine */

#endif
