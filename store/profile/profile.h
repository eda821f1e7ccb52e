/*
 * What becomes of self values by node of the reader.
 */
#ifndef STORE_PROFILE_H
#define STORE_PROFILE_H

#include "store/read/reader.h"

/* Turns them into the tree that people see; a split one is not limited.  With
 * `samples`, out->samples too, of s->scratch.samples and .unknown.  With
 * `each` (or NULL) it is given to that, and is not split nor limited. */
const struct err *profile_tree(struct store *s, const struct node_values *self,
    const struct profile_query *q, const struct profile_limit *limit,
    const struct profile_each *each, bool samples, struct profile *out);

/* What a function has of them. */
void profile_function(const struct store *s, const struct node_values *self,
    const char *name, struct function_sum *out);

/* From sums in parts of 1 / denominator, of a tree of which nothing is cut,
 * to whole units. */
void profile_finish_means(struct profile *p, uint64_t denominator);

#endif
