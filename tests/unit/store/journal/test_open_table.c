/*
 * A sparse table against plain arrays: what is known, what is needed, the
 * next needed and the last.
 */
#include <stdlib.h>
#include <string.h>

#include "store/journal/open_table.h"
#include "tests/unit/test.h"

#define NUMBERS (5 * OPEN_BRANCH)
#define ROUNDS 40

struct plain {
	uint32_t known[NUMBERS];
	bool need[NUMBERS];
};

static uint32_t
roll(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* Numbers lie together here and there, and borders are met. */
static uint32_t
roll_number(uint64_t *state)
{
	uint32_t base = roll(state) % NUMBERS;

	switch (roll(state) % 4) {
	case 0:
		return base;
	case 1:
		return base / OPEN_BRANCH * OPEN_BRANCH;
	case 2:
		return base / OPEN_LEAF * OPEN_LEAF + OPEN_LEAF - 1;
	default:
		return 2 * OPEN_BRANCH + base % 150;
	}
}

static uint32_t
plain_next(const struct plain *p, uint32_t number)
{
	for (; number < NUMBERS; number++)
		if (p->need[number])
			return number;
	return INTERN_NONE;
}

static uint32_t
plain_last(const struct plain *p, uint32_t number)
{
	for (number = number < NUMBERS ? number : NUMBERS; number-- > 0;)
		if (p->need[number])
			return number;
	return INTERN_NONE;
}

static uint64_t
plain_count(const struct plain *p)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < NUMBERS; i++)
		n += p->need[i];
	return n;
}

/* How many answers differ, about numbers chosen at random and the ends. */
static unsigned
differ(const struct open_table *t, const struct plain *p, uint64_t *state)
{
	unsigned n = open_table_count(t) != plain_count(p);

	for (int i = 0; i < 400; i++) {
		uint32_t x = roll_number(state);

		x = i == 0 ? 0 : i == 1 ? NUMBERS : i == 2 ? INTERN_NONE : x;
		n += open_table_next(t, x) != plain_next(p, x);
		n += open_table_last(t, x) != plain_last(p, x);
		n += open_table_get(t, x) !=
		    (x < NUMBERS ? p->known[x] : INTERN_NONE);
		n += open_table_needs(t, x) != (x < NUMBERS && p->need[x]);
	}
	return n;
}

TEST(answers_are_those_of_plain_arrays)
{
	struct plain *p = calloc(1, sizeof(*p));
	struct open_table t = {0};
	unsigned wrong;
	uint64_t state = 1;

	memset(p->known, 0xff, sizeof(p->known));
	wrong = differ(&t, p, &state);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < round * round / 4; i++) {
			uint32_t x = roll_number(&state);

			CHECK(open_table_need(&t, x));
			p->need[x] = true;
			if (roll(&state) % 2)
				continue;
			CHECK(open_table_put(&t, x, i));
			p->known[x] = i;
		}
		wrong += differ(&t, p, &state);
		if (round % 5 == 4) {
			open_table_rest(&t);
			memset(p->need, 0, sizeof(p->need));
		}
	}
	CHECK_INT(wrong, 0);
	CHECK(t.bytes > 0);
	open_table_fini(&t);
	CHECK_INT(t.bytes, 0);
	free(p);
}

int
main(void)
{
	RUN(answers_are_those_of_plain_arrays);
	return test_done();
}
