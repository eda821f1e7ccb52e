/*
 * The CPU time of readings against their budget.  The process list that the
 * daemon sweeps as often is counted, too.
 */
#include "collector/procfs/procfs_pace.h"

#include <stdio.h>
#include <string.h>

#include "collector/base/config.h"
#include "collector/base/spent.h"
#include "store/base/clock.h"
#include "store/base/log.h"
#include "store/batch/batch.h"
#include "store/batch/meter.h"

static struct governor_used
procfs_sums(void)
{
	return (struct governor_used){.span_ns = clock_mono_ns(),
	    .with_ns = spent_ns(SPENT_PROC)};
}

void
procfs_pace_begin(struct procfs_pace *p, const struct config *config)
{
	const struct governor_used sums = procfs_sums();

	*p = (struct procfs_pace){.slot_ns = config->slot_ns,
	    .asked_ns = config->procfs_interval_ns,
	    .interval_ns = config->procfs_interval_ns};
	governor_window_begin(&p->window, p->slot_ns, &sums);
	governor_init(&p->governor, &governor_rates, config->procfs_budget);
}

static void
pace_gauge(struct meter *m, const char *name, const char *unit,
    int64_t time_ns, int64_t millionths)
{
	struct series_desc d = {.kind = SERIES_GAUGE, .name = name,
	    .unit = unit, .scale = 6};

	meter_gauge(m, &d, time_ns, millionths);
}

/* No longer than a slot, so that each has a reading. */
static int64_t
pace_interval(const struct procfs_pace *p)
{
	int64_t ns = governor_period(&p->governor, p->asked_ns);

	if (ns > p->slot_ns)
		ns = p->slot_ns;
	return ns > p->asked_ns ? ns : p->asked_ns;
}

static void
pace_mark(const struct procfs_pace *p, uint64_t slot, struct batch *b)
{
	char text[160];

	snprintf(text, sizeof(text), "/proc each %.3g s: %.2f %% of a CPU "
	    "used, the budget is %.2f %%", (double)p->interval_ns / 1e9,
	    p->window.ratio * 100, (double)p->governor.budget / 1e4);
	log_info("procfs: %s", text);
	batch_add_fact(b, (int64_t)(slot + 1) * p->slot_ns - 1, FACT_MARK,
	    "interval", text, strlen(text));
}

static void
pace_explain(struct procfs_pace *p)
{
	p->slow[0] = '\0';
	if (p->interval_ns == p->asked_ns)
		return;
	snprintf(p->slow, sizeof(p->slow), "read each %.3g s to stay within "
	    "%.2f %% of a CPU: %.2f %% used", (double)p->interval_ns / 1e9,
	    (double)p->governor.budget / 1e4, p->window.ratio * 100);
}

void
procfs_pace_judge(struct procfs_pace *p, struct meter *m, uint64_t slot,
    struct batch *b)
{
	int64_t last_ns = (int64_t)(slot + 1) * p->slot_ns - 1;
	int64_t wall_ns = clock_wall_ns(), before_ns = p->interval_ns;
	struct governor_used used = procfs_sums();

	if (wall_ns > last_ns)
		wall_ns = last_ns;
	if (governor_window_is_over(&p->window, used.span_ns)) {
		used = governor_window_next(&p->window, &used);
		pace_gauge(m, "memlens_procfs_used_ratio", "ratio", wall_ns,
		    (int64_t)(p->window.ratio * 1e6));
		governor_step(&p->governor, &used);
		p->interval_ns = pace_interval(p);
		if (p->interval_ns != before_ns)
			pace_mark(p, slot, b);
		pace_explain(p);
	}
	pace_gauge(m, "memlens_procfs_interval_seconds", "seconds", wall_ns,
	    before_ns / 1000);
}
