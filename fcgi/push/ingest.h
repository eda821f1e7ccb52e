/*
 * What /ingest and Connect's push have in common: from stacks of a request
 * to the daemon, and the answer about it.
 *
 * A request is taken whole or refused whole.  Whether it was taken is not
 * known where the daemon stops before it answers: the same request with the
 * Idempotency-Key that the error names counts once.
 */
#ifndef FCGI_INGEST_H
#define FCGI_INGEST_H

#include <stdbool.h>
#include <stdint.h>

struct context;
struct err;
struct push;
struct request;
struct response;
struct stacks;

/* The most that a pprof may be when it is unpacked. */
#define INGEST_PPROF_MAX (32u << 20)

/* Counts a request that was refused, by what it was answered with. */
void ingest_refuse_for(struct context *c, const struct err *e);

/* Tells the store what was refused, where no push has taken it along: at most
 * once a second.  In how many milliseconds to call again; -1: nothing is
 * left.  `last`: the worker ends. */
int ingest_tell(struct context *c, bool last);

/* A push that is going to this context's store, with the id of the request;
 * `kept`: of push_cache_stacks().  Errors: ERR_REQUEST 503 while there is no
 * store. */
const struct err *ingest_begin(struct context *c, const struct request *rq,
    bool kept, struct push **p);

/* What was taken, for counters and the answer. */
struct ingest_report {
	const char *format;   /* a constant: "folded" */
	uint64_t profiles;
	const struct stacks *skipped; /* borrowed, or NULL */
};

/*
 * Sends what was added, counters with it.  Errors: ERR_REQUEST 429 with
 * rs->retry_after_s, 507, 503 when the daemon is not there, what it says
 * else.
 */
const struct err *ingest_send(struct context *c, const struct request *rq,
    struct push *p, const struct ingest_report *report, struct response *rs);

#endif
