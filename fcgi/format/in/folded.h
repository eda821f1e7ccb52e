/*
 * Folded stacks, as the stackcollapse scripts write them: a line a stack,
 * frames from the root, how often it was seen.
 *
 *	main;read;vfs_read_[k] 12
 *	main;compute 3.5
 *
 * The number is what follows the last blank; frames may hold blanks.  Empty
 * lines and those that begin with '#' are comments; CR LF is fine; the same
 * stack may come again.  _[k], _[i] and _[j] at a frame's end say kernel,
 * inlined and JIT code and are no part of its name.  A frame without one is
 * FRAME_MANAGED: a name, and no more is known.
 */
#ifndef FCGI_FORMAT_FOLDED_H
#define FCGI_FORMAT_FOLDED_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct folded;
struct stacks;
struct stacks_type;

/* "samples" of nothing else, period 1: what text does not say. */
extern const struct stacks_type folded_samples;

/*
 * Adds all of a text.  `type` NULL: folded_samples.  Lines that are not of
 * this form are left out (stacks_skip).  Errors: ERR_REQUEST 422 with the
 * first such line's number when no line is, those of stacks.
 */
const struct err *folded_parse(struct stacks *s, const void *data, size_t n,
    const struct stacks_type *type);

/* Lines without counts: each is one sample, empty ones are none, and there are
 * no comments. */
const struct err *folded_parse_lines(struct stacks *s, const void *data,
    size_t n, const struct stacks_type *type);

/*
 * folded_parse() in pieces, for what is larger than memory should be.  Feed
 * returns how many bytes it took: whole lines, or all when it is the last
 * piece; the caller brings the rest again.
 */
struct folded *folded_new(struct stacks *s, const struct stacks_type *type);
size_t folded_feed(struct folded *f, const char *p, size_t n, bool last);
/* From so many nodes on stacks are put together instead of one by one, which
 * changes nothing but the time: for tests, else it is 65,536. */
void folded_together(struct folded *f, size_t nodes);
/* What folded_parse() would say; frees f. */
const struct err *folded_finish(struct folded *f);

/* Does the first line that is no comment end in a number? */
bool folded_looks(const char *p, size_t n);
/* Text without control characters that has a ';'. */
bool folded_looks_lines(const char *p, size_t n);

/* The kind that a frame's end says, and where its name ends before that. */
int folded_kind(const char *name, size_t *n);

#endif
