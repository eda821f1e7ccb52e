/*
 * The measurements of the profiler itself: what became of each run, of each
 * stack, and what the tables hold.
 */
#include "collector/profile/source_cpu.h"

#include <string.h>

#include "collector/engine/service_faults.h"
#include "collector/profile/source_cpu_life.h"
#include "store/base/clock.h"
#include "store/batch/batch.h"
#include "collector/unwind/unwind_process.h"
#include "collector/unwind/unwind_tables.h"

#define TOTAL(field) offsetof(struct cpu_totals, field)

static const struct cpu_metric {
	const char *name;
	const char *unit;
	const char *label, *value; /* NULL: none beside source */
	size_t offset;             /* of a uint64_t in struct cpu_totals */
	uint8_t scale;
	bool gauge;
} cpu_metrics[] = {
    {"memlens_profile_runs_total", "", NULL, NULL, TOTAL(runs), 0, false},
    {"memlens_profile_idle_total", "", NULL, NULL, TOTAL(idle), 0, false},
    {"memlens_profile_samples_total", "", NULL, NULL, TOTAL(samples), 0, false},
    {"memlens_profile_ticks_skipped_total", "", NULL, NULL,
        TOTAL(skipped_ticks), 0, false},
    {"memlens_profile_samples_lost_total", "", "reason", "ring full",
        TOTAL(ring_full), 0, false},
    {"memlens_profile_samples_lost_total", "", "reason", "malformed",
        TOTAL(malformed), 0, false},
    {"memlens_profile_samples_lost_total", "", "reason", "held full",
        TOTAL(held_full), 0, false},
    {"memlens_profile_samples_lost_total", "", "reason", "aggregate full",
        TOTAL(aggregate_full), 0, false},
    {"memlens_profile_samples_late_total", "", NULL, NULL, TOTAL(late), 0, false},
    {"memlens_profile_samples_other_services_total", "", NULL, NULL,
        TOTAL(other_services), 0, false},
    {"memlens_profile_frames_total", "", NULL, NULL, TOTAL(frames), 0, false},
    {"memlens_profile_frames_unsymbolised_total", "", NULL, NULL,
        TOTAL(unsymbolised), 0, false},
    {"memlens_bpf_run_seconds_total", "seconds", NULL, NULL, TOTAL(run_ns),
        9, false},
    {"memlens_symbols_child_restarts_total", "", NULL, NULL,
        TOTAL(restarts), 0, false},
    {"memlens_symbols_files_skipped_total", "", NULL, NULL, TOTAL(skipped),
        0, false},
    {"memlens_symbols_overflows_total", "", NULL, NULL, TOTAL(overflows),
        0, false},
    {"memlens_bpf_maps_bytes", "bytes", NULL, NULL, TOTAL(map_bytes), 0,
        true},
    {"memlens_unwind_rows", "", NULL, NULL, TOTAL(unwind.rows), 0, true},
    {"memlens_unwind_bytes", "bytes", NULL, NULL, TOTAL(unwind.bytes), 0,
        true},
    {"memlens_unwind_max_bytes", "bytes", NULL, NULL,
        TOTAL(unwind.max_bytes), 0, true},
    {"memlens_unwind_files", "", "state", "ready", TOTAL(unwind.ready), 0,
        true},
    {"memlens_unwind_files", "", "state", "waiting",
        TOTAL(unwind.waiting), 0, true},
    {"memlens_unwind_files", "", "state", "without rows",
        TOTAL(unwind.without), 0, true},
    {"memlens_unwind_files", "", "state", "failed", TOTAL(unwind.failed),
        0, true},
    {"memlens_unwind_files_made_total", "", NULL, NULL,
        TOTAL(unwind.made), 0, false},
    {"memlens_unwind_files_evicted_total", "", NULL, NULL,
        TOTAL(unwind.evicted), 0, false},
    {"memlens_unwind_files_failed_total", "", NULL, NULL,
        TOTAL(unwind.failures), 0, false},
    {"memlens_unwind_files_refused_total", "", NULL, NULL,
        TOTAL(unwind.refused), 0, false},
    {"memlens_unwind_processes", "", NULL, NULL, TOTAL(unwind.processes),
        0, true},
    {"memlens_unwind_mappings", "", NULL, NULL, TOTAL(unwind.mappings), 0,
        true},
    {"memlens_unwind_processes_made_total", "", NULL, NULL,
        TOTAL(unwind.built), 0, false},
    {"memlens_unwind_processes_evicted_total", "", NULL, NULL,
        TOTAL(unwind.processes_evicted), 0, false},
    {"memlens_unwind_processes_failed_total", "", NULL, NULL,
        TOTAL(unwind.processes_failed), 0, false},
};

