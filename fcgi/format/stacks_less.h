/*
 * A copy of some stacks with some of their types, of which those that count
 * from a process's start are less what they were before.
 */
#ifndef FCGI_FORMAT_STACKS_LESS_H
#define FCGI_FORMAT_STACKS_LESS_H

#include "fcgi/format/stacks.h"

enum stacks_take {
	STACKS_LEAVE, /* the type is not in the copy */
	STACKS_ALL,
	STACKS_LESS   /* less the values before, of the same type */
};

typedef enum stacks_take stacks_take_fn(void *arg,
    const struct stacks_type *t);

/*
 * *out is a new object, the caller's.  `before` may be NULL: types that are
 * taken less are left out then, and counted as skipped, as are values that
 * have shrunk.  *shrunk, which may be NULL: by how much they have, of all.
 * Errors: ENOMEM, stacks_error() of the copy.
 */
const struct err *stacks_less(struct stacks **out, const struct stacks *now,
    const struct stacks *before, stacks_take_fn *take, void *arg,
    uint64_t *shrunk);

#endif
