/*
 * The CPU time of waits against their budget.
 */
#include "collector/engine/waits_pace.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "collector/base/config.h"
#include "collector/base/spent.h"
#include "collector/engine/engine.h"
#include "store/base/clock.h"
#include "store/base/log.h"
#include "store/batch/batch.h"
#include "store/model/types.h"

/* What taking the stacks of wakers took. */
static int64_t
waits_wakers_ns(const struct engine *s)
{
	uint64_t counts[COUNT_COUNTERS];

	if (s->locks == NULL)
		return 0;
	sampler_counts(s->sampler, locks_type(s->locks, LOCK_HOLDER), counts);
	return (int64_t)counts[COUNT_NS];
}

/* Stacks become fewer as the threshold rises, switches do not. */
static struct governor_used
waits_sums(struct engine *s)
{
	uint64_t counts[COUNT_COUNTERS];

	sampler_counts(s->sampler, s->waits_pace.type, counts);
	return (struct governor_used){clock_mono_ns(),
	    spent_ns(SPENT_WAITS) + (int64_t)counts[COUNT_NS] +
	    waits_wakers_ns(s),
	    (int64_t)counts[COUNT_SWITCH_NS]};
}

void
waits_pace_begin(struct engine *s, size_t type)
{
	struct waits_pace *u = &s->waits_pace;
	struct governor_used sums;

	u->type = type;
	governor_init(&u->governor, &governor_halves,
	    s->config->offcpu_budget * get_nprocs());
	u->idle = u->governor;
	sums = waits_sums(s);
	governor_window_begin(&u->window, s->border.slot_ns, &sums);
}

/* Takes the cheaper way to the stacks of the next slot. */
static void
waits_choose(struct engine *s)
{
	struct waits_pace *u = &s->waits_pace;
	uint64_t counts[COUNT_COUNTERS];

	sampler_counts(s->sampler, u->type, counts);
	if (!s->stopped)
		sampler_waits_choose(sampler_waits(s->sampler),
		    counts[COUNT_SWITCHES] - u->switches,
		    counts[COUNT_RUNS] - u->stacks);
	u->switches = counts[COUNT_SWITCHES];
	u->stacks = counts[COUNT_RUNS];
}

static void
waits_change(struct engine *s, struct engine_profile *p, uint64_t slot,
    struct batch *b)
{
	const struct waits_pace *u = &s->waits_pace;
	int64_t every = s->config->profiles[u->type].every;
	int64_t ns = governor_period(&u->governor, every);
	int64_t idle_ns = governor_period(&u->idle, every);
	char text[200];

	idle_ns = idle_ns > ns ? idle_ns : ns;
	p->waits.threshold_ns = ns;
	p->waits.idle_ns = idle_ns;
	sampler_set_threshold(s->sampler, ns, idle_ns);
	snprintf(text, sizeof(text), "stacks of waits from %lld us on, of "
	    "idle ones from %lld us: %.2f %% of a CPU used, the budget is "
	    "%.2f %%", (long long)(ns / 1000), (long long)(idle_ns / 1000),
	    u->window.ratio * 100, (double)u->governor.budget / 1e4);
	log_info("%s: %s", p->row->name, text);
	batch_add_fact(b, (int64_t)(slot + 1) * s->border.slot_ns - 1,
	    FACT_MARK, "rate", text, strlen(text));
	p->slow[0] = '\0';
	if (u->governor.level > 0 || u->idle.level > 0)
		snprintf(p->slow, sizeof(p->slow), "%s", text);
}

/* One part of the cost, and beside it the other. */
static bool
waits_step(struct governor *g, const struct governor_used *all,
    int64_t with_ns)
{
	const struct governor_used part = {all->span_ns, with_ns,
	    all->beside_ns + all->with_ns - with_ns};

	return governor_step(g, &part);
}

/* What idle waits had of the cost of stacks. */
static int64_t
waits_idle_part(struct engine *s, int64_t with_ns)
{
	struct waits_pace *u = &s->waits_pace;
	uint64_t counts[COUNT_COUNTERS], ns, idle_ns;

	sampler_counts(s->sampler, u->type, counts);
	ns = counts[COUNT_NS] - u->ns;
	idle_ns = counts[COUNT_IDLE_NS] - u->idle_ns;
	u->ns = counts[COUNT_NS];
	u->idle_ns = counts[COUNT_IDLE_NS];
	return ns == 0 ? 0 : (int64_t)((double)with_ns * (double)idle_ns /
	    (double)ns);
}

void
waits_pace_put(const struct engine *s, uint64_t slot, struct batch *b)
{
	static const struct pace_gauge threshold = {
	    "memlens_profile_threshold_seconds", "seconds", 9},
	    idle = {"memlens_profile_idle_threshold_seconds", "seconds", 9};
	const struct engine_profile *of = &s->profiles[s->waits_pace.type], *p;

	for (p = s->profiles; p < s->profiles + s->n_profiles; p++)
		if (p == of || (pace_is_part(p) && p->type->threshold))
			pace_put(s, b, p->row->name, &threshold, slot,
			    of->waits.threshold_ns);
	pace_put(s, b, of->row->name, &idle, slot, of->waits.idle_ns);
}

void
waits_pace_judge(struct engine *s, uint64_t slot, struct batch *b)
{
	static const struct pace_gauge ratio = {"memlens_profile_used_ratio",
	    "ratio", 6};
	struct waits_pace *u = &s->waits_pace;
	struct engine_profile *p = &s->profiles[u->type];
	struct governor_used now;
	int64_t idle_ns;
	bool changes;

	waits_pace_put(s, slot, b);
	waits_choose(s);
	if (!governor_window_is_over(&u->window, clock_mono_ns()))
		return;
	now = waits_sums(s);
	now = governor_window_next(&u->window, &now);
	pace_put(s, b, p->row->name, &ratio, slot,
	    (int64_t)(u->window.ratio * 1e6));
	idle_ns = waits_idle_part(s, now.with_ns);
	if (s->stopped)
		return;
	changes = waits_step(&u->idle, &now, idle_ns);
	if (waits_step(&u->governor, &now, now.with_ns - idle_ns) || changes)
		waits_change(s, p, slot, b);
}
