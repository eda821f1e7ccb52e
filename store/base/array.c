/*
 * The one place where arrays of any type are enlarged: pointers and counts go
 * through memcpy, for their types are the callers'.
 */
#include "store/base/array.h"

#include <stdlib.h>
#include <string.h>

#define FEWEST 32u /* items */

bool
array_grow(void *array, size_t size, size_t n, void *cap, size_t cap_size)
{
	uint32_t small = 0;
	size_t more = 0;
	void *p;

	if (cap_size == sizeof(small)) {
		memcpy(&small, cap, sizeof(small));
		more = small;
	} else {
		memcpy(&more, cap, sizeof(more));
	}
	more = more < FEWEST / 2 ? FEWEST : 2 * more;
	if (more < n)
		more = n;
	if (more > SIZE_MAX / size ||
	    (cap_size == sizeof(small) && more > UINT32_MAX))
		return false;
	memcpy(&p, array, sizeof(p));
	if ((p = realloc(p, more * size)) == NULL)
		return false;
	memcpy(array, &p, sizeof(p));
	small = (uint32_t)more;
	memcpy(cap, cap_size == sizeof(small) ? (void *)&small : (void *)&more,
	    cap_size);
	return true;
}

size_t
array_count_upto(const void *items, size_t offset, size_t size, size_t n,
    uint64_t key)
{
	size_t low = 0, high = n, mid;
	uint64_t at;

	while (low < high) {
		mid = low + (high - low) / 2;
		memcpy(&at, (const char *)items + mid * size + offset,
		    sizeof(at));
		if (at <= key)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}
