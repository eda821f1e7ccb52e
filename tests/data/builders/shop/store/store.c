#include <math.h>
#include <zlib.h>

#include "store.h"

int
store_sum(int n)
{
	return (int)crc32(0, Z_NULL, 0) + table_of(n) + (int)floor(n / 2.0);
}
