/*
 * The daemon's half of histograms that BPF programs sum (bpf/sums.h).
 */
#ifndef COLLECTOR_PROBE_SUMS_H
#define COLLECTOR_PROBE_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/bpf/sums.h"

/* Where a program's tables are mapped; they stay its own. */
struct sums {
	struct sums_cell *cells;
	__u32 *used, *large;
	__u64 *border;
	uint64_t polled_ns; /* or taken; 0 at first */
	bool stopped;       /* nothing is summed any more */
	uint64_t asked_ns;  /* the last sums_poll(); 0 at first */
};

/* One bucket of a histogram, borrowed for the call: `count` observations, and
 * what they are above the bucket's least value, all together.  It may come in
 * several parts. */
typedef void sums_fn(void *arg, const struct sums_key *key, uint64_t count,
    uint64_t above);

/*
 * Hands over the sums of the open slot, which ended a moment ago; the next one
 * ends at end_ns, in CLOCK_MONOTONIC.  Once stopped: all that there are.
 */
void sums_take(struct sums *s, int64_t end_ns, sums_fn *fn, void *arg);

/*
 * The border of those whose keys say of which slot they are: it never comes,
 * and all that there is, is taken at any time.
 */
#define SUMS_NO_BORDER (~UINT64_C(1))
void sums_take_all(struct sums *s, sums_fn *fn, void *arg);

/* The same on the way, if there is enough of it: so that there is always room,
 * and processes are asked for while they are known.  Also hands over what was
 * summed late, of the slot that was taken last. */
void sums_poll(struct sums *s, sums_fn *fn, void *arg);

#endif
