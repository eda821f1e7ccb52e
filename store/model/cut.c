/*
 * By the hash some values round up later than others do, so that many small
 * ones do not all fall into one part.
 */
#include "store/model/cut.h"

int128
cut_at(int128 v, int64_t x, int64_t length, uint64_t hash)
{
	int128 q = v * x / length, r = v * x % length;
	uint128 fraction =
	    ((uint128)r << 64) + (uint128)hash * (uint64_t)length;

	return q + (fraction >= (uint128)(uint64_t)length << 64 ? 1 : 0);
}
