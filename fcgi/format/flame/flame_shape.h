/*
 * A profile made into another one before it is laid out: other stacks of
 * the same mass.
 */
#ifndef FCGI_FORMAT_FLAME_SHAPE_H
#define FCGI_FORMAT_FLAME_SHAPE_H

#include <stdbool.h>

struct err;
struct flame_options;
struct profile;

/* Do the options ask for stacks that the profile does not have as such? */
bool flame_is_shaped(const struct flame_options *o);

/*
 * The stacks that focus and ignore leave; with o->by_module consecutive
 * frames of one module as one, called like the module; with o->reverse from
 * the leaf to the root, so that callers are below what they call; with o->idle
 * without the reasons, and those that are idle.  A new
 * profile with strings of its own.  Errors: those of flame_filter(),
 * ERR_REQUEST 413 for a tree of more than o->max_built nodes, ENOMEM.
 */
const struct err *flame_shape(struct profile **out, const struct profile *p,
    const struct flame_options *o);

#endif
