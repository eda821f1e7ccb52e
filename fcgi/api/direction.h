/*
 * Which way of a metric is the better one, where its name tells.  Most do
 * not: more CPU time is no fault where more was done.
 */
#ifndef FCGI_DIRECTION_H
#define FCGI_DIRECTION_H

enum direction { DIRECTION_UNKNOWN, DIRECTION_UP, DIRECTION_DOWN };

struct series_desc;

/* UP: more is better. */
enum direction direction_of(const struct series_desc *d);

/* "up", "down", or NULL. */
const char *direction_name(enum direction d);

#endif
