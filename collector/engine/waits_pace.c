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

#define WINDOW_NS (10 * NS_PER_S)

/* Stacks become fewer as the threshold rises, switches do not. */
static struct governor_used
waits_used(struct engine *s)
{
	struct waits_pace *u = &s->waits_pace;
	int64_t now_ns = clock_mono_ns(), with_ns, beside_ns;
	uint64_t counts[COUNT_COUNTERS];
	struct governor_used used;

	sampler_counts(s->sampler, u->type, counts);
	with_ns = spent_ns(SPENT_WAITS) + (int64_t)counts[COUNT_NS];
	beside_ns = (int64_t)counts[COUNT_SWITCH_NS];
	used = (struct governor_used){now_ns - u->at_ns, with_ns - u->with_ns,
	    beside_ns - u->beside_ns};
	u->at_ns = now_ns;
	u->with_ns = with_ns;
	u->beside_ns = beside_ns;
	return used;
}

void
waits_pace_begin(struct engine *s, size_t type)
{
	struct waits_pace *u = &s->waits_pace;

	u->type = type;
	u->window_ns = s->border.slot_ns > WINDOW_NS ? s->border.slot_ns :
	    WINDOW_NS;
	governor_init(&u->governor, &governor_halves,
	    s->config->offcpu_budget * get_nprocs());
	waits_used(s);
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
	sampler_waits_set_threshold(sampler_waits(s->sampler), ns);
	snprintf(text, sizeof(text), "stacks of waits from %lld us on: %.2f "
	    "%% of a CPU used, the budget is %.2f %%", (long long)(ns / 1000),
	    u->ratio * 100, (double)u->governor.budget / 1e4);
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

	pace_put(s, b, p->row->name, &threshold, slot, p->waits.threshold_ns);
	if (clock_mono_ns() - u->at_ns < u->window_ns * 9 / 10)
		return;
	now = waits_used(s);
	u->ratio = (double)(now.with_ns + now.beside_ns) /
	    (double)now.span_ns;
	pace_put(s, b, p->row->name, &ratio, slot, (int64_t)(u->ratio * 1e6));
	if (!s->stopped && governor_step(&u->governor, &now))
		waits_change(s, p, slot, b);
}
