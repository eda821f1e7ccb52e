/*
 * The telescoping cut: a value over a length, in parts that add up to it
 * whatever their borders (store/file/format.h).
 */
#ifndef STORE_CUT_H
#define STORE_CUT_H

#include "store/base/buf.h"

/* What of v < 2^90 has come after x of `length`, both below 2^63:
 * floor(v * x / length + hash / 2^64).  The part [a, b) is the difference of
 * two, of one hash. */
int128 cut_at(int128 v, int64_t x, int64_t length, uint64_t hash);

#endif
