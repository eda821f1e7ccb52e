/*
 * What the sweep of threads says of each: wait_swept, one behind the other,
 * each of its own size.
 */
#ifndef COLLECTOR_BPF_WAIT_SWEEP_H
#define COLLECTOR_BPF_WAIT_SWEEP_H

#include "collector/bpf/event.h"

#define SWEEP_PAGE 4096
#define SWEEP_HEAD (1 + EVENT_COPY_HEAD / 8) /* words: ip, the copy's */
#define SWEEP_TRIES 8 /* to get a stack: rows may be missing at first */
#define SWEEP_PAGES 6 /* of a stack, behind a part of one, at most: two for the
                       * first try, and two more for each of the next */
#define WAIT_SKIP 0
#define WAIT_BELL_BYTES 4096 /* the least that a ring may have */
#define WAIT_ENDS 16384 /* so many are kept while the ring is full */

struct wait_swept {
	__u64 size; /* of all of this that is there; a multiple of 8 */
	__u64 now_ns;
	__u64 run_delay; /* the scheduler's sum now */
	struct wait_thread thread;
	struct sample_event event; /* EVENT_WAIT, WAIT_GOING; queued_ns until
	                            * now_ns; with frames and a copy where its
	                            * stack is there */
	__u64 more[SWEEP_PAGES * SWEEP_PAGE / 8]; /* room of the copy */
};

/* The last event of a thread, WAIT_DIED, for which the ring had no room: its
 * head and the sums. */
struct wait_end {
	__u64 event[(__builtin_offsetof(struct sample_event, frames) +
	    sizeof(struct wait_sums)) / sizeof(__u64)];
};

#endif
