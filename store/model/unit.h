/*
 * Units as clients call them, and as profiles are kept: one table for what
 * comes in, for what a store of before has, and for ids of types.
 *
 *	ns us ms s min h days lock_nanoseconds ...   nanoseconds
 *	B kB KiB kilobytes MB ...                    bytes
 *	"" objects goroutines lock_samples ...       count
 *
 * What is not in it is its own unit.  "samples" are, too: they say that each
 * one counted is a sample (series_sample_units()).
 */
#ifndef STORE_UNIT_H
#define STORE_UNIT_H

#include <stdbool.h>
#include <stdint.h>

/* The unit that one is kept in, a constant or the text itself; *scale, which
 * may be NULL: how many of those it is. */
const char *unit_canonical(const char *unit, int64_t *scale);

/* Is it in the table, or "samples"? */
bool unit_is_known(const char *unit);

/* Of one that is kept: is it that of time, of bytes? */
bool unit_is_time(const char *unit);
bool unit_is_bytes(const char *unit);

/* The same as unit_canonical() for a type of this name: what "samples" counts
 * is samples. */
const char *unit_of_type(const char *name, const char *unit, int64_t *scale);

/* May amounts in both be added, after scaling? */
bool unit_same(const char *a, const char *b);

#endif
