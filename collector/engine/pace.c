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

#define PACE_EVENTS_PART 4 /* of the budget is theirs */

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
pace_of_child(struct pace_child *c, pid_t pid)
{
	int64_t ns;

	if (pid != c->pid) {
		c->before_ns += c->ns;
		c->ns = 0;
		c->pid = pid;
	}
	ns = pace_process_ns(pid);
	if (ns > c->ns)
		c->ns = ns;
	return c->before_ns + c->ns;
}

static int64_t
pace_of_children(struct engine *s)
{
	struct symbols_stats stats;

	symbols_stats(s->symbols, &stats);
	return pace_of_child(&s->pace.names, stats.child) +
	    pace_of_child(&s->pace.rows, stats.rows_child);
}

/* Waits have a pace of their own (waits_pace.h); of memory, libraries say how
 * often it is sampled. */
static bool
pace_has_clock(const struct engine_profile *p)
{
	return p->row != NULL && p->row->waits == NULL &&
	    p->row->part == NULL && p->row->allocs == NULL;
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
pace_init(struct engine *s, int64_t budget)
{
	governor_init(&s->governor, &governor_rates, budget);
	governor_init(&s->pace.events, &governor_halves,
	    budget / PACE_EVENTS_PART);
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

static const struct governor *
pace_governor(const struct engine *s, const struct engine_profile *p)
{
	return p->clock.hz > 0 ? &s->governor : &s->pace.events;
}

/* Per cent of one CPU that its governor has judged. */
static double
pace_used(const struct engine *s, const struct engine_profile *p)
{
	return (p->clock.hz > 0 ? s->pace.window.ratio
	                        : s->pace.events_ratio) * 100;
}

/* The clock as it should be now. */
static struct sampler_clock
pace_clock(const struct engine *s, const struct engine_profile *p)
{
	const struct governor *g = pace_governor(s, p);
	struct sampler_clock clock = p->clock;

	if (clock.hz > 0)
		clock.hz = governor_hz(g, clock.hz);
	else
		clock.period = governor_period(g, clock.period);
	return clock;
}

int64_t
pace_period(const struct engine *s, const struct engine_profile *p)
{
	if (p->row != NULL && !pace_has_clock(p))
		return 1;
	if (p->clock.hz > 0)
		return NS_PER_S / pace_clock(s, p).hz;
	return pace_clock(s, p).period *
	    (p->clock.unit > 0 ? p->clock.unit : 1);
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

	if (p->unset)
		return;
	p->slow[0] = '\0';
	if (pace_governor(s, p)->level > 0)
		snprintf(p->slow, sizeof(p->slow), "sampling at %s to "
		    "stay within %.2f %% of a CPU: %.2f %% used",
		    pace_text(s, p, text, sizeof(text)),
		    (double)pace_governor(s, p)->budget / 1e4,
		    pace_used(s, p));
}

/* Where that fails it is not sampled, and this is to be tried again: too many
 * open files may be for a moment. */
static void
pace_set(struct engine *s, struct engine_profile *p)
{
	struct sampler_clock clock = pace_clock(s, p);
	const struct err *e = sampler_set(s->sampler,
	    (size_t)(p - s->profiles), &clock);

	if (e != NULL && !p->unset)
		log_err("%s: %s", p->row->name, e->text);
	p->unset = e != NULL;
	if (e != NULL)
		snprintf(p->slow, sizeof(p->slow), "not sampled: %.180s",
		    e->text);
}

static void
pace_change(struct engine *s, struct engine_profile *p, uint64_t slot,
    struct batch *b)
{
	int64_t time_ns = (int64_t)(slot + 1) * s->border.slot_ns - 1;
	char text[200], pace[40];

	snprintf(text, sizeof(text), "%s: %.2f %% of a CPU used, the "
	    "budget is %.2f %%", pace_text(s, p, pace, sizeof(pace)),
	    pace_used(s, p), (double)pace_governor(s, p)->budget / 1e4);
	log_info("%s: %s", p->row->name, text);
	batch_add_fact(b, time_ns, FACT_MARK, "rate", text, strlen(text));
}

/* What events had of the cost of samples since the last look: as of the time
 * of BPF programs. */
static int64_t
pace_events_part(struct engine *s, int64_t with_ns)
{
	struct pace *u = &s->pace;
	int64_t all = -u->run_ns, events = -u->events_run_ns;
	size_t i;

	for (i = 0; i < s->n_profiles; i++) {
		const struct engine_profile *p = &s->profiles[i];

		if (!pace_has_clock(p))
			continue;
		all += (int64_t)p->now.run_ns;
		if (p->clock.hz == 0)
			events += (int64_t)p->now.run_ns;
	}
	u->run_ns += all;
	u->events_run_ns += events;
	return all == 0 ? 0 : (int64_t)((double)with_ns * (double)events /
	    (double)all);
}

void
pace_step(struct engine *s, bool changes[2])
{
	struct governor_used sums = pace_sums(s);
	struct governor_used all = governor_window_next(&s->pace.window, &sums);
	int64_t events_ns = pace_events_part(s, all.with_ns);
	const struct governor_used clocks = {all.span_ns,
	    all.with_ns - events_ns, all.beside_ns + events_ns},
	    events = {all.span_ns, events_ns, 0};

	s->pace.events_ratio = (double)events_ns / (double)all.span_ns;
	if (s->stopped)
		return;
	changes[0] = governor_step(&s->governor, &clocks);
	changes[1] = governor_step(&s->pace.events, &events);
}

void
pace_judge(struct engine *s, uint64_t slot, struct batch *b)
{
	static const struct pace_gauge used = {"memlens_profile_used_ratio",
	    "ratio", 6};
	bool changes[2] = {false, false};
	size_t i;

	pace_put_rates(s, slot, b);
	if (!governor_window_is_over(&s->pace.window, clock_mono_ns()))
		return;
	pace_step(s, changes);
	pace_put(s, b, ACCOUNT_SHARED, &used, slot,
	    (int64_t)(s->pace.window.ratio * 1e6));
	for (i = 0; i < s->n_profiles; i++) {
		struct engine_profile *p = &s->profiles[i];

		if (!pace_has_clock(p) || p->state == SOURCE_NOT_ATTACHED)
			continue;
		if (p->clock.hz == 0)
			pace_put(s, b, p->row->name, &used, slot,
			    (int64_t)(s->pace.events_ratio * 1e6));
		if (changes[p->clock.hz == 0])
			pace_change(s, p, slot, b);
		if (changes[p->clock.hz == 0] || p->unset)
			pace_set(s, p);
		pace_explain(s, p);
	}
}
