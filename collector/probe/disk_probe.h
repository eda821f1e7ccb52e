/*
 * The kernel's half of the histograms of disks: loads the BPF programs of
 * bpf/disk.h, says which of them work, and reads what they have summed.
 */
#ifndef COLLECTOR_DISK_PROBE_H
#define COLLECTOR_DISK_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/bpf/disk.h"
#include "collector/probe/sums.h"

struct disk_probe;
struct err;

enum disk_part {
	DISK_PART_REQUESTS,
	DISK_PART_SYNC,
	DISK_PART_RECLAIM, /* and compaction */
	DISK_PART_RUN_QUEUE,
	DISK_PART_FAULTS, /* those that had to read */
	DISK_PARTS
};

struct disk_probe_options {
	bool calls; /* fsync and its like as system calls, of all file systems,
	             * else as ext4 sees them */
	bool run_queue, faults; /* these parts, too */
};

/* Parts that this kernel does not have stay unattached.
 * Errors: ERR_BPF with the cause in words. */
const struct err *disk_probe_open(struct disk_probe **out,
    const struct disk_probe_options *o);
void disk_probe_close(struct disk_probe *p); /* NULL is fine */

/* Nothing more is summed; what is can still be read. */
void disk_probe_stop(struct disk_probe *p);

/* NULL: it is attached; else why not, for as long as the probe lives. */
const char *disk_probe_why(const struct disk_probe *p, enum disk_part part);

/* Is that as the kernel has no such tracepoint, or as nobody wants it? */
bool disk_probe_lacks(const struct disk_probe *p, enum disk_part part);

/* As sums_take() and sums_poll(). */
void disk_probe_take(struct disk_probe *p, int64_t end_ns, sums_fn *fn,
    void *arg);
void disk_probe_poll(struct disk_probe *p, sums_fn *fn, void *arg);

/* What had no room, by enum disk_lost, since the probe was opened. */
void disk_probe_losts(const struct disk_probe *p, uint64_t n[DISK_LOSTS]);
/* Times that the kernel did not run a program, since it was running. */
uint64_t disk_probe_skipped(const struct disk_probe *p);

#endif
