/*
 * What a person looks for among the names of functions: the search box of
 * the pages, whose rules are frontend/js/answers/flame-tree.js's.
 *
 *	get          names that contain it, ASCII letters of either case
 *	/^Get.*Key$/ names that match the expression (pattern.h)
 *	/put|get/i   the same, letters of either case
 *
 * The flags m, s and u mean nothing to a name, which is one line.  A
 * backslash that this language and JavaScript's read differently without a
 * word (\z, \h) is refused.  What a search finds of a profile is the amount
 * of the stacks that have a match: each counts once, however many of its
 * frames do.
 */
#ifndef FCGI_FORMAT_SEARCH_H
#define FCGI_FORMAT_SEARCH_H

#include <stdbool.h>

#include "store/base/buf.h"

struct diff;
struct err;
struct flame;
struct search;
struct table;

#define SEARCH_MAX 1024 /* bytes */

/* `text` is copied.  Errors: ERR_REQUEST 400 with field "search" for an
 * expression that does not compile, ENOMEM. */
const struct err *search_new(struct search **out, const char *text);
void search_free(struct search *s); /* NULL is fine */

/* `name` stays what it is while the search lives: it is matched once. */
bool search_test(struct search *s, const char *name);

/* To be asked before an answer is made of what was found: did each name have
 * an answer?  Errors: ERR_REQUEST 400 with field "search"; gone_check()'s. */
const struct err *search_check(const struct search *s);

/* What the stacks have that have a match. */
struct search_sum {
	int128 amount, samples; /* samples: 0 where !sampled */
	int128 unknown;         /* units without, as profile_samples */
	bool sampled;
};

void search_flame(struct search *s, const struct flame *f,
    struct search_sum *out);
/* Of a diff, by its sides. */
void search_diff(struct search *s, const struct diff *d, int128 sum[2]);

/* Leaves the rows that match. */
void search_table(struct search *s, struct table *t);

#endif
