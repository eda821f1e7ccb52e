/*
 * The CPU time of sampling against its budget.
 */
#include "collector/engine/pace.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collector/base/config.h"
#include "collector/base/spent.h"
#include "collector/engine/engine.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/batch/batch.h"

/* CPU time of another process; -1 when it is gone. */
static int64_t
pace_process_ns(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 ||
	    clock_gettime(clock, &t) != 0)
		return -1;
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* The child may be another one by now: what the last one used between our
 * last look and its end is not seen. */
static int64_t
pace_of_children(struct engine *s)
{
	struct pace *u = &s->pace;
	struct symbols_stats stats;
	int64_t ns;

	symbols_stats(s->symbols, &stats);
	if (stats.child != u->child) {
		u->children_ns += u->child_ns;
		u->child_ns = 0;
		u->child = stats.child;
	}
	ns = pace_process_ns(u->child);
	if (ns > u->child_ns)
		u->child_ns = ns;
	return u->children_ns + u->child_ns;
}

/* Waits have a pace of their own (waits_pace.h). */
static bool
pace_has_clock(const struct engine_profile *p)
{
	return p->row != NULL && p->row->waits == NULL &&
	    p->row->part == NULL;
}

/* CPU of sampling, ever. */
static struct governor_used
pace_sums(struct engine *s)
{
	struct governor_used sums = {clock_mono_ns(), spent_ns(SPENT_SAMPLES),
	    spent_ns(SPENT_NAMES) + pace_of_children(s)};
	size_t i;

	for (i = 0; i < s->n_profiles; i++)
		if (pace_has_clock(&s->profiles[i]))
			sums.with_ns += (int64_t)s->profiles[i].now.run_ns;
	return sums;
}

void
pace_begin(struct engine *s)
{
	struct governor_used sums = pace_sums(s);

	governor_window_begin(&s->pace.window, s->border.slot_ns, &sums);
}

bool
pace_is_part(const struct engine_profile *p)
{
	return p->row != NULL && p->row->part != NULL &&
	    p->state != SOURCE_NOT_ATTACHED;
}

int64_t
pace_period(const struct engine *s, const struct engine_profile *p)
{
	if (p->row != NULL && (p->row->waits != NULL ||
	    p->row->part != NULL))
		return 1;
	if (p->clock.hz > 0)
		return NS_PER_S / governor_hz(&s->governor, p->clock.hz);
	return governor_period(&s->governor, p->clock.period) *
	    (p->clock.unit > 0 ? p->clock.unit : 1);
}

/* The clock as it should be now. */
static struct sampler_clock
pace_clock(const struct engine *s, const struct engine_profile *p)
{
	struct sampler_clock clock = p->clock;

	if (clock.hz > 0)
		clock.hz = governor_hz(&s->governor, clock.hz);
	else
		clock.period = governor_period(&s->governor, clock.period);
	return clock;
}

/* "49 Hz", "one of 500". */
static const char *
pace_text(const struct engine *s, const struct engine_profile *p, char *text,
    size_t size)
{
	struct sampler_clock clock = pace_clock(s, p);

	if (clock.hz > 0)
		snprintf(text, size, "%lld Hz", (long long)clock.hz);
	else
		snprintf(text, size, "one of %lld", (long long)clock.period);
	return text;
}

void
pace_put(const struct engine *s, struct batch *b, const char *source,
    const struct pace_gauge *g, uint64_t slot, int64_t value)
{
	struct label label = {"source", source};
	struct series_desc d = {.kind = SERIES_GAUGE, .name = g->name,
	    .unit = g->unit, .scale = g->scale, .labels = &label,
	    .n_labels = 1};

	batch_add_gauge(b, batch_series(b, &d), slot, account_time(s, slot),
	    value);
}

/* How often each type is sampled in the slot. */
static void
pace_put_rates(const struct engine *s, uint64_t slot, struct batch *b)
{
	static const struct pace_gauge rate = {"memlens_profile_rate_hertz",
	    "hertz", 0}, period = {"memlens_profile_period", "", 0};
	size_t i;

	for (i = 0; i < s->n_profiles; i++) {
		const struct engine_profile *p = &s->profiles[i];
		struct sampler_clock clock = pace_clock(s, p);

		if (!pace_has_clock(p))
			continue;
		if (clock.hz > 0)
			pace_put(s, b, p->row->name, &rate, slot, clock.hz);
		else
			pace_put(s, b, p->row->name, &period, slot,
			    clock.period);
	}
}

/* The reason in health, with what is used now. */
static void
pace_explain(struct engine *s, struct engine_profile *p)
{
	char text[40];

	p->slow[0] = '\0';
	if (s->governor.level > 0)
		snprintf(p->slow, sizeof(p->slow), "sampling at %s to "
		    "stay within %.2f %% of a CPU: %.2f %% used",
		    pace_text(s, p, text, sizeof(text)),
		    (double)s->governor.budget / 1e4,
		    s->pace.window.ratio * 100);
}

static void
pace_change(struct engine *s, struct engine_profile *p, uint64_t slot,
    struct batch *b)
{
	struct sampler_clock clock = pace_clock(s, p);
	int64_t time_ns = (int64_t)(slot + 1) * s->border.slot_ns - 1;
	const struct err *e;
	char text[200], pace[40];

	snprintf(text, sizeof(text), "%s: %.2f %% of a CPU used, the "
	    "budget is %.2f %%", pace_text(s, p, pace, sizeof(pace)),
	    s->pace.window.ratio * 100, (double)s->governor.budget / 1e4);
	log_info("%s: %s", p->row->name, text);
	batch_add_fact(b, time_ns, FACT_MARK, "rate", text, strlen(text));
	e = sampler_set(s->sampler, (size_t)(p - s->profiles), &clock);
	if (e == NULL)
		return;
	log_err("%s: %s", p->row->name, e->text);
	p->state = SOURCE_DEGRADED;
	snprintf(p->why, sizeof(p->why), "%.310s", e->text);
}

void
pace_judge(struct engine *s, uint64_t slot, struct batch *b)
{
	static const struct pace_gauge used = {"memlens_profile_used_ratio",
	    "ratio", 6};
	struct governor_window *w = &s->pace.window;
	struct governor_used now;
	bool change;
	size_t i;

	pace_put_rates(s, slot, b);
	if (!governor_window_is_over(w, clock_mono_ns()))
		return;
	now = pace_sums(s);
	now = governor_window_next(w, &now);
	pace_put(s, b, ACCOUNT_SHARED, &used, slot, (int64_t)(w->ratio * 1e6));
	change = !s->stopped && governor_step(&s->governor, &now);
	for (i = 0; i < s->n_profiles; i++) {
		struct engine_profile *p = &s->profiles[i];

		if (!pace_has_clock(p) || p->state == SOURCE_NOT_ATTACHED)
			continue;
		if (change)
			pace_change(s, p, slot, b);
		pace_explain(s, p);
	}
}
