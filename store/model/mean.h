/*
 * Means of stocks, exact until an answer is made: sums of fractions with one
 * denominator, the common multiple of the observations of all series.
 */
#ifndef STORE_MEAN_H
#define STORE_MEAN_H

#include "store/base/buf.h"

/* Series with so many different numbers of observations that their common
 * multiple is larger share a denominator of about this, and each of their
 * means is off by half of 1 / that. */
#define MEAN_DENOMINATOR_MAX (UINT64_C(1) << 40)

/* The greatest common divisor; of 0 and x that is x. */
uint128 mean_gcd(uint128 a, uint128 b);

/* A multiple of `denominator` (not 0) for sums that get means of n > 0
 * observations too. */
uint64_t mean_denominator(uint64_t denominator, uint64_t n);

/* v / n in parts of 1 / denominator; exact where n divides that. */
int128 mean_part(int128 v, uint64_t n, uint64_t denominator);

/* The nearest whole number; of two the larger. */
int128 mean_round(int128 parts, uint64_t denominator);

#endif
