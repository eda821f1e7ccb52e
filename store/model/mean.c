/*
 * Fractions of one denominator.
 */
#include "store/model/mean.h"

uint128
mean_gcd(uint128 a, uint128 b)
{
	while (b != 0) {
		uint128 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

uint64_t
mean_denominator(uint64_t denominator, uint64_t n)
{
	uint64_t factor = n / (uint64_t)mean_gcd(denominator, n);

	if (factor > MEAN_DENOMINATOR_MAX / denominator)
		factor = denominator < MEAN_DENOMINATOR_MAX
		    ? MEAN_DENOMINATOR_MAX / denominator : 1;
	return denominator * factor;
}

int128
mean_part(int128 v, uint64_t n, uint64_t denominator)
{
	if (denominator % n == 0)
		return v * (int128)(denominator / n);
	/* v has no room for the denominator, its rest does */
	return v / (int128)n * (int128)denominator +
	    mean_round(v % (int128)n * (int128)denominator, n);
}

int128
mean_round(int128 parts, uint64_t denominator)
{
	return (2 * parts + (int128)denominator) / (2 * (int128)denominator);
}
