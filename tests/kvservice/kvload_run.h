/*
 * The open loop: request i is due at start + i / rate, whatever happened to
 * those before it; it goes out on the next free connection, and its latency
 * counts from when it was due. Waiting requests are a number, not a queue:
 * they are drawn when they are sent.
 */

#ifndef KVLOAD_RUN_H
#define KVLOAD_RUN_H

#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>

#include "kvload_hist.h"
#include "kvload_request.h"

struct run_options {
	struct sockaddr_in target;
	uint32_t connections;
	double rate;		/* a second */
	double duration_s;	/* 0: until *stop */
	double timeout_s;	/* from when it was due to its answer */
	double spin_us;		/* poll that long before a request is due */
	struct mix mix;
};

struct run_result {
	uint64_t scheduled[OP_COUNT];	/* requests that were due */
	uint64_t failed[OP_COUNT];
	uint64_t failures[FAIL_COUNT];	/* the same, by reason */
	struct hist *latency[GOT_COUNT];	/* ns since it was due */
	struct hist *service[GOT_COUNT];	/* ns since it was sent */
	struct hist *send_delay;	/* ns from due to sent */
	uint64_t lost;		/* known keys that were missing */
	uint64_t bytes_out, bytes_in;
	uint64_t connects;
	double start_unix_s;
	double elapsed_s;	/* until the last answer or failure */
};

struct run;

/* Returns NULL with errno set. */
struct run *run_new(const struct run_options *);
void run_free(struct run *);

/*
 * Set every key once, as fast as the connections allow; not measured. Returns
 * how many sets failed. *stop (set by a signal that is blocked but for this)
 * ends it early.
 */
uint64_t run_preload(struct run *, const volatile sig_atomic_t *stop,
    double *elapsed_s);

/* The measured part. The result belongs to the run. */
const struct run_result *run_measure(struct run *,
    const volatile sig_atomic_t *stop);

#endif
