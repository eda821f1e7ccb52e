/*
 * What samples cost slows what it is the cost of.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/engine/engine.h"
#include "collector/profile/profiles.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/model/types.h"
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

/* How many thresholds are told of a source. */
static int
thresholds_of(const struct batch *b, const char *source)
{
	struct series_desc d;
	struct label l[4];
	int n = 0;
	size_t i;

	for (i = 0; i < b->n_blocks; i++) {
		batch_series_desc(b, b->blocks[i].series, &d, l, 4);
		n += strcmp(label_find(d.labels, d.n_labels, "source"),
		    source) == 0;
	}
	return n;
}

/* Allocations are parts of others, too, and last for no time. */
TEST(only_waits_have_a_threshold)
{
	static const struct profile *const rows[] = {&profile_offcpu,
	    &profile_lock, &profile_lock_holder, &profile_inuse_space};
	struct engine *s = calloc(1, sizeof(*s));
	struct batch *b = batch_new(NS_PER_S);
	size_t i;

	s->border.slot_ns = NS_PER_S;
	for (i = 0; i < 4; i++)
		s->profiles[s->n_profiles++] = (struct engine_profile){
		    .row = rows[i], .type = types_find(rows[i]->name),
		    .state = SOURCE_ATTACHED};
	s->profiles[2].state = SOURCE_NOT_ATTACHED;
	waits_pace_put(s, 5, b);
	CHECK_INT(thresholds_of(b, "offcpu"), 2); /* one of idle ones */
	CHECK_INT(thresholds_of(b, "lock"), 1);
	CHECK_INT(thresholds_of(b, "lock_holder"), 0);
	CHECK_INT(thresholds_of(b, "inuse_space"), 0);
	batch_free(b);
	free(s);
}

int
main(void)
{
	RUN(events_slow_no_clock);
	RUN(only_waits_have_a_threshold);
	return test_done();
}
