/*
 * Unit tests: one program a module, one line a case.
 *
 *	TEST(name) { CHECK(1 + 1 == 2); }
 *	int main(void) { RUN(name); return test_done(); }
 *
 * A failed CHECK says where and goes on, so that one run shows all.
 */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int test_failures, test_bad;

#define TEST(name) static void test_##name(void)
#define RUN(name)                                                              \
	do {                                                                   \
		test_bad = 0;                                                  \
		test_##name();                                                 \
		printf("%s - %s\n", test_bad ? "not ok" : "ok", #name);        \
		fflush(stdout);                                                \
		test_failures += test_bad != 0;                                \
	} while (0)
#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			printf("# %s:%d: %s\n", __FILE__, __LINE__,            \
			    #condition);                                       \
			test_bad++;                                            \
		}                                                              \
	} while (0)
#define CHECK_INT(got, want)                                                   \
	do {                                                                   \
		long long test_got = (long long)(got);                         \
		long long test_want = (long long)(want);                       \
		if (test_got != test_want) {                                   \
			printf("# %s:%d: %s is %lld, not %lld\n", __FILE__,    \
			    __LINE__, #got, test_got, test_want);              \
			test_bad++;                                            \
		}                                                              \
	} while (0)
#define CHECK_STR(got, want)                                                   \
	do {                                                                   \
		const char *test_got = (got), *test_want = (want);             \
		if (test_got == NULL || strcmp(test_got, test_want) != 0) {    \
			printf("# %s:%d: %s is \"%s\", not \"%s\"\n",          \
			    __FILE__, __LINE__, #got,                          \
			    test_got ? test_got : "(null)", test_want);        \
			test_bad++;                                            \
		}                                                              \
	} while (0)
/* A `const struct err *` that must be NULL. */
#define CHECK_OK(expression)                                                   \
	do {                                                                   \
		const struct err *test_e = (expression);                       \
		if (test_e != NULL) {                                          \
			printf("# %s:%d: %s: %s\n", __FILE__, __LINE__,        \
			    #expression, test_e->text);                        \
			test_bad++;                                            \
		}                                                              \
	} while (0)

/* A random number below n, the same for the same seed on every machine; the
 * seed goes on.  (splitmix64, Steele et al. 2014; the high half.) */
static inline uint32_t
test_roll(uint64_t *seed, uint32_t n)
{
	uint64_t x = *seed += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((x ^ x >> 31) >> 32) % n;
}

static inline int
test_done(void)
{
	return test_failures != 0;
}

#endif
