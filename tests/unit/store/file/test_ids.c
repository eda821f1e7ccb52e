/*
 * Ids of batches: kept for a day at least, for two at most, in bounded
 * memory, whatever the clock does.
 */
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/file/ids.h"
#include "tests/unit/test.h"

#define HOUR (3600 * NS_PER_S)

static const uint8_t *
id_of(unsigned i)
{
	static uint8_t id[16];

	memcpy(id, &i, sizeof(i));
	return id;
}

TEST(kept_for_a_day_dropped_after_two)
{
	struct ids ids = {0};

	for (unsigned hour = 0; hour < 100; hour++) {
		CHECK_OK(ids_add(&ids, id_of(hour), (1 + hour) * HOUR));
		CHECK(hour < 24 || ids_has(&ids, id_of(hour - 24)));
		CHECK(hour < 48 || !ids_has(&ids, id_of(hour - 48)));
	}
	ids_fini(&ids);
}

/* Once never: a first id from a later clock kept all for ever. */
TEST(dropped_though_the_clock_was_set_back)
{
	struct ids ids = {0};

	CHECK_OK(ids_add(&ids, id_of(1000), 500000 * HOUR));
	for (unsigned hour = 0; hour < 60; hour++)
		CHECK_OK(ids_add(&ids, id_of(hour), (1 + hour) * HOUR));
	CHECK(!ids_has(&ids, id_of(1000)));
	CHECK(!ids_has(&ids, id_of(5)));
	CHECK(ids_has(&ids, id_of(59)));
	ids_fini(&ids);
}

TEST(survive_their_file)
{
	struct ids ids = {0}, again = {0};
	struct buf out = {0};

	for (unsigned hour = 0; hour < 40; hour++)
		CHECK_OK(ids_add(&ids, id_of(hour), (1 + hour) * HOUR));
	ids_encode(&ids, &out);
	CHECK_OK(ids_decode(&again, out.data, out.len));
	for (unsigned hour = 0; hour < 40; hour++)
		CHECK(ids_has(&again, id_of(hour)) ==
		    ids_has(&ids, id_of(hour)));
	out.data[out.len / 2] ^= 1;
	ids_fini(&again);
	CHECK(ids_decode(&again, out.data, out.len) != NULL);
	ids_fini(&again);
	ids_fini(&ids);
	buf_fini(&out);
}

int
main(void)
{
	RUN(kept_for_a_day_dropped_after_two);
	RUN(dropped_though_the_clock_was_set_back);
	RUN(survive_their_file);
	return test_done();
}
