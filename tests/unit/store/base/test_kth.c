/* The k-th largest against a sorted copy. */
#include <stdlib.h>
#include <string.h>

#include "store/base/kth.h"
#include "tests/unit/test.h"

#define MOST 60

static int
compare(const void *a, const void *b)
{
	int128 x = *(const int128 *)a, y = *(const int128 *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Few different values, so that many are equal; beyond 64 bits, too. */
TEST(as_a_sorted_copy_has_it)
{
	int128 a[MOST], sorted[MOST], again[MOST];
	uint32_t seed = 1;

	for (size_t round = 0; round < 3000; round++) {
		size_t n = round % MOST + 1;

		for (size_t i = 0; i < n; i++) {
			seed = seed * 1664525 + 1013904223;
			a[i] = (int128)(seed >> 16) % (1 + round % 200) << 70;
		}
		memcpy(sorted, a, sizeof(a));
		qsort(sorted, n, sizeof(*sorted), compare);
		for (size_t k = 1; k <= n; k++) {
			memcpy(again, a, sizeof(a));
			CHECK(kth_largest(again, n, k) == sorted[k - 1]);
		}
	}
}

int
main(void)
{
	RUN(as_a_sorted_copy_has_it);
	return test_done();
}
