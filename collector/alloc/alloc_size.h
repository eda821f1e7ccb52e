/*
 * The size of a sampled object, one word, as the library tells it and its
 * table has it, and as BPF programs and the daemon read it:
 *
 *	bits 0 to 47   bytes that were asked for
 *	bits 48 to 63  how many times the mean of the intervals was doubled
 */
#ifndef COLLECTOR_ALLOC_SIZE_H
#define COLLECTOR_ALLOC_SIZE_H

#ifndef __bpf__ /* kernel.h has these */
#include <linux/types.h>
#endif

#define ALLOC_MEAN_SHIFT 19 /* 512 KiB, not doubled */
#define ALLOC_MEAN (1ULL << ALLOC_MEAN_SHIFT)
#define ALLOC_DOUBLINGS_MAX 12 /* 2 GiB */
#define ALLOC_BYTES_BITS 48

static inline __attribute__((always_inline)) __u64
alloc_bytes(__u64 size)
{
	return size & ((1ULL << ALLOC_BYTES_BITS) - 1);
}

static inline __attribute__((always_inline)) __u64
alloc_doublings(__u64 size)
{
	return size >> ALLOC_BYTES_BITS;
}

static inline __attribute__((always_inline)) __u64
alloc_size(__u64 bytes, __u64 doublings)
{
	return bytes | doublings << ALLOC_BYTES_BITS;
}

#endif
