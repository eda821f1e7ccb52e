/*
 * Parts of a profile that Connect's clients ask for: the stacks that begin
 * with a call site, and the largest nodes alone.
 */
#ifndef FCGI_CALLSITE_H
#define FCGI_CALLSITE_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct profile;

/* Keeps the stacks whose first frames, from the root, have these n names; the
 * profile changes in place.  n 0: all.  Errors: ENOMEM. */
const struct err *callsite_keep(
    struct profile *p, const char *const *names, size_t n);

/* Leaves the `max_nodes` largest nodes, and all that are as large; what was
 * below them is a child "other" of its parent.  0 or less: all nodes.
 * Errors: ENOMEM. */
const struct err *callsite_prune(struct profile *p, int64_t max_nodes);

#endif
