/*
 * Buckets of latency histograms: 7 bits of mantissa under the leading one.
 */
#include "store/model/histogram.h"

#define HISTOGRAM_BITS 7
#define HISTOGRAM_LINEAR (1u << HISTOGRAM_BITS)

uint32_t
histogram_bucket(int64_t value)
{
	unsigned top, shift;

	if (value < (int64_t)HISTOGRAM_LINEAR)
		return value < 0 ? 0 : (uint32_t)value;
	top = 63 - (unsigned)__builtin_clzll((unsigned long long)value);
	shift = top - HISTOGRAM_BITS;
	return (shift + 1) * HISTOGRAM_LINEAR +
	    (uint32_t)((uint64_t)value >> shift) - HISTOGRAM_LINEAR;
}

int64_t
histogram_low(uint32_t bucket)
{
	unsigned shift;
	uint64_t low;

	if (bucket < HISTOGRAM_LINEAR)
		return bucket;
	shift = bucket / HISTOGRAM_LINEAR - 1;
	low = (uint64_t)(bucket % HISTOGRAM_LINEAR + HISTOGRAM_LINEAR) << shift;
	return low > INT64_MAX ? INT64_MAX : (int64_t)low;
}
