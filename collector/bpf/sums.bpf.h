/*
 * Histograms of a BPF program (sums.h), in tables of their own instead of the
 * kernel's hashes: the daemon takes what they have in one exchange each while
 * others add.  Included once by a program that has such.
 */
#ifndef COLLECTOR_SUMS_BPF_H
#define COLLECTOR_SUMS_BPF_H

#include "collector/bpf/sums.h"

#define CELL_WAYS 32
#define KEPT_WAYS 8 /* and so many where those that leave room do not go */

/* Set by the daemon at any time. */
volatile __u64 sums_border = 0;

/* Read by it, through their memory. */
struct sums_cell sums_cells[2 * SUMS_CELLS];
__u32 sums_used[2];  /* cells of a side */
__u32 sums_large = 0; /* a sum is */

static __always_inline __u64
sums_hash(__u64 a, __u64 b)
{
	a ^= b * 0x9e3779b97f4a7c15ULL;
	a = (a ^ a >> 32) * 0xff51afd7ed558ccdULL;
	return a >> 24;
}

static __always_inline bool
sums_is_key(const struct sums_key *a, const struct sums_key *b)
{
	return a->tgid == b->tgid && a->device == b->device &&
	    a->bucket == b->bucket && a->what == b->what &&
	    a->detail == b->detail;
}

/* Two CPUs may take one each for a key: the daemon adds them. */
static __always_inline bool
sums_is_cell(struct sums_cell *c, const struct sums_key *key, __u8 side)
{
	if (c->state == SUMS_CELL_FREE &&
	    __sync_val_compare_and_swap(&c->state, SUMS_CELL_FREE,
	    SUMS_CELL_CLAIMED) == SUMS_CELL_FREE) {
		c->key = *key;
		barrier();
		*(volatile __u32 *)&c->state = SUMS_CELL_USED;
		__sync_fetch_and_add(&sums_used[side & 1], 1);
		return 1;
	}
	return *(volatile __u32 *)&c->state == SUMS_CELL_USED &&
	    sums_is_key(&c->key, key);
}

/* Which cell of a side to look at as the way number `way`.  Values of which
 * there are most leave the last quarter to all others, which look there first
 * and have the rest, too. */
static __always_inline __u32
sums_place(__u64 hash, __u32 way, bool leaves)
{
	__u32 at = hash & (SUMS_CELLS - 1);

	if (leaves || way >= KEPT_WAYS)
		return at * 3 / 4;
	return SUMS_CELLS / 4 * 3 + at / 4;
}

/* Adds a value to the key's histogram, whose bucket is found here; `leaves`:
 * as sums_place().  False: there is no room. */
static __always_inline bool
sums_add(struct sums_key *key, bool leaves, __u8 side, __u64 value)
{
	__u32 i, ways = leaves ? CELL_WAYS : KEPT_WAYS + CELL_WAYS;
	__u64 above, old, hash, at;

	key->bucket = sums_split(value, &above);
	hash = sums_hash((__u64)key->tgid << 32 | key->device,
	    (__u64)key->bucket << 16 | (__u64)key->what << 8 | key->detail);
	for (i = 0; i < ways; i++, hash += hash >> 20 | 1) {
		struct sums_cell *c;

		at = sums_place(hash, i, leaves) + (side & 1) * SUMS_CELLS;
		barrier_var(at); /* the verifier of 6.1 wants its bound, */
		c = &sums_cells[at & (2 * SUMS_CELLS - 1)]; /* so, */
		if (!sums_is_cell(c, key, side))
			continue;
		old = __sync_fetch_and_add(&c->sum, SUMS_ONE | above);
		if ((old & SUMS_LARGE) != 0)
			sums_large = 1;
		return 1;
	}
	return 0;
}

#endif
