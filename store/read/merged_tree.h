/*
 * The call tree as people see it: the label sets of the reader's symbols are
 * gone, and frames of equal name and kind below one parent are one node.
 *
 *	symbols   {process=a} -> f(mod1) -> g      merged  (root) -> f -> g
 *	          {process=b} -> f(mod2) -> g
 *
 * Kept beside the symbol table and never made anew, so that a query adds
 * into it by number and compares names only where it sorts what is shown.
 */
#ifndef STORE_MERGED_TREE_H
#define STORE_MERGED_TREE_H

#include "store/base/hashtable.h"
#include "store/base/intern.h"

struct err;
struct symtab;

#define MERGED_MIXED UINT32_MAX

/* Node 0 is the root.  A parent's number is smaller than its children's. */
struct merged_node {
	uint32_t parent, look;
	uint32_t module; /* string; MERGED_MIXED where its frames differ; by
	                  * module the first frame of its module and build */
};

/* What frames that look the same have in common. */
struct merged_look {
	uint32_t name, kind; /* string; enum frame_kind */
	uint32_t next;       /* look of the same name, or INTERN_NONE */
};

struct merged_tree {
	struct merged_node *nodes;
	uint32_t n, cap;
	uint32_t *of; /* symbol node -> node, for the first n_of */
	uint32_t n_of, cap_of;
	struct merged_look *looks;
	uint32_t n_looks, cap_looks;
	uint32_t *named; /* string -> its last look, or INTERN_NONE, for the
	                  * first n_named */
	uint32_t n_named, cap_named;
	uint32_t *rank;   /* look -> place in the order of (name, kind); */
	uint32_t *sorted; /* looks in that order; both of the first n_sorted */
	uint32_t n_sorted, cap_rank, cap_sorted;
	uint32_t *frame_look; /* frame -> look, for the first n_frames */
	uint32_t *frame_home; /* frame -> the first of its module and build */
	uint32_t n_frames, cap_frames, cap_homes;
	struct map64 by_home; /* (module, build id) -> its first frame */
	struct hashtable table; /* of nodes, by (parent, look) */
	bool by_module; /* set before it grows: nodes are of one build of one
	                 * module */
};

/* Takes up what has come to the table since; ENOMEM, after which it can be
 * called again. */
const struct err *merged_tree_grow(
    struct merged_tree *w, const struct symtab *t);
/* All looks get their rank: for who sorts most of them.  ENOMEM. */
const struct err *merged_tree_sort(
    struct merged_tree *w, const struct symtab *t);
/* The order of two looks without it. */
int merged_tree_compare(const struct merged_tree *w, const struct symtab *t,
    uint32_t a, uint32_t b);
/* Nothing will come for now: gives back the memory that only finds what is
 * there, which is made anew where that was wrong. */
void merged_tree_rest(struct merged_tree *w);
void merged_tree_fini(struct merged_tree *w);
/* The memory in use. */
size_t merged_tree_bytes(const struct merged_tree *w);

#endif
