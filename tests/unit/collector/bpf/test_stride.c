/*
 * Samples of a flood of events: as few as said, none lost, and all of what
 * comes seldom.
 */
#include <stdlib.h>

#include "collector/bpf/stride.h"
#include "tests/unit/test.h"

#define SAMPLE_NS 50000000ull
#define SECOND 1000000000ull

struct taken {
	__u64 samples, events, stood_for;
};

static __u32
random_next(void)
{
	static __u64 state = 20261201;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (__u32)(state >> 32);
}

static struct taken
events(struct stride *s, __u64 from, __u64 seconds, __u64 each_ns)
{
	struct taken t = {0, 0, 0};

	for (__u64 now = from; now < from + seconds * SECOND; now += each_ns) {
		t.events++;
		if (!stride_counts(s, now, SAMPLE_NS, random_next()))
			continue;
		t.samples++;
		t.stood_for += stride_take(s);
	}
	return t;
}

/* From a few to 4,000 events a second, 20 samples a second and what may be
 * spared; strides of a flood that begins have theirs besides. */
TEST(a_flood_has_as_few_samples_as_said)
{
	for (__u64 rate = 30; rate <= 4000; rate = rate * 13 / 10) {
		struct stride s = {0};
		struct taken t = events(&s, 100 * SECOND, 20,
		    SECOND / rate);

		CHECK(t.samples < 20 * 20 * 13 / 10 +
		    STRIDE_BITS * STRIDE_SAMPLES);
		CHECK(t.samples > 20 * 20 / 2);
		/* rounds that were not ended at changes are by chance */
		CHECK(t.stood_for > t.events * 9 / 10);
		CHECK(t.stood_for < t.events * 11 / 10);
	}
}

TEST(what_comes_seldom_is_sampled_each_time)
{
	struct stride s = {0};
	struct taken t = events(&s, 100 * SECOND, 60, SECOND / 15);

	CHECK_INT((int64_t)t.samples, (int64_t)t.events);
	t = events(&s, 170 * SECOND, 20, SECOND / 4000);
	CHECK(s.doubled > 6);
	/* some seconds after a flood that is so again */
	events(&s, 190 * SECOND, 5, SECOND / 15);
	t = events(&s, 195 * SECOND, 10, SECOND / 15);
	CHECK_INT((int64_t)t.samples, (int64_t)t.events);
	/* of a CPU that was idle, at once */
	events(&s, 210 * SECOND, 20, SECOND / 4000);
	t = events(&s, 260 * SECOND, 1, SECOND / 10);
	CHECK_INT((int64_t)t.samples, (int64_t)t.events);
}

/* One program touches in bursts, 32 events each, what another does one by one
 * beside it: each has its share, and so it is for all of them. */
TEST(what_comes_behind_a_flood_has_its_own_share_alone)
{
	double shares[2] = {0}, events_of[2] = {0};
	struct stride s = {0};
	__u64 now = 100 * SECOND;

	for (int burst = 0; burst < 200000; burst++) {
		for (int i = 0; i < 35; i++) {
			int who = i < 32 ? 0 : 1;

			now += who == 0 ? SECOND / 5000 : SECOND / 25 +
			    random_next() % (SECOND / 100);
			events_of[who]++;
			if (stride_counts(&s, now, SAMPLE_NS, random_next()))
				shares[who] += (double)stride_take(&s);
		}
	}
	for (int who = 0; who < 2; who++) {
		printf("# %.4f\n", shares[who] / events_of[who]);
		CHECK(shares[who] > events_of[who] * 0.99);
		CHECK(shares[who] < events_of[who] * 1.01);
	}
}

TEST(what_cannot_be_sent_is_owed)
{
	struct stride s = {0};

	CHECK(stride_counts(&s, 100 * SECOND, SAMPLE_NS, 0));
	stride_owe(&s);
	CHECK(stride_counts(&s, 101 * SECOND, SAMPLE_NS, 0));
	CHECK_INT((int64_t)stride_take(&s), 2);
	CHECK(stride_counts(&s, 102 * SECOND, SAMPLE_NS, 0));
	CHECK_INT((int64_t)stride_take(&s), 1);
}

int
main(void)
{
	RUN(a_flood_has_as_few_samples_as_said);
	RUN(what_comes_seldom_is_sampled_each_time);
	RUN(what_comes_behind_a_flood_has_its_own_share_alone);
	RUN(what_cannot_be_sent_is_owed);
	return test_done();
}
