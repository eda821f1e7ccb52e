/*
 * Samples of a flood of events: as few as said, none lost, and all of what
 * comes seldom.
 */
#include "collector/bpf/stride.h"
#include "tests/unit/test.h"

#define SAMPLE_NS 50000000ull
#define SECOND 1000000000ull

struct taken {
	__u64 samples, events, stood_for;
};

static struct taken
events(struct stride *s, __u64 from, __u64 seconds, __u64 each_ns)
{
	struct taken t = {0, 0, 0};

	for (__u64 now = from; now < from + seconds * SECOND; now += each_ns) {
		t.events++;
		if (!stride_counts(s, now, SAMPLE_NS))
			continue;
		t.samples++;
		t.stood_for += stride_take(s, SAMPLE_NS);
	}
	return t;
}

/* From a few to 4,000 events a second, 20 samples a second and what may be
 * spared; strides of a flood that begins have theirs besides. */
TEST(a_flood_has_as_few_samples_as_said)
{
	for (__u64 rate = 30; rate <= 4000; rate = rate * 13 / 10) {
		struct stride s = {0, 0, 0};
		struct taken t = events(&s, 100 * SECOND, 20,
		    SECOND / rate);

		CHECK(t.samples < 20 * 20 * 13 / 10 +
		    STRIDE_BITS * STRIDE_SAMPLES);
		CHECK(t.samples > 20 * 20 / 2);
		CHECK_INT((int64_t)(t.stood_for + s.owed), (int64_t)t.events);
	}
}

TEST(what_comes_seldom_is_sampled_each_time)
{
	struct stride s = {0, 0, 0};
	struct taken t = events(&s, 100 * SECOND, 60, SECOND / 15);

	CHECK_INT((int64_t)t.samples, (int64_t)t.events);
	t = events(&s, 170 * SECOND, 20, SECOND / 4000);
	CHECK(s.stride > 64);
	/* some seconds after a flood that is so again */
	events(&s, 190 * SECOND, 5, SECOND / 15);
	t = events(&s, 195 * SECOND, 10, SECOND / 15);
	CHECK_INT((int64_t)t.samples, (int64_t)t.events);
	/* of a CPU that was idle, at once */
	events(&s, 210 * SECOND, 20, SECOND / 4000);
	t = events(&s, 260 * SECOND, 1, SECOND / 10);
	CHECK_INT((int64_t)t.samples, (int64_t)t.events);
}

int
main(void)
{
	RUN(a_flood_has_as_few_samples_as_said);
	RUN(what_comes_seldom_is_sampled_each_time);
	return test_done();
}
