/*
 * Readings that take all of a CPU, against a budget of 1 %: windows of a few
 * milliseconds, time that is really burnt.
 */
#include "collector/base/config.h"
#include "collector/base/spent.h"
#include "collector/procfs/procfs_pace.h"
#include "store/base/clock.h"
#include "store/batch/batch.h"
#include "store/batch/meter.h"
#include "tests/unit/test.h"

#define WINDOW (5 * NS_PER_MS)
#define SECOND NS_PER_S

/* Ends n windows in which reading took so long; returns the marks. */
static size_t
windows(struct procfs_pace *p, int n, bool reads)
{
	struct batch *b = batch_new((uint64_t)p->slot_ns);
	struct meter *m = meter_new((uint64_t)p->slot_ns);
	size_t marks;

	while (n-- > 0) {
		int64_t until = clock_thread_cpu_ns() + WINDOW;

		spent_begin(reads ? SPENT_PROC : SPENT_NAMES);
		while (clock_thread_cpu_ns() < until)
			continue;
		spent_begin(SPENT_OTHER);
		procfs_pace_judge(p, m, 100, b);
	}
	marks = b->n_facts;
	meter_free(m);
	batch_free(b);
	return marks;
}

static struct procfs_pace
pace(int64_t interval_ns, int64_t slot_ns, int64_t budget)
{
	struct config c = {.slot_ns = slot_ns, .procfs_budget = budget,
	    .procfs_interval_ns = interval_ns};
	struct procfs_pace p;

	procfs_pace_begin(&p, &c);
	p.window.window_ns = WINDOW;
	return p;
}

TEST(rarer_and_as_often_again)
{
	struct procfs_pace p = pace(SECOND, 10 * SECOND, 10000);

	CHECK_INT(windows(&p, 3, true), 1);
	CHECK_INT(p.interval_ns, 2 * SECOND);
	CHECK(strstr(p.slow, "read each 2 s to stay within 1.00 % of a CPU"));
	CHECK_INT(windows(&p, 3, true), 1);
	CHECK_INT(p.interval_ns, 5 * SECOND);
	CHECK_INT(windows(&p, 10, true), 0);
	CHECK_INT(windows(&p, 6, false), 1);
	CHECK_INT(p.interval_ns, SECOND);
	CHECK_STR(p.slow, "");
}

/* Sampling is none of its business. */
TEST(other_parts_do_not_count)
{
	struct procfs_pace p = pace(SECOND, 10 * SECOND, 10000);

	CHECK_INT(windows(&p, 10, false), 0);
	CHECK_INT(p.interval_ns, SECOND);
}

TEST(never_longer_than_a_slot)
{
	struct procfs_pace p = pace(SECOND, 3 * SECOND, 10000);

	CHECK_INT(windows(&p, 20, true), 2);
	CHECK_INT(p.interval_ns, 3 * SECOND);
	p = pace(60 * SECOND, 10 * SECOND, 10000);
	CHECK_INT(windows(&p, 20, true), 0);
	CHECK_INT(p.interval_ns, 60 * SECOND);
}

TEST(no_budget)
{
	struct procfs_pace p = pace(SECOND, 10 * SECOND, 0);

	CHECK_INT(windows(&p, 10, true), 0);
	CHECK_INT(p.interval_ns, SECOND);
}

int
main(void)
{
	RUN(rarer_and_as_often_again);
	RUN(other_parts_do_not_count);
	RUN(never_longer_than_a_slot);
	RUN(no_budget);
	return test_done();
}
