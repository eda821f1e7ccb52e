/*
 * Stacks as folded text, straight from the tree: no sorting, no profile.
 * A line for each stack with a value of its own, in the order of their first
 * sight; label sets are left out.  What folded.h reads.
 */
#ifndef FCGI_FORMAT_STACKS_FOLDED_H
#define FCGI_FORMAT_STACKS_FOLDED_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct err;
struct stacks;

/* Takes what is ready and clears it. */
typedef const struct err *stacks_folded_fn(void *arg, struct buf *out);

/* `bare` leaves the marks of kinds away (_[k], _[j], _[i]).  A name's ';'
 * and line ends become ':'.  Errors: those of flush, ENOMEM. */
const struct err *stacks_put_folded(const struct stacks *s, uint32_t type,
    bool bare, stacks_folded_fn *flush, void *arg);

#endif
