/*
 * Arrays that double: what is in them stays, and what cannot be leaves them
 * as they were.
 */
#include <stdlib.h>

#include "store/base/array.h"
#include "tests/unit/test.h"

TEST(items_stay_while_it_doubles)
{
	uint64_t *a = NULL;
	size_t cap = 0, grown = 0;

	for (size_t n = 0; n < 10000; n++) {
		size_t before = cap;

		CHECK(array_room(&a, n + 1, &cap));
		CHECK(cap > n && (cap == before || cap >= 2 * before));
		grown += cap != before;
		a[n] = n * n;
	}
	CHECK(grown < 12);
	for (size_t n = 0; n < 10000; n++)
		CHECK_INT(a[n], n * n);
	free(a);
}

TEST(room_for_many_at_once)
{
	struct { char text[24]; } *a = NULL;
	uint32_t cap = 0;

	CHECK(array_room(&a, 1000, &cap));
	CHECK_INT(cap, 1000);
	CHECK(array_room(&a, 1001, &cap));
	CHECK_INT(cap, 2000);
	CHECK(array_room(&a, 7, &cap));
	CHECK_INT(cap, 2000);
	free(a);
}

TEST(what_cannot_be_changes_nothing)
{
	uint8_t *a = NULL;
	uint64_t *b = NULL;
	uint32_t cap = 0;
	size_t wide = 0, much = UINT32_MAX;

	CHECK(array_room(&a, 3, &cap));
	a[2] = 7;
	CHECK(!array_room(&a, much + 1, &cap));
	CHECK_INT(cap, 32);
	CHECK_INT(a[2], 7);
	CHECK(!array_room(&b, SIZE_MAX / 8 + 1 + wide, &wide));
	CHECK(b == NULL && wide == 0);
	free(a);
}

int
main(void)
{
	RUN(items_stay_while_it_doubles);
	RUN(room_for_many_at_once);
	RUN(what_cannot_be_changes_nothing);
	return test_done();
}
