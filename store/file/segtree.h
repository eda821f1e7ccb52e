/*
 * The segment tree's arithmetic: pure, no data.
 *
 * A block of level L covers 4^L slots and begins at a multiple of that,
 * counted from 1970; a parent is the fold of its four children:
 *
 *	level 2  [               0..16               )
 *	level 1  [ 0..4  )[ 4..8  )[ 8..12 )[ 12..16 )
 *	level 0  [0)[1)[2)[3)[4)[5) ...
 *
 * There is no top: a level exists as soon as its first block is complete.
 * A range [a, b) is covered by at most three blocks a level on its way up
 * and three on its way down: 6 log4(n) = 3 log2(n).  Where a file does not
 * have a level, a block of it is read as those below (sealed_part()).
 */
#ifndef STORE_SEGTREE_H
#define STORE_SEGTREE_H

#include <stdint.h>

#define SEG_BITS 2 /* log2 of the arity */
#define SEG_MAX_LEVEL 19

static inline uint64_t
seg_slots(unsigned level)
{
	return UINT64_C(1) << (SEG_BITS * level);
}

/* The start of the block of `level` that holds `slot`. */
static inline uint64_t
seg_align(uint64_t slot, unsigned level)
{
	return slot & ~(seg_slots(level) - 1);
}

/* The level of the largest block that begins at `from` and ends by `until`,
 * at most `max`.  from < until. */
static inline unsigned
seg_level(uint64_t from, uint64_t until, unsigned max)
{
	unsigned level = 0;

	while (level < max && (from & (seg_slots(level + 1) - 1)) == 0 &&
	    until - from >= seg_slots(level + 1))
		level++;
	return level;
}

#endif
