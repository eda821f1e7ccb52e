/*
 * How much of the CPU time that was counted a profile has.
 */
#include "fcgi/query/coverage.h"
#include "tests/unit/test.h"

/* Processes that live for less than a second are in samples alone: a profile
 * of them must not be made smaller by what was counted of the others. */
TEST(samples_that_nobody_counted)
{
	static const struct {
		int samples, counted_percent;
		bool is;
	} cases[] = {{1000, 100, false}, {1000, 140, false}, {1000, 92, false},
	    {1000, 89, true}, {1000, 37, true}, {100, 75, false},
	    {100, 65, true}, {8, 10, false}, {0, 0, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int128 cpu_ns = (int128)cases[i].samples * 10101010;
		struct profile_node root = {.total = cpu_ns};
		struct profile p = {.nodes = &root, .n_nodes = 1,
		    .period = 10101010};
		struct coverage c = {.known = true,
		    .cpu_ns = cpu_ns * cases[i].counted_percent / 100};

		CHECK(coverage_falls_short(&c, &p) == cases[i].is);
	}
}

int
main(void)
{
	RUN(samples_that_nobody_counted);
	return test_done();
}
