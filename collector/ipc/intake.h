/*
 * The daemon's door: a unix stream socket that takes batches.
 *
 *	client -> record (store/batch/batch.h), record, ... whole or of a stream
 *	daemon -> one line for each: "ok\n" or "error CODE text\n"
 *
 * A client with uid 0 may also send a purge (store/batch/purge_request.h):
 *	daemon -> "progress PERCENT\n" once a second, then
 *	          "purged FILES BYTES WIDENED\n" or "error CODE text\n"
 *
 * CODE is an HTTP status: 400 not a batch, 403 not your door, 409 not the
 * names that this connection has (begin anew) or no room for names (send
 * whole batches), 413 too large, 422 does not fit this store, 429 too much at
 * a time, 507 disk full.  After 403, 413, 429 and a damaged header the
 * connection is closed.
 *
 * Batches of one push (batch.h) are kept until the last one is there, and each
 * is answered "ok" when it is: that of the last tells what became of all of
 * them.  After an error none is taken, and the connection is closed.
 *
 * A batch whose client has closed the connection by the time it is read is
 * not taken: who does not wait for the answer sends it again.
 *
 * Who may come in (SO_PEERCRED): uid 0, the daemon's own uid, and whoever
 * has the configured group among his groups.
 */
#ifndef COLLECTOR_INTAKE_H
#define COLLECTOR_INTAKE_H

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct err;
struct intake;
struct loop;

#define INTAKE_CONNECTIONS_MAX 96 /* workers keep theirs */
#define INTAKE_BYTES_MAX (48u << 20)                /* in all buffers */
#define INTAKE_STREAMS_MAX 8 /* clients whose names are kept */
#define INTAKE_RECORD_NS INT64_C(10000000000)       /* for one record */
#define INTAKE_IDLE_NS INT64_C(120000000000)        /* between two */

/* Takes one batch; the batch is freed by the caller.  Its error is what the
 * client is told. */
typedef const struct err *intake_fn(void *arg, struct batch *b);

/* The batches of one push, each of which intake_options.check has seen. */
struct intake_parts;
typedef const struct err *intake_push_fn(void *arg,
    const struct intake_parts *parts);

/* Begins a purge; its end comes with intake_tell().  An error is the answer. */
struct purge_request;
typedef const struct err *intake_purge_fn(void *arg,
    const struct purge_request *r, uint64_t client);

struct intake_options {
	const char *path;
	const char *group; /* or NULL */
	struct loop *loop;
	intake_fn *take;
	void *arg;
	intake_purge_fn *purge; /* NULL: there are none */
	intake_fn *check;       /* of a push's batch: will it be taken? */
	intake_push_fn *push;   /* takes all of one or none */
};

struct intake_stats {
	uint64_t connections, taken, refused, /* batches */
	    turned_away, timeouts,            /* connections */
	    starved, /* times that there was no descriptor to accept with */
	    abandoned; /* batches whose client had gone: not stored */
};

/* Binds the socket, 0660, the group's if one is named.  A path on which
 * somebody answers is an error (ERR_LIMIT); a dead one is replaced. */
const struct err *intake_open(struct intake **out,
    const struct intake_options *options);

/* A line (without its newline) for a client whose purge is under way; `last`:
 * the purge is over.  A client that has gone is no error.  Not from a
 * callback of the loop. */
void intake_tell(struct intake *in, uint64_t client, const char *line,
    bool last);

/* Ends connections that are too slow.  Call about once a second. */
void intake_tick(struct intake *in, int64_t mono_ns);

/* Has this process a connection now? */
bool intake_has_peer(const struct intake *in, int32_t pid);

void intake_stats(const struct intake *in, struct intake_stats *out);
void intake_close(struct intake *in); /* NULL is fine; unlinks the path */

#endif
