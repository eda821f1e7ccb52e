/*
 * What the profiler uses, and its rate: the daemon with all its threads, the
 * symbols child, and the BPF program as it times itself.
 */
#include "collector/profile/source_cpu.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collector/base/config.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/batch/batch.h"

#define WINDOW_NS (10 * NS_PER_S) /* shorter slots are judged together */

/* CPU time of another process; -1 when it is gone. */
static int64_t
process_cpu_ns(pid_t pid)
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
usage_of_children(struct source *s)
{
	struct cpu_usage *u = &s->usage;
	struct symbols_stats stats;
	int64_t ns;

	symbols_stats(s->symbols, &stats);
	if (stats.child != u->child) {
		u->children_ns += u->child_ns;
		u->child_ns = 0;
		u->child = stats.child;
	}
	ns = process_cpu_ns(u->child);
	if (ns > u->child_ns)
		u->child_ns = ns;
	return u->children_ns + u->child_ns;
}

static int64_t
usage_total(struct source *s)
{
	return clock_cpu_ns() + usage_of_children(s) +
	    (int64_t)s->now.run_ns;
}

void
cpu_govern_begin(struct source *s)
{
	s->usage.window_ns = s->slot_ns > WINDOW_NS ? s->slot_ns : WINDOW_NS;
	s->usage.told_ns = usage_total(s);
	s->usage.at_ns = clock_mono_ns();
}

static void
govern_put(struct batch *b, const char *name, const char *unit,
    uint8_t scale, uint64_t slot, int64_t time_ns, int64_t value)
{
	struct label label = {"source", "cpu"};
	struct series_desc d = {.kind = SERIES_GAUGE, .name = name,
	    .unit = unit, .scale = scale, .labels = &label, .n_labels = 1};

	batch_add_gauge(b, batch_series(b, &d), slot, time_ns, value);
}

/* The reason in health, with what is used now. */
static void
govern_explain(struct source *s)
{
	s->slow[0] = '\0';
	if (s->governor.level > 0)
		snprintf(s->slow, sizeof(s->slow), "sampling at %lld Hz to "
		    "stay within %.2f %% of a CPU: %.2f %% used",
		    (long long)governor_hz(&s->governor),
		    (double)s->config->cpu_budget / 1e4,
		    s->usage.ratio * 100);
}

static void
govern_change(struct source *s, uint64_t slot, struct batch *b)
{
	int64_t hz = governor_hz(&s->governor);
	int64_t time_ns = (int64_t)(slot + 1) * s->slot_ns - 1;
	const struct err *e;
	char text[200];

	snprintf(text, sizeof(text), "%lld Hz: %.2f %% of a CPU used, the "
	    "budget is %.2f %%", (long long)hz, s->usage.ratio * 100,
	    (double)s->config->cpu_budget / 1e4);
	log_info("cpu: %s", text);
	batch_add_fact(b, time_ns, FACT_MARK, "rate", text, strlen(text));
	e = sampler_set_rate(s->sampler, hz);
	if (e == NULL)
		return;
	log_err("cpu: %s", e->text);
	s->state = SOURCE_DEGRADED;
	snprintf(s->why, sizeof(s->why), "%.310s", e->text);
}

void
cpu_govern(struct source *s, uint64_t slot, struct batch *b)
{
	int64_t now_ns = clock_mono_ns(), total_ns, span_ns, used_ns;
	int64_t time_ns = cpu_reading_time(s, slot);
	struct cpu_usage *u = &s->usage;

	govern_put(b, "memlens_profile_rate_hertz", "hertz", 0, slot,
	    time_ns, governor_hz(&s->governor));
	span_ns = now_ns - u->at_ns;
	if (span_ns < u->window_ns * 9 / 10) /* slots are closed unevenly */
		return;
	total_ns = usage_total(s);
	used_ns = total_ns - u->told_ns;
	u->ratio = (double)used_ns / (double)span_ns;
	u->told_ns = total_ns;
	u->at_ns = now_ns;
	govern_put(b, "memlens_profile_used_ratio", "ratio", 6, slot,
	    time_ns, (int64_t)(u->ratio * 1e6));
	if (!s->stopped && governor_step(&s->governor, used_ns, span_ns))
		govern_change(s, slot, b);
	govern_explain(s);
}
