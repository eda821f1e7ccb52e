/*
 * Which way of a metric is the better one, where its name tells.  Most do
 * not: more CPU time is no fault where more was done.
 */
#ifndef FCGI_BETTER_H
#define FCGI_BETTER_H

enum better { BETTER_UNKNOWN, BETTER_UP, BETTER_DOWN };

struct series_desc;

/* UP: more is better. */
enum better better_of(const struct series_desc *d);

/* "up", "down", or NULL. */
const char *better_name(enum better d);

#endif
