/*
 * The API's language of time.
 *
 *	now, now-90s, now-1h, now-7d, now-3h30m     relative to the request
 *	1700000000, 1700000000.5                    unix seconds (to 11 digits)
 *	1700000000000                               milliseconds (12 to 14)
 *	1700000000000000                            microseconds (15 to 17)
 *	1700000000000000000                         nanoseconds (18, 19)
 *	2023-11-14T22:13:20Z, 2023-11-14T23:13:20.25+01:00     RFC 3339
 *
 * Units: ms, s, m, h, d (86,400 s), w, y (365 d).
 */
#ifndef FCGI_TIMESPEC_H
#define FCGI_TIMESPEC_H

#include <stdint.h>

struct buf;
struct err;

/* The end of time, in the year 2248: sums with steps do not overflow. */
#define TIMESPEC_MAX (INT64_C(8800000000) * 1000000000)

/* Nanoseconds since 1970 UTC, from 0 to TIMESPEC_MAX.  Errors: ERR_REQUEST 400
 * with the byte offset in its text; the caller adds the field. */
const struct err *timespec_parse(const char *text, int64_t now_ns,
    int64_t *ns);

/* [from, until) of a command line; also an error: from is not before until. */
const struct err *timespec_parse_range(const char *from, const char *until,
    int64_t now_ns, int64_t *from_ns, int64_t *until_ns);

/* A length of time, "10s", "1m30s" or plain seconds, "0.5"; above 0, at most
 * TIMESPEC_MAX. */
const struct err *timespec_parse_duration(const char *text, int64_t *ns);

/* As headings have it: "2026-11-21 10:00:00", UTC, whole seconds. */
void timespec_put(struct buf *out, int64_t ns);

#endif
