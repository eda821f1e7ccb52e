/* The hash table against a search of all items. */
#include "store/base/hashtable.h"
#include "tests/unit/faults.h"
#include "tests/unit/test.h"

#define MOST 3000u

struct things {
	uint32_t of[MOST], n;
	uint32_t bits; /* of a hash: few, so that many are equal */
	struct hashtable table;
};

static uint32_t
thing_hash(const void *arg, uint32_t i)
{
	const struct things *t = arg;

	return t->of[i] & t->bits;
}

static uint32_t
thing_find(const struct things *t, uint32_t value)
{
	hashtable_each(i, &t->table, value & t->bits) {
		if (t->of[i] == value)
			return i;
	}
	return HASHTABLE_NONE;
}

static uint32_t
thing_search(const struct things *t, uint32_t value)
{
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->of[i] == value)
			return i;
	}
	return HASHTABLE_NONE;
}

static void
things_fill(struct things *t, uint32_t n, uint32_t *seed)
{
	while (t->n < n) {
		uint32_t value;

		*seed = *seed * 1664525 + 1013904223;
		value = *seed >> 19;
		hashtable_prefetch(&t->table, value & t->bits);
		if (thing_find(t, value) != HASHTABLE_NONE)
			continue;
		CHECK(hashtable_room(&t->table, t->n + 1, thing_hash, t));
		t->of[t->n] = value;
		hashtable_add(&t->table, value & t->bits, t->n++);
	}
}

static void
things_check(const struct things *t)
{
	CHECK_INT(t->table.n, t->n);
	CHECK(t->n * 3 <= t->table.cap * 2);
	for (uint32_t value = 0; value < 1u << 13; value += 3)
		CHECK_INT(thing_find(t, value), thing_search(t, value));
}

TEST(finds_what_a_search_finds)
{
	static const uint32_t bits[] = {UINT32_MAX, 0xff, 0};
	uint32_t seed = 1;

	for (size_t k = 0; k < 3; k++) {
		struct things t = {.bits = bits[k]};

		things_check(&t);
		things_fill(&t, 10, &seed);
		things_check(&t);
		things_fill(&t, k < 2 ? MOST : 300, &seed);
		things_check(&t);
		t.n = 0;
		hashtable_clear(&t.table);
		things_check(&t);
		things_fill(&t, 100, &seed);
		things_check(&t);
		hashtable_fini(&t.table);
	}
}

/* The chain of the last slots goes on in the first. */
TEST(goes_round_the_end)
{
	struct things t = {.bits = UINT32_MAX};

	for (t.n = 0; t.n < 8; t.n++) {
		t.of[t.n] = UINT32_MAX - (t.n << 16);
		CHECK(hashtable_room(&t.table, t.n + 1, thing_hash, &t));
		hashtable_add(&t.table, t.of[t.n], t.n);
	}
	for (uint32_t i = 0; i < 8; i++)
		CHECK_INT(thing_find(&t, t.of[i]), i);
	hashtable_fini(&t.table);
}

TEST(what_cannot_be_changes_nothing)
{
	struct things t = {.bits = UINT32_MAX};
	uint32_t seed = 1;

	if (!MALLOC_FAILS)
		return;
	fault_begin(FAULT_MALLOC, 0, 1);
	CHECK(!hashtable_room(&t.table, t.n + 1, thing_hash, &t));
	fault_end();
	things_check(&t);
	things_fill(&t, 42, &seed); /* what 64 slots hold */
	fault_begin(FAULT_MALLOC, 0, 1);
	CHECK(!hashtable_room(&t.table, t.n + 1, thing_hash, &t));
	fault_end();
	things_check(&t);
	things_fill(&t, 100, &seed);
	things_check(&t);
	hashtable_fini(&t.table);
}

int
main(void)
{
	fault_init();
	RUN(finds_what_a_search_finds);
	RUN(goes_round_the_end);
	RUN(what_cannot_be_changes_nothing);
	return test_done();
}
