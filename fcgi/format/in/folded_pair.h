/*
 * Folded stacks with two counts, as inferno-diff-folded and difffolded.pl
 * write them: a difference of two profiles in one text.
 *
 *	main;read 12 15
 *	main;write 7 0
 *
 * Otherwise as folded.h says.  They become two types, "A" and "B", that one
 * picture compares; for everything else they are no profile.
 */
#ifndef FCGI_FORMAT_FOLDED_PAIR_H
#define FCGI_FORMAT_FOLDED_PAIR_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct stacks;

/* Does every line end in two counts?  Of one line alone, or where no stack
 * has two frames, nobody knows: a name may end in a number. */
bool folded_pair_looks(const char *p, size_t n);

/* Lines without two counts are left out (stacks_skip).  Errors: ERR_REQUEST
 * 422 with the first such line's number when no line is of this form, those
 * of stacks, ENOMEM. */
const struct err *folded_pair_parse(struct stacks *s, const void *data,
    size_t n);

/* Do the stacks hold the types of such a text? */
bool folded_pair_in(const struct stacks *s);

#endif
