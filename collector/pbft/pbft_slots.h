/*
 * What replicas have counted, by the slot in which they did: the kernel says
 * which (bpf/pbft.h), so a daemon that comes late knows it, too.
 */
#ifndef COLLECTOR_PBFT_SLOTS_H
#define COLLECTOR_PBFT_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/disk/bins.h"
#include "collector/probe/pbft_probe.h"

/* All zero is empty. */
struct pbft_slots {
	struct bins bins;
};

/* Adds what a bucket of a member's has; false: out of memory. */
bool pbft_slots_add(struct pbft_slots *s, uint32_t member,
    const struct sums_key *key, uint64_t count, uint64_t above);

/* Borrowed for the call; `what` as in the keys. */
typedef void pbft_slots_fn(void *arg, uint32_t member, uint32_t what,
    const struct bin *bin);

/* Hands over what is of this slot, of earlier ones, and of those after
 * `present`, where the wall clock was once; the rest waits for its slot. */
void pbft_slots_take(struct pbft_slots *s, uint64_t slot, uint64_t present,
    pbft_slots_fn *fn, void *arg);

/* Does anything of this member wait? */
bool pbft_slots_wait(const struct pbft_slots *s, uint32_t member);

/*
 * What had no room, as a replica's lost_slots say.  Did it lose any of this
 * slot?  Also true where it is too long ago to be known.
 */
bool pbft_slots_lost(const __u64 lost_slots[PBFT_LOST_SLOTS], uint64_t slot);
/* How many are of slots after it, until `present`. */
uint64_t pbft_slots_lost_later(const __u64 lost_slots[PBFT_LOST_SLOTS],
    uint64_t slot, uint64_t present);

void pbft_slots_fini(struct pbft_slots *s);

#endif
