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
	sums = waits_sums(s);
	governor_window_begin(&u->window, s->border.slot_ns, &sums);
}

static void
waits_change(struct engine *s, struct engine_profile *p, uint64_t slot,
    struct batch *b)
{
	const struct waits_pace *u = &s->waits_pace;
	int64_t ns = governor_period(&u->governor,
	    s->config->profiles[u->type].every);
	char text[200];

	p->waits.threshold_ns = ns;
	sampler_set_threshold(s->sampler, ns);
	snprintf(text, sizeof(text), "stacks of waits from %lld us on: %.2f "
	    "%% of a CPU used, the budget is %.2f %%", (long long)(ns / 1000),
	    u->window.ratio * 100, (double)u->governor.budget / 1e4);
	log_info("%s: %s", p->row->name, text);
	batch_add_fact(b, (int64_t)(slot + 1) * s->border.slot_ns - 1,
	    FACT_MARK, "rate", text, strlen(text));
	p->slow[0] = '\0';
	if (u->governor.level > 0)
		snprintf(p->slow, sizeof(p->slow), "%s", text);
}

void
waits_pace_judge(struct engine *s, uint64_t slot, struct batch *b)
{
	static const struct pace_gauge threshold = {
	    "memlens_profile_threshold_seconds", "seconds", 9},
	    ratio = {"memlens_profile_used_ratio", "ratio", 6};
	struct waits_pace *u = &s->waits_pace;
	struct engine_profile *p = &s->profiles[u->type];
	struct governor_used now;
	size_t i;

	for (i = 0; i < s->n_profiles; i++)
		if (i == u->type || pace_is_part(&s->profiles[i]))
			pace_put(s, b, s->profiles[i].row->name, &threshold,
			    slot, p->waits.threshold_ns);
	if (!governor_window_is_over(&u->window, clock_mono_ns()))
		return;
	now = waits_sums(s);
	now = governor_window_next(&u->window, &now);
	pace_put(s, b, p->row->name, &ratio, slot,
	    (int64_t)(u->window.ratio * 1e6));
	if (!s->stopped && governor_step(&u->governor, &now))
		waits_change(s, p, slot, b);
}
