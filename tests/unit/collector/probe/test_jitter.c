/*
 * Clocks whose period is another one every second: as many ticks as were asked
 * for, and what walks in step with the clock is seen as often as it runs.
 */
#include "collector/probe/jitter.h"
#include "store/base/clock.h"
#include "tests/unit/test.h"

#define HOUR (3600 * NS_PER_S)

/* Ticks of a clock in an hour; *met: those in the first tenth of a period of a
 * program that is woken `paced` times a second. */
static int64_t
ticks(int64_t hz, double paced, int64_t late_ns, int64_t *met)
{
	struct jitter j = {.seed = 88172645463325252u};
	int64_t every = JITTER_EVERY_NS + late_ns / 2;
	int64_t period = jitter_next(&j, hz, every), at = period, n = 0;
	int64_t set = every;
	double phase;

	*met = 0;
	while (at < HOUR) {
		if (at >= set) { /* it begins anew */
			at = set;
			period = jitter_next(&j, hz, every);
			set += JITTER_EVERY_NS + (int64_t)(j.seed % 1000) *
			    late_ns / 1000;
			at += period;
			continue;
		}
		n++;
		phase = (double)at * paced / 1e9;
		*met += phase - (double)(int64_t)phase < 0.1;
		at += period;
	}
	return n;
}

TEST(as_many_as_were_asked_for)
{
	static const int64_t rates[] = {JITTER_LEAST_HZ, 19, 49, 99, 997};
	int64_t met, n, want;

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		n = ticks(rates[i], 1, 500 * NS_PER_MS, &met);
		want = 3600 * rates[i];
		CHECK(n > want - want / 200 && n < want + want / 200);
	}
}

TEST(nobody_walks_in_step)
{
	static const double paces[] = {99, 100, 98.5, 49.5, 198, 99.5};
	int64_t met, n;

	for (size_t i = 0; i < sizeof(paces) / sizeof(paces[0]); i++) {
		n = ticks(99, paces[i], NS_PER_MS, &met);
		if (met < n / 11 || met > n / 9)
			printf("# %.1f a second: %lld of %lld\n", paces[i],
			    (long long)met, (long long)n);
		CHECK(met >= n / 11 && met <= n / 9);
	}
}

/* What differs from slot to slot is no more than a tick in a hundred. */
TEST(a_pair_is_as_long_as_it_would_be)
{
	struct jitter j = {.seed = 1};
	int64_t longer, shorter, ns = 2 * NS_PER_S / (2 * 99 + 1);

	for (int i = 0; i < 1000; i++) {
		longer = jitter_next(&j, 99, NS_PER_S);
		shorter = jitter_next(&j, 99, NS_PER_S);
		CHECK(longer > ns && shorter < ns);
		CHECK(longer + shorter >= 2 * ns - 1 &&
		    longer + shorter <= 2 * ns + 1);
		CHECK(longer - ns >= ns / 200 - 1 &&
		    longer - ns <= ns * 15 / 1000);
	}
}

int
main(void)
{
	RUN(as_many_as_were_asked_for);
	RUN(nobody_walks_in_step);
	RUN(a_pair_is_as_long_as_it_would_be);
	return test_done();
}
