/*
 * Two profiles as one call tree: each node with its values in A and in B,
 * 0 where it has none there.  What differential pictures, tables and
 * Pyroscope's "double" format are made of.
 *
 *	A  total ─ main ─┬ read   B  total ─ main ─┬ read
 *	                 └ sync                    └ write
 *
 *	nodes  total  main  read  sync  write      pre-order, children by
 *	A      5      5     2     3     0          name, then kind
 *	B      9      9     8     0     1
 *
 * Nothing is normalised or left out here: both trees keep their mass.
 */
#ifndef FCGI_FORMAT_DIFF_H
#define FCGI_FORMAT_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

struct err;

enum { DIFF_A, DIFF_B };

/* What both have of a node, a frame or a function, by DIFF_A, DIFF_B: its
 * own, then that of all below it.  Samples are 0 where !sampled, and unknown
 * as profile_samples has them. */
struct diff_sides {
	int128 self[2], self_samples[2], self_unknown[2];
	int128 total[2], total_samples[2], total_unknown[2];
};

#define DIFF_NUMBERS 6 /* own ones, for flame_spread() */

struct diff {
	struct profile tree; /* the nodes of both; amounts are of both together.
	                      * Strings are borrowed, modules A's where it has
	                      * the node */
	struct diff_sides *sides; /* by node */
	bool sampled; /* are samples of both sides known? */
	bool unknown; /* but not all of one of them */
};

/* Do so few samples carry something that a statement is a guess? */
enum diff_few { DIFF_ENOUGH, DIFF_FEW, DIFF_MAYBE_FEW };

/* Of both sides: the samples that are known, and the units without. */
enum diff_few diff_few(int128 samples, int128 unknown);

/*
 * Aligns two profiles whose children are sorted by (name, kind), as the
 * store's and stacks_profile()'s are.  Nodes are equal when their names and
 * kinds are, all the way up.  The result borrows the strings of both: free
 * it first.  Units are not looked at: comparing them is the caller's
 * business.  Errors: ENOMEM.
 */
const struct err *diff_new(struct diff **out, const struct profile *a,
    const struct profile *b);
void diff_free(struct diff *d); /* NULL is fine */

#endif
