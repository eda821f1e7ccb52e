/*
 * Histograms that BPF programs sum (sums.bpf.h) and the daemon reads
 * (probe/sums.h): buckets, and which slot a moment is of.
 */
#ifndef COLLECTOR_SUMS_H
#define COLLECTOR_SUMS_H

#ifndef __bpf__ /* those have kernel.h */
#include <linux/types.h>
#endif

struct sums_key {
	__u32 tgid;    /* 0: the kernel */
	__u32 device;  /* major << 20 | minor; 0: none */
	__u16 bucket;  /* of sums_split() */
	__u8 what;     /* enum disk_what, enum pbft_what */
	__u8 detail;   /* of it: enum disk_operation and the like */
};

/*
 * A bucket of a histogram that has something in it.  Cells stand in a table
 * for each side, found by a hash of their key.
 * One word says how many observations there are, and in its low bits what they
 * are above the bucket's least value, so that one addition is the whole of it,
 * and the daemon takes it in one exchange, while others add.  A key may have
 * two cells, when two CPUs come at once.
 */
struct sums_cell {
	__u32 state; /* enum sums_cell_state */
	struct sums_key key;
	__u64 sum;
};

enum sums_cell_state { SUMS_CELL_FREE, SUMS_CELL_CLAIMED, SUMS_CELL_USED };

#define SUMS_CELLS 16384  /* of a side; a power of two */
#define SUMS_REST_BITS 40 /* of a sum: above the bucket's least value */
#define SUMS_ONE (1ULL << SUMS_REST_BITS)
/* Half of what a sum holds, of either: it is to be taken soon. */
#define SUMS_LARGE (1ULL << 63 | SUMS_ONE >> 1)

/*
 * The end of the open slot in CLOCK_MONOTONIC, and in its lowest bit the side
 * on which it is summed; the next slot is on the other one.  One word, so that
 * both change at once.
 */
static inline __attribute__((always_inline)) __u8
sums_side(__u64 border, __u64 now_ns)
{
	return (border & 1) ^ (now_ns >= (border & ~1ULL));
}

/* The bucket as histogram_bucket() of the store, which a test compares, and
 * how much the value is above the least one of that bucket. */
static inline __attribute__((always_inline)) __u16
sums_split(__u64 value, __u64 *above)
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
