/*
 * The kernel's half of the histograms of disks: loads the BPF programs of
 * bpf/disk.h, says which of them work, and reads what they have summed.
 */
#ifndef COLLECTOR_DISK_PROBE_H
#define COLLECTOR_DISK_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/bpf/disk.h"

struct disk_probe;
struct err;

enum disk_part {
	DISK_PART_REQUESTS,
	DISK_PART_SYNC,
	DISK_PART_RECLAIM, /* and compaction */
	DISK_PART_RUN_QUEUE,
	DISK_PARTS
};

/* Parts that this kernel does not have stay unattached.  `calls`: fsync and
 * its like as system calls, of all file systems, else as ext4 sees them;
 * `run_queue`: that part, too.
 * Errors: ERR_BPF with the cause in words. */
const struct err *disk_probe_open(struct disk_probe **out, bool calls,
    bool run_queue);
void disk_probe_close(struct disk_probe *p); /* NULL is fine */

/* Nothing more is summed; what is can still be read. */
void disk_probe_stop(struct disk_probe *p);

/* NULL: it is attached; else why not, for as long as the probe lives. */
const char *disk_probe_why(const struct disk_probe *p, enum disk_part part);

/* Is that as the kernel has no such tracepoint, or as nobody wants it? */
bool disk_probe_lacks(const struct disk_probe *p, enum disk_part part);

/* One bucket of a histogram, borrowed for the call: `count` observations, and
 * what they are above the bucket's least value, all together.  It may come in
 * several parts. */
typedef void disk_probe_fn(void *arg, const struct disk_key *key,
    uint64_t count, uint64_t above);

/*
 * Hands over the sums of the open slot, which ended a moment ago; the next one
 * ends at end_ns, in CLOCK_MONOTONIC.  Once stopped: all that there are.
 */
void disk_probe_take(struct disk_probe *p, int64_t end_ns, disk_probe_fn *fn,
    void *arg);

/* The same on the way, if there is enough of it: so that there is always room,
 * and processes are asked for while they are known.  Also hands over what was
 * summed late, of the slot that was taken last. */
void disk_probe_poll(struct disk_probe *p, disk_probe_fn *fn, void *arg);

/* What had no room, by enum disk_lost, since the probe was opened. */
void disk_probe_losts(const struct disk_probe *p, uint64_t n[DISK_LOSTS]);
/* Times that the kernel did not run a program, since it was running. */
uint64_t disk_probe_skipped(const struct disk_probe *p);

#endif
