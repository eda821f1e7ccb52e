/*
 * What pushes of one service may take of a slot.
 */
#include <stdlib.h>

#include "collector/quota.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "tests/unit/test.h"

static struct batch *
push(const char *service, uint64_t slot)
{
	struct batch *b = batch_new(UINT64_C(1000000000));
	struct label l = {"service", service};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 1, 0, &l,
	    1};
	struct frame f = {FRAME_MANAGED, "f", "", "", 0};
	uint32_t node = batch_node(b, batch_node(b, 0, 0),
	    batch_frame(b, &f));

	batch_add_profile(b, batch_series(b, &d), slot, node, 1);
	CHECK_OK(batch_finish(b));
	return b;
}

TEST(a_service_has_so_much_of_a_slot_and_no_more)
{
	struct quota *q = calloc(1, sizeof(*q));
	struct batch *big = push("big", 7), *next = push("big", 8);
	struct batch *app = push("app", 7);
	const struct err *e;

	CHECK_OK(quota_check(q, big));
	quota_charge(q, big, QUOTA_NODES - 1);
	CHECK_OK(quota_check(q, big));
	quota_charge(q, big, 1);
	e = quota_check(q, big);
	CHECK(e != NULL && e->domain == ERR_LIMIT && e->code == 413);
	/* nobody else, and no other slot */
	CHECK_OK(quota_check(q, next));
	CHECK_OK(quota_check(q, app));
	/* the small do not push the large out of what is remembered */
	for (unsigned i = 0; i < 3 * QUOTA_PLACES; i++) {
		struct batch *b = push("other", 100 + i);

		quota_charge(q, b, 1 + i % 50);
		batch_free(b);
	}
	CHECK(quota_check(q, big) != NULL);
	batch_free(big);
	batch_free(next);
	batch_free(app);
	free(q);
}

int
main(void)
{
	RUN(a_service_has_so_much_of_a_slot_and_no_more);
	return test_done();
}
