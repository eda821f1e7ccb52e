/*
 * Totals of what was pushed: 5 of one format and 1 of another were 3 and 3.
 */
#include "fcgi/server/tally.h"
#include "tests/unit/test.h"

TEST(each_value_has_a_total_of_its_own)
{
	struct tally t = {0};

	for (int i = 1; i <= 5; i++)
		CHECK_INT(tally_add(&t, "profiles", "folded", 1), i);
	CHECK_INT(tally_add(&t, "profiles", "pprof", 1), 1);
	CHECK_INT(tally_add(&t, "bytes", "pprof", 100), 100);
	tally_settle(&t, true);
	CHECK_INT(tally_add(&t, "profiles", "pprof", 1), 2);
	tally_settle(&t, false); /* it was not taken */
	CHECK_INT(tally_add(&t, "profiles", "pprof", 1), 2);
	CHECK_INT(tally_add(&t, "profiles", "folded", 0), 5);
	tally_fini(&t);
}

int
main(void)
{
	RUN(each_value_has_a_total_of_its_own);
	return test_done();
}
