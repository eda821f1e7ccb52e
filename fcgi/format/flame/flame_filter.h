/*
 * Which stacks of a profile a person asked for: those with a frame that
 * matches `focus`, without those that have one that matches `ignore`.
 */
#ifndef FCGI_FORMAT_FLAME_FILTER_H
#define FCGI_FORMAT_FLAME_FILTER_H

#include <stdbool.h>

struct err;
struct profile;

/*
 * By node: is its stack wanted?  The caller frees it; NULL where all are.
 * Both are POSIX extended expressions or NULL; names are matched, modules
 * are not.  Errors: ERR_REQUEST 400 with field "focus" or "ignore" for an
 * expression that does not compile or could be slow, ENOMEM.
 */
const struct err *flame_filter(bool **out, const struct profile *p,
    const char *focus, const char *ignore);

#endif
