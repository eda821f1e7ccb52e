/*
 * A function's callers and callees, each as a call tree that begins at it:
 *
 *	a;f;x 3     callers  f 5 ─┬ a 3     callees  f 5 ─┬ x 3
 *	b;f;y 2                   └ b 2                   └ y 2
 *
 * Only the outermost frame of the function on a stack counts, so that both
 * trees have the function's total; what it calls may be itself again.  In
 * the callers' tree a frame's self is what began there: nobody called it.
 */
#ifndef FCGI_FORMAT_SANDWICH_H
#define FCGI_FORMAT_SANDWICH_H

#include "fcgi/format/flame/flame.h"

struct err;

struct sandwich {
	int128 self, total;           /* as the flame's: in units, and */
	struct profile_samples samples; /* 0 where it knows none */
	/* node 1, where there is one, is the function; strings are borrowed
	 * from the flame's names: free the sandwich first */
	struct profile *callers, *callees;
};

#define SANDWICH_STEPS_MAX 50000000u

/* `f` laid out whole.  Errors: ENOMEM; ERR_REQUEST 413 where walking the
 * callers takes more than SANDWICH_STEPS_MAX steps. */
const struct err *sandwich_new(struct sandwich **out, const struct flame *f,
    const char *function);
void sandwich_free(struct sandwich *s); /* NULL is fine */

#endif
