/*
 * Rounds of PBFT, as the BPF programs (pbft.bpf.c) count them and sum their
 * phases (sums.h), and the daemon reads them.  A key's device is the slot, its
 * low 32 bits: who reads late knows when it was.
 */
#ifndef COLLECTOR_BPF_PBFT_H
#define COLLECTOR_BPF_PBFT_H

#include "collector/bpf/sums.h"

/* What a replica comes to in a round, in order.  The primary has a request,
 * too, of which it makes the proposal. */
enum pbft_state {
	PBFT_REQUEST,
	PBFT_PRE_PREPARE, /* it has the proposal */
	PBFT_PREPARE,     /* it knows that enough others have it */
	PBFT_COMMIT,      /* it knows that enough others know that */
	PBFT_EXECUTE,     /* it is done */
	PBFT_STATES
};

/* ns from a state to the next one. */
enum pbft_what {
	PBFT_TO_PREPARE,
	PBFT_TO_COMMIT,
	PBFT_TO_EXECUTE,
	PBFT_WHATS /* and from here on: rounds that came to a state, as 0 */
};

enum pbft_lost {
	PBFT_LOST_SUM,   /* rounds and phases that had no room */
	PBFT_LOST_BEGIN, /* ends of a phase whose beginning is unknown */
	PBFT_LOST_END,   /* beginnings that were given up */
	PBFT_LOST_STATE, /* calls with a state that is none of these */
	PBFT_LOSTS
};

#define PBFT_OPEN 64 /* rounds in one phase of a replica; a power of two */
#define PBFT_QUIET_NS 10000000000ULL /* in which all of them have ended */
#define PBFT_REPLICAS 64
#define PBFT_LOST_SLOTS 128 /* a power of two; more than a daemon lags */
#define PBFT_TICK_NS 10000000ULL /* in which /proc says when one began */

/*
 * Rounds of a replica that are in one phase.  Who calls does not say of which
 * round: the one that has been in it for longest leaves it first.
 */
struct pbft_queue {
	__u32 first, end; /* numbers of rounds; at[] by their low bits */
	__u64 at[PBFT_OPEN]; /* 0: not written yet, or taken */
};

struct pbft_replica {
	__u64 start_ns; /* of its process, boot time; the daemon knows it to
	                 * PBFT_TICK_NS; 0: it is just being put in */
	__u64 lost[PBFT_LOSTS];
	/* What had no room, by its slot's low bits: slot << 32 | how many. */
	__u64 lost_slots[PBFT_LOST_SLOTS];
	__u64 last_ns; /* of any state */
	struct pbft_queue open[PBFT_WHATS];
};

#endif
