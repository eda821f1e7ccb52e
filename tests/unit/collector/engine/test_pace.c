/*
 * What samples cost slows what it is the cost of.
 */
#include <stdlib.h>

#include "collector/engine/engine.h"
#include "collector/profile/profiles.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

/* Page faults come as often as programs like, and keep to a quarter of the
 * budget: what they take beyond it slows them, and no clock. */
TEST(events_slow_no_clock)
{
	struct engine *s = calloc(1, sizeof(*s));
	struct pace *u = &s->pace;
	bool changes[2] = {false, false};
	unsigned i;

	CHECK_OK(symbols_new(&s->symbols, NULL, NULL));
	pace_init(s, 100000);
	s->n_profiles = 2;
	s->profiles[0] = (struct engine_profile){.row = &profile_cpu,
	    .clock = {.hz = 99}};
	s->profiles[1] = (struct engine_profile){.row = &profile_faults,
	    .clock = {.period = 256}};
	pace_begin(s);
	for (i = 0; i < GOVERNOR_OVER; i++) {
		CHECK(!changes[0] && !changes[1]);
		/* of ten seconds a hundredth and a tenth */
		u->window.until.span_ns -= 10 * NS_PER_S;
		s->profiles[0].now.run_ns += NS_PER_S / 10;
		s->profiles[1].now.run_ns += NS_PER_S;
		pace_step(s, changes);
	}
	CHECK(!changes[0] && changes[1]);
	CHECK_INT(pace_period(s, &s->profiles[0]), NS_PER_S / 99);
	CHECK_INT(pace_period(s, &s->profiles[1]), 512);
	CHECK(u->events_ratio > 0.09 && u->events_ratio < 0.11);
	symbols_free(s->symbols);
	free(s);
}

int
main(void)
{
	RUN(events_slow_no_clock);
	return test_done();
}
