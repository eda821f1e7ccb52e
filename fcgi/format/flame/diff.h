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

#include "store/base/buf.h"
#include "store/model/series.h"

struct err;
struct profile;

enum { DIFF_A, DIFF_B };

struct diff_node {
	const char *name;   /* borrowed from a profile */
	const char *module; /* of A where A has the node; borrowed, or "" */
	enum frame_kind kind;
	uint32_t depth, parent; /* parent < own number; 0 for the root */
	int128 self[2], total[2]; /* by DIFF_A, DIFF_B */
	int128 self_samples[2], total_samples[2]; /* 0 where !sampled */
	int128 self_unknown[2], total_unknown[2]; /* as profile_samples */
};

struct diff {
	struct diff_node *nodes; /* nodes[0] is the root */
	size_t n_nodes;
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
