/*
 * Which stacks of a profile a person asked for: those with a frame that
 * matches `focus`, without those that have one that matches `ignore`, nor,
 * where o->idle is asked for, those that wait for work.
 */
#ifndef FCGI_FORMAT_FLAME_FILTER_H
#define FCGI_FORMAT_FLAME_FILTER_H

#include <stdbool.h>

struct err;
struct flame_options;
struct profile;

/* Are only some of the stacks wanted? */
bool flame_is_filtered(const struct flame_options *o);

/*
 * By node: is its stack wanted?  The caller frees it; NULL where all are.
 * Names are matched, modules are not.  Errors: ERR_REQUEST 400 with field
 * "focus", "ignore" or "idle" for an expression that does not compile or could
 * be slow, ENOMEM.
 */
const struct err *flame_filter(bool **out, const struct profile *p,
    const struct flame_options *o);

#endif
