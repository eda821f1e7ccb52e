/*
 * Stacks as lines without counts: each line is one sample, empty lines are
 * none.  Frames are as in folded.h, and so are their marks.
 *
 *	main;read
 *	main;read
 */
#ifndef FCGI_FORMAT_LINES_H
#define FCGI_FORMAT_LINES_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct stacks;
struct stacks_type;

/* Adds all of a text; `type` NULL: folded_samples.  Errors: those of
 * stacks. */
const struct err *lines_parse(struct stacks *s, const void *data, size_t n,
    const struct stacks_type *type);

/* Text without control characters that has a ';'. */
bool lines_looks(const char *p, size_t n);

#endif
