/*
 * Parts of the main thread's time: they add up to all of it, and each has
 * what was done in it.
 */
#include <pthread.h>

#include "collector/base/spent.h"
#include "store/base/clock.h"
#include "tests/unit/test.h"

#define BURN_NS (20 * NS_PER_MS)

/* Returns what it took. */
static int64_t
burn(void)
{
	int64_t began = clock_thread_cpu_ns(), now = began;

	while (now - began < BURN_NS)
		now = clock_thread_cpu_ns();
	return now - began;
}

static void *
burn_beside(void *arg)
{
	(void)arg;
	burn();
	return NULL;
}

#define NEAR(got, want) CHECK((got) >= (want) && (got) < (want) + NS_PER_MS)

TEST(each_part_has_its_own)
{
	enum spent_on before = spent_begin(SPENT_NAMES);
	int64_t names, samples, other = spent_ns(SPENT_OTHER);

	CHECK_INT(before, SPENT_OTHER);
	names = burn();
	CHECK_INT(spent_begin(SPENT_SAMPLES), SPENT_NAMES);
	samples = burn();
	NEAR(spent_ns(SPENT_SAMPLES), samples); /* while it goes on */
	CHECK_INT(spent_begin(SPENT_NAMES), SPENT_SAMPLES);
	names += burn();
	CHECK_INT(spent_begin(before), SPENT_NAMES);
	NEAR(spent_ns(SPENT_NAMES), names);
	NEAR(spent_ns(SPENT_SAMPLES), samples);
	CHECK(spent_ns(SPENT_OTHER) - other < NS_PER_MS);
	CHECK_INT(spent_ns(SPENT_PROC), 0);
}

TEST(other_threads_are_the_stores)
{
	int64_t store = spent_ns(SPENT_STORE);
	pthread_t thread;

	CHECK_INT(pthread_create(&thread, NULL, burn_beside, NULL), 0);
	pthread_join(thread, NULL);
	CHECK(spent_ns(SPENT_STORE) - store >= BURN_NS);
}

TEST(but_for_what_is_told_of_them)
{
	int64_t store = spent_ns(SPENT_STORE), waits = spent_ns(SPENT_WAITS);
	pthread_t thread;

	CHECK_INT(pthread_create(&thread, NULL, burn_beside, NULL), 0);
	pthread_join(thread, NULL);
	spent_elsewhere(SPENT_WAITS, BURN_NS);
	CHECK_INT(spent_ns(SPENT_WAITS) - waits, BURN_NS);
	CHECK(spent_ns(SPENT_STORE) - store < BURN_NS);
}

TEST(all_parts_are_the_process)
{
	int64_t before = clock_cpu_ns(), all = 0;

	for (int i = 0; i < SPENT_PARTS; i++)
		all += spent_ns((enum spent_on)i);
	CHECK(all >= before);
	CHECK(all <= clock_cpu_ns());
}

int
main(void)
{
	RUN(each_part_has_its_own);
	RUN(other_threads_are_the_stores);
	RUN(but_for_what_is_told_of_them);
	RUN(all_parts_are_the_process);
	return test_done();
}
