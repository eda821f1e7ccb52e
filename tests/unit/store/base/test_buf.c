/*
 * Varints: the quick ways of reading and writing them against a slow one.
 */
#include <string.h>

#include "store/base/buf.h"
#include "tests/unit/test.h"

static uint64_t seed = 1;

static uint64_t
roll(void)
{
	uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return z ^ z >> 31;
}

/* What format.h says of a varint, bit by bit; false: malformed or cut. */
static bool
slow_varint(const uint8_t *p, size_t n, uint64_t *v, size_t *used)
{
	unsigned __int128 sum = 0;

	for (*used = 0; *used < n && *used < 10; (*used)++) {
		sum |= (unsigned __int128)(p[*used] & 0x7f) << 7 * *used;
		if (p[*used] < 0x80) {
			(*used)++;
			*v = (uint64_t)sum;
			return sum <= UINT64_MAX;
		}
	}
	return false;
}

TEST(varints_are_read_as_by_the_slow_way)
{
	for (int i = 0; i < 200000; i++) {
		uint8_t bytes[16];
		size_t n = roll() % 17, used;
		uint64_t v, got;
		struct cur c;
		bool fine;

		for (size_t k = 0; k < n; k++)
			bytes[k] = roll() % 4 ? 0xff & (0x80 | roll())
			                      : (uint8_t)roll() & 0x7f;
		c = cur_of(bytes, n);
		fine = slow_varint(bytes, n, &v, &used);
		got = cur_varint(&c);
		CHECK(c.bad == !fine);
		if (!fine)
			continue;
		CHECK(got == v);
		CHECK((size_t)(c.p - bytes) == used);
	}
}

TEST(varints_come_back)
{
	struct buf b = {0};
	uint64_t numbers[4096];
	struct cur c;

	for (int i = 0; i < 4096; i++) {
		numbers[i] = roll() >> roll() % 64;
		if (i % 2)
			buf_put_varint(&b, numbers[i]);
		else
			buf_put_varint128(&b, numbers[i]);
	}
	c = cur_of(b.data, b.len);
	for (int i = 0; i < 4096; i++)
		CHECK(cur_varint(&c) == numbers[i]);
	CHECK(!c.bad && cur_left(&c) == 0);
	CHECK(cur_u8(&c) == 0 && c.bad);
	buf_fini(&b);
}

int
main(void)
{
	RUN(varints_are_read_as_by_the_slow_way);
	RUN(varints_come_back);
	return test_done();
}
