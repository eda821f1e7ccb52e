/*
 * Histograms of block requests and of what threads wait for in the kernel, as
 * the BPF programs (disk.bpf.c) sum them and the daemon reads them.
 */
#ifndef COLLECTOR_BPF_DISK_H
#define COLLECTOR_BPF_DISK_H

#ifndef __bpf__ /* those have kernel.h */
#include <linux/types.h>
#endif

enum disk_what {
	DISK_QUEUE,   /* ns from a request's insertion to its issue */
	DISK_DEVICE,  /* ns from its issue to its completion */
	DISK_SIZE,    /* bytes */
	DISK_SYNC,    /* ns in fsync and its like */
	DISK_RECLAIM, /* ns in direct reclaim */
	DISK_COMPACT, /* ns in compaction */
	DISK_RUN_QUEUE, /* ns from being ready to run to running */
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

#define DISK_RANDOM 0x80 /* of a size: it begins elsewhere than the one
                          * before of the same process has ended */

enum disk_call {
	DISK_FSYNC,
	DISK_FDATASYNC,
	DISK_MSYNC,
	DISK_OTHER_CALL, /* a write to a file that is opened for syncing, ... */
	DISK_CALLS
};

struct disk_key {
	__u32 tgid;    /* 0: the kernel */
	__u32 device;  /* major << 20 | minor; 0: none */
	__u16 bucket;  /* of disk_split() */
	__u8 what;     /* enum disk_what */
	__u8 detail;   /* enum disk_operation, with DISK_RANDOM; disk_call */
};

/*
 * A bucket of a histogram that has something in it.  Cells stand in a table
 * for each side, found by a hash of their key.
 * One word says how many observations there are, and in its low bits what they
 * are above the bucket's least value, so that one addition is the whole of it,
 * and the daemon takes it in one exchange, while others add.  A key may have
 * two cells, when two CPUs come at once.
 */
struct disk_cell {
	__u32 state; /* enum disk_cell_state */
	struct disk_key key;
	__u64 sum;
};

enum disk_cell_state { DISK_CELL_FREE, DISK_CELL_CLAIMED, DISK_CELL_USED };

#define DISK_CELLS 16384  /* of a side; a power of two */
#define DISK_REST_BITS 40 /* of a sum: above the bucket's least value */
#define DISK_ONE (1ULL << DISK_REST_BITS)
/* Half of what a sum holds, of either: it is to be taken soon. */
#define DISK_SUM_LARGE (1ULL << 63 | DISK_ONE >> 1)

enum disk_lost {
	DISK_LOST_SUM,     /* values that had no room */
	DISK_LOST_REQUEST, /* requests and calls whose beginning is unknown */
	DISK_LOST_END,     /* requests whose end was not seen */
	DISK_LOSTS
};

/*
 * The end of the open slot in CLOCK_MONOTONIC, and in its lowest bit the side
 * on which it is summed; the next slot is on the other one.  One word, so that
 * both change at once.
 */
static inline __attribute__((always_inline)) __u8
disk_side(__u64 border, __u64 now_ns)
{
	return (border & 1) ^ (now_ns >= (border & ~1ULL));
}

/* The bucket as histogram_bucket() of the store, which a test compares, and
 * how much the value is above the least one of that bucket. */
static inline __attribute__((always_inline)) __u16
disk_split(__u64 value, __u64 *above)
{
	__u64 rest = value;
	__u32 shift = 0;

	if (value >> 63)
		rest = value = ~0ULL >> 1;
	/* The bits above the eight that are kept, by halves. */
	if (rest >> 40) { shift += 32; rest >>= 32; }
	if (rest >> 24) { shift += 16; rest >>= 16; }
	if (rest >> 16) { shift += 8; rest >>= 8; }
	if (rest >> 12) { shift += 4; rest >>= 4; }
	if (rest >> 10) { shift += 2; rest >>= 2; }
	if (rest >> 9) { shift += 1; rest >>= 1; }
	if (rest >> 8) { shift += 1; rest >>= 1; }
	*above = value - (rest << shift);
	return rest < 128 ? rest : shift * 128 + rest;
}

#endif
