/*
 * Time as Pyroscope's clients write it, and as ours do.
 *
 *	""                              now
 *	20231114                        that day, UTC
 *	1700000000000                   13 digits: ms; 16: us; 19: ns
 *	1700000000                      any other number of digits: seconds
 *	now-1h, -3h30m, today+5min      now and an offset; the word says nothing
 *	2023-11-14T22:13:20Z            RFC 3339, which theirs do not know
 *
 * '_', ',' and blanks are left out.  Units by their beginning: s, min or m,
 * h, d, w (7 d), mon or M (30 d), y (365 d); others count nothing.
 */
#ifndef FCGI_ATTIME_H
#define FCGI_ATTIME_H

#include <stdint.h>

struct err;

/* Nanoseconds since 1970 UTC, from 0 to the year 2248.  Errors: ERR_REQUEST
 * 400 for what is no time at all. */
const struct err *attime_parse(const char *text, int64_t now_ns, int64_t *ns);

#endif
