/*
 * Steps, and how many slots of one were seen.
 */
#include "fcgi/query/step.h"
#include "tests/unit/test.h"

/* A reload with other settings begins a source anew within a slot, which then
 * has two observations: threads of it showed half. */
TEST(a_slot_that_was_begun_twice_is_one)
{
	static const struct step_page p = {.from_ns = 1000, .until_ns = 1150,
	    .step_ns = 60, .slot_ns = 10};

	CHECK_INT(step_page_slots(&p, 0, 7), 6);
	CHECK_INT(step_page_slots(&p, 0, 6), 6);
	CHECK_INT(step_page_slots(&p, 1, 4), 4);
	CHECK_INT(step_page_slots(&p, 1, 0), 0);
	CHECK_INT(step_page_slots(&p, 2, 4), 3); /* the last is short */
}

int
main(void)
{
	RUN(a_slot_that_was_begun_twice_is_one);
	return test_done();
}