/* Stacks that are not whole, of the whole host. */
static void
cpu_put_broken(struct source *s, uint64_t slot, int64_t time_ns,
    struct batch *b)
{
	struct label labels[2] = {{"reason", NULL}, {"source", "cpu"}};
	struct series_desc d = {.kind = SERIES_COUNTER,
	    .name = "memlens_profile_stacks_broken_total", .unit = "",
	    .labels = labels, .n_labels = 2};
	int i;

	for (i = BROKEN_NOT + 1; i < BROKEN_REASONS; i++) {
		labels[0].value = broken_reasons[i].reason;
		batch_add_counter(b, batch_series(b, &d), slot, time_ns,
		    (int64_t)(s->now.broken[i] - s->told.broken[i]),
		    (int64_t)s->now.broken[i]);
	}
}

static uint32_t
cpu_metric_series(struct batch *b, enum series_kind kind,
    const struct cpu_metric *m)
{
	struct label labels[2] = {{m->label, m->value}, {"source", "cpu"}};
	bool alone = m->label == NULL;
	struct series_desc d = {.kind = kind, .name = m->name,
	    .unit = m->unit, .scale = m->scale,
	    .labels = alone ? labels + 1 : labels, .n_labels = alone ? 1 : 2};

	return batch_series(b, &d);
}

/* What holds on is said even without a walker: then all of it is 0. */
static void
cpu_gather_unwind(struct source *s)
{
	struct unwind_processes_stats p;
	struct unwind_tables_stats t;

	if (s->tables == NULL || s->processes == NULL)
		return;
	unwind_tables_stats(s->tables, &t);
	unwind_processes_stats(s->processes, &p);
	s->now.unwind = (struct cpu_unwind_totals){.rows = t.rows,
	    .bytes = (uint64_t)t.cells * 8,
	    .max_bytes = (uint64_t)t.cells_max * 8, .ready = t.ready,
	    .waiting = t.waiting, .without = t.without, .failed = t.failed,
	    .made = t.made, .evicted = t.evicted, .failures = t.failures,
	    .refused = t.refused, .processes = p.processes,
	    .mappings = p.mappings, .built = p.built,
	    .processes_evicted = p.evicted, .processes_failed = p.failed};
}

/* Brings the totals that others count up to date. */
static void
cpu_gather(struct source *s)
{
	uint64_t counts[COUNT_COUNTERS];
	struct symbols_stats stats;

	sampler_counts(s->sampler, counts);
	symbols_stats(s->symbols, &stats);
	s->now.runs = counts[COUNT_RUNS];
	s->now.idle = counts[COUNT_IDLE];
	s->now.ring_full = counts[COUNT_RING_FULL];
	s->now.malformed = sampler_malformed(s->sampler);
	s->now.restarts = stats.restarts;
	s->now.skipped = stats.skipped;
	s->now.overflows = stats.overflows;
	s->now.map_bytes = sampler_map_bytes(s->sampler);
	cpu_gather_unwind(s);
	s->now.run_ns = counts[COUNT_NS];
	s->now.skipped_ticks = sampler_skipped(s->sampler);
}

int64_t
cpu_reading_time(const struct source *s, uint64_t slot)
{
	int64_t begin = (int64_t)slot * s->slot_ns;
	int64_t last = begin + s->slot_ns - 1, now = clock_wall_ns();

	return now < begin ? begin : now > last ? last : now;
}

void
cpu_put_metrics(struct source *s, uint64_t slot, struct batch *b)
{
	int64_t time_ns = cpu_reading_time(s, slot);
	size_t i;

	cpu_gather(s);
	for (i = 0; i < sizeof(cpu_metrics) / sizeof(cpu_metrics[0]); i++) {
		const struct cpu_metric *m = &cpu_metrics[i];
		uint32_t series = cpu_metric_series(b, m->gauge ?
		    SERIES_GAUGE : SERIES_COUNTER, m);
		uint64_t now, told;

		memcpy(&now, (const char *)&s->now + m->offset, sizeof(now));
		memcpy(&told, (const char *)&s->told + m->offset,
		    sizeof(told));
		if (m->gauge)
			batch_add_gauge(b, series, slot, time_ns,
			    (int64_t)now);
		else
			batch_add_counter(b, series, slot, time_ns,
			    (int64_t)(now - told), (int64_t)now);
	}
	cpu_put_broken(s, slot, time_ns, b);
	service_faults_put(s->faults, b, slot, time_ns);
	s->told = s->now;
	if (s->life != NULL)
		cpu_life_close_slot(s->life, slot, b, (int64_t)slot *
		    s->slot_ns, time_ns);
}
