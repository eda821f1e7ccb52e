/*
 * Histograms of block requests and of what threads wait for in the kernel, as
 * the BPF programs (disk.bpf.c) sum them (sums.h) and the daemon reads them.
 */
#ifndef COLLECTOR_BPF_DISK_H
#define COLLECTOR_BPF_DISK_H

#include "collector/bpf/sums.h"

enum disk_what {
	DISK_QUEUE,   /* ns from a request's insertion to its issue */
	DISK_DEVICE,  /* ns from its issue to its completion */
	DISK_SIZE,    /* bytes */
	DISK_SYNC,    /* ns in fsync and its like */
	DISK_RECLAIM, /* ns in direct reclaim */
	DISK_COMPACT, /* ns in compaction */
	DISK_RUN_QUEUE, /* ns from being ready to run to running */
	DISK_FAULT,   /* ns of a page fault that had to read */
	DISK_WHATS
};

/* What a request does, as /proc/diskstats tells them apart. */
enum disk_operation {
	DISK_READ,
	DISK_WRITE,
	DISK_FLUSH,
	DISK_DISCARD,
	DISK_OPERATIONS
};

/* Threads wait for a CPU far more often than for anything else: those waits
 * leave room to the rest (sums.bpf.h). */
static inline __attribute__((always_inline)) __u8
disk_leaves_room(__u8 what)
{
	return what == DISK_RUN_QUEUE;
}

#define DISK_RANDOM 0x80 /* of a size: it begins elsewhere than the one
                          * before of the same process has ended */

enum disk_call {
	DISK_FSYNC,
	DISK_FDATASYNC,
	DISK_MSYNC,
	DISK_OTHER_CALL, /* a write to a file that is opened for syncing, ... */
	DISK_CALLS
};

enum disk_lost {
	DISK_LOST_SUM,     /* values that had no room, */
	DISK_LOST_QUEUED,  /* and those of DISK_RUN_QUEUE */
	DISK_LOST_REQUEST, /* requests and calls whose beginning is unknown */
	DISK_LOST_END,     /* requests whose end was not seen */
	DISK_LOSTS
};

#endif
