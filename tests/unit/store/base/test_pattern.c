/*
 * Which regular expressions are compiled at all.
 */
#include "store/base/pattern.h"

#include "tests/unit/test.h"

TEST(ordinary_ones)
{
	static const char *const fine[] = {"", "a", "leveldb::.*", "^(a|b)+$",
	    "worker-[0-9]+", "a{1,255}", "[]abc]*", "[^]]+", "[[:alpha:]]{3}",
	    "(a{10}){10}", "\\(x\\)", "operator\\+\\+", "(((((a)))))", "{", ")",
	    "[a", "\\", "[[:x", "a{0}", "a{5,}",
	    "((a*)+)?b+", "a+?"};

	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
		if (!pattern_is_bounded(fine[i]))
			printf("# refused: %s\n", fine[i]);
		CHECK(pattern_is_bounded(fine[i]));
	}
}

TEST(excessive_ones)
{
	static const char *const bad[] = {"((a{99}){99}){99}",
	    "a++++++++++++++++++++++++++++", "(((a+)+)+)\\1", "a{99999}",
	    "a{0,99999999999999999999}", "((((a{2}){2}){2}){2})", "a****", "((a*)+)++",
	    "(a{200}b{200}){100}", "([a+]{255}){255}"};
	char deep[400];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (pattern_is_bounded(bad[i]))
			printf("# accepted: %s\n", bad[i]);
		CHECK(!pattern_is_bounded(bad[i]));
	}
	memset(deep, '(', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	CHECK(!pattern_is_bounded(deep));
}

int
main(void)
{
	RUN(ordinary_ones);
	RUN(excessive_ones);
	return test_done();
}
