/*
 * A tree while it is made: totals of merged nodes (profile_tree.c), in parts
 * by label where that is asked for (tree_split.c), and the nodes that people
 * see, in order (tree_walk.c) or one by one (tree_give.c).
 */
#ifndef STORE_TREE_PRIVATE_H
#define STORE_TREE_PRIVATE_H

#include "store/read/reader.h"

/* A node that waits for its turn; or, with rest 0, what is not shown of the
 * node's descendants. */
struct tree_open {
	int128 total; /* of what is cut */
	uint32_t node, rank, depth, parent, cut; /* rank: or look, where ranks
	                                          * are not known */
	uint32_t rest; /* place + 1 of what is not shown of its parent */
};

struct tree {
	struct store *s;
	const struct node_values *self;
	struct reader_scratch *x; /* the store's */
	struct merged_tree *shown; /* the store's, of one or other kind */
	const struct profile_each *each; /* who is given it, or NULL */
	const char *split;        /* a label, "" for label sets, or NULL */
	uint32_t value;           /* of that label, or a label set: whose
	                           * stacks are wanted */
	size_t n_visited;         /* nodes with a total, children first */
	int128 least;             /* total of a node that is shown; */
	size_t equals;            /* of those with just that so many, */
	bool counted;             /* the first ones, where they are counted */
	size_t n_large;           /* visited ones that are */
	bool mixed;               /* of one of them the module is not known */
	bool ranked;              /* all looks are: */
	struct tree_open *stack;
	size_t n_stack, cap_stack;
	uint32_t *names; /* string -> place in out->strings + 1 */
	struct profile_samples *samples; /* by node; NULL: not wanted */
	struct profile *out;
};

/* Adds the stacks' own values to the nodes, and totals and counts of all nodes
 * above those; the same of their samples. */
void tree_totals(struct tree *t);
/* Lists what is shown, and writes it down below a name that stands for the
 * root; nothing of the part is left. */
const struct err *tree_part(struct tree *t, uint32_t name, uint32_t depth,
    bool last);
void tree_add_samples(struct tree *t, struct profile_samples *to,
    uint32_t node);

/* Does a stack belong to the part that is being made? */
bool tree_takes(const struct tree *t, uint32_t node);
/* All parts by t->split, and a root above them. */
const struct err *tree_split(struct tree *t);

/* Names are kept as places (plus one) until all of them are there. */
const char *tree_name(struct tree *t, uint32_t string);
/* Room for so many nodes more; and as many cut ones where some are cut. */
const struct err *tree_room(struct tree *t, size_t more);
void tree_emit(struct tree *t, const struct profile_node *node, uint32_t cut,
    const struct profile_samples *samples);
/* A name that stands for the root of what is visited now, and all below. */
const struct err *tree_walk(struct tree *t, uint32_t name, uint32_t depth);

/* All of what is listed to t->each; the answer has the root alone. */
const struct err *tree_give(struct tree *t);

#endif
