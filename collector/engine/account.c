/*
 * Tables of the counters, and what others count.
 */
#include "collector/engine/account.h"

#include <string.h>

#include "collector/engine/engine.h"
#include "collector/engine/service_faults.h"
#include "collector/unwind/unwind_process.h"
#include "collector/unwind/unwind_tables.h"
#include "collector/watch/process_watch.h"
#include "store/base/clock.h"
#include "store/batch/batch.h"

#define OF(field) offsetof(struct account_profile, field)
#define ALL(field) offsetof(struct account_shared, field)

struct account_metric {
	const char *name;
	const char *unit;
	const char *label, *value; /* NULL: none beside source */
	size_t offset;             /* of a uint64_t in what counts */
	uint8_t scale;
	bool gauge;
};

static const struct account_metric profile_metrics[] = {
    {"memlens_profile_runs_total", "", NULL, NULL, OF(runs), 0, false},
    {"memlens_profile_idle_total", "", NULL, NULL, OF(idle), 0, false},
    {"memlens_profile_samples_total", "", NULL, NULL, OF(samples), 0, false},
    {"memlens_profile_ticks_skipped_total", "", NULL, NULL,
        OF(skipped_ticks), 0, false},
    {"memlens_profile_samples_lost_total", "", "reason", "ring full",
        OF(ring_full), 0, false},
    {"memlens_profile_samples_lost_total", "", "reason", "malformed",
        OF(malformed), 0, false},
    {"memlens_profile_samples_lost_total", "", "reason", "held full",
        OF(held_full), 0, false},
    {"memlens_profile_samples_lost_total", "", "reason", "aggregate full",
        OF(aggregate_full), 0, false},
    {"memlens_profile_samples_lost_total", "", "reason", "locks full",
        OF(locks_full), 0, false},
    {"memlens_profile_samples_late_total", "", NULL, NULL, OF(late), 0, false},
    {"memlens_profile_samples_other_services_total", "", NULL, NULL,
        OF(other_services), 0, false},
    {"memlens_profile_frames_total", "", NULL, NULL, OF(frames), 0, false},
    {"memlens_profile_frames_unsymbolised_total", "", NULL, NULL,
        OF(unsymbolised), 0, false},
    {"memlens_bpf_run_seconds_total", "seconds", NULL, NULL, OF(run_ns),
        9, false},
};

static const struct account_metric shared_metrics[] = {
    {"memlens_symbols_child_restarts_total", "", NULL, NULL,
        ALL(restarts), 0, false},
    {"memlens_symbols_files_skipped_total", "", NULL, NULL, ALL(skipped),
        0, false},
    {"memlens_symbols_files_unpacked_total", "", NULL, NULL,
        ALL(unpacked), 0, false},
    {"memlens_symbols_overflows_total", "", NULL, NULL, ALL(overflows),
        0, false},
    {"memlens_bpf_maps_bytes", "bytes", NULL, NULL, ALL(map_bytes), 0,
        true},
    {"memlens_unwind_rows", "", NULL, NULL, ALL(unwind.rows), 0, true},
    {"memlens_unwind_bytes", "bytes", NULL, NULL, ALL(unwind.bytes), 0,
        true},
    {"memlens_unwind_max_bytes", "bytes", NULL, NULL,
        ALL(unwind.max_bytes), 0, true},
    {"memlens_unwind_files", "", "state", "ready", ALL(unwind.ready), 0,
        true},
    {"memlens_unwind_files", "", "state", "unknown",
        ALL(unwind.unknown), 0, true},
    {"memlens_unwind_files", "", "state", "without rows",
        ALL(unwind.without), 0, true},
    {"memlens_unwind_files", "", "state", "failed", ALL(unwind.failed),
        0, true},
    {"memlens_unwind_files_made_total", "", NULL, NULL,
        ALL(unwind.made), 0, false},
    {"memlens_unwind_files_failed_total", "", NULL, NULL,
        ALL(unwind.failures), 0, false},
    {"memlens_unwind_files_refused_total", "", NULL, NULL,
        ALL(unwind.refused), 0, false},
    {"memlens_unwind_waiting", "", NULL, NULL, ALL(unwind.waiting), 0,
        true},
    {"memlens_unwind_regions", "", NULL, NULL, ALL(unwind.loaded), 0,
        true},
    {"memlens_unwind_regions_made_total", "", NULL, NULL,
        ALL(unwind.regions_made), 0, false},
    {"memlens_unwind_regions_evicted_total", "", NULL, NULL,
        ALL(unwind.evicted), 0, false},
    {"memlens_unwind_processes", "", NULL, NULL, ALL(unwind.processes),
        0, true},
    {"memlens_unwind_mappings", "", NULL, NULL, ALL(unwind.mappings), 0,
        true},
    {"memlens_unwind_processes_made_total", "", NULL, NULL,
        ALL(unwind.built), 0, false},
    {"memlens_unwind_processes_evicted_total", "", NULL, NULL,
        ALL(unwind.processes_evicted), 0, false},
    {"memlens_unwind_processes_failed_total", "", NULL, NULL,
        ALL(unwind.processes_failed), 0, false},
};

/* Where a batch gets what is told. */
struct account_target {
	struct batch *batch;
	const char *source;
	uint64_t slot;
	int64_t time_ns;
};

/* Stacks that are not whole, of the whole host. */
static void
account_put_broken(const struct account_target *t,
    const struct engine_profile *p)
{
	struct label labels[2] = {{"reason", NULL}, {"source", t->source}};
	struct series_desc d = {.kind = SERIES_COUNTER,
	    .name = "memlens_profile_stacks_broken_total", .unit = "",
	    .labels = labels, .n_labels = 2};
	int i;

	for (i = BROKEN_NOT + 1; i < BROKEN_REASONS; i++) {
		labels[0].value = broken_reasons[i].reason;
		batch_add_counter(t->batch, batch_series(t->batch, &d),
		    t->slot, t->time_ns,
		    (int64_t)(p->now.broken[i] - p->told.broken[i]),
		    (int64_t)p->now.broken[i]);
	}
}

/* A counter by reason, from its first time on. */
static void
account_put_reason(const struct account_target *t, const char *name,
    const char *unit, const char *reason, const int64_t now_told[2])
{
	struct label labels[2] = {{"reason", reason}, {"source", t->source}};
	struct series_desc d = {.kind = SERIES_COUNTER, .name = name,
	    .unit = unit, .labels = labels, .n_labels = 2};

	if (now_told[0] > 0)
		batch_add_counter(t->batch, batch_series(t->batch, &d),
		    t->slot, t->time_ns, now_told[0] - now_told[1],
		    now_told[0]);
}

static void
account_put_weight(const struct account_target *t, const char *reason,
    const struct objects_weight *now, const struct objects_weight *told)
{
	account_put_reason(t, "memlens_profile_lost_bytes_total", "bytes",
	    reason, (int64_t[2]){now->bytes, told->bytes});
	account_put_reason(t, "memlens_profile_lost_objects_total", "", reason,
	    (int64_t[2]){objects_whole(now->objects),
	    objects_whole(told->objects)});
}

/* What was lost of memory, in bytes and objects. */
static void
account_put_memory(const struct account_target *t,
    const struct engine_profile *p)
{
	account_put_weight(t, "ring full", &p->now.ring_full_of,
	    &p->told.ring_full_of);
	account_put_weight(t, "held full", &p->now.held_full_of,
	    &p->told.held_full_of);
	account_put_weight(t, "aggregate full", &p->now.aggregate_full_of,
	    &p->told.aggregate_full_of);
	account_put_reason(t, "memlens_profile_samples_lost_total", "",
	    "table unread", (int64_t[2]){(int64_t)p->now.table_unread,
	    (int64_t)p->told.table_unread});
}

static uint32_t
account_series(const struct account_target *t, const struct account_metric *m)
{
	struct label labels[2] = {{m->label, m->value}, {"source", t->source}};
	bool alone = m->label == NULL;
	struct series_desc d = {.kind = m->gauge ? SERIES_GAUGE :
	    SERIES_COUNTER, .name = m->name, .unit = m->unit,
	    .scale = m->scale, .labels = alone ? labels + 1 : labels,
	    .n_labels = alone ? 1 : 2};

	return batch_series(t->batch, &d);
}

/* `now` and `told` are what the metric's offset is in. */
static void
account_put_metric(const struct account_target *t,
    const struct account_metric *m, const void *now, const void *told)
{
	uint32_t series = account_series(t, m);
	uint64_t value, before;

	memcpy(&value, (const char *)now + m->offset, sizeof(value));
	memcpy(&before, (const char *)told + m->offset, sizeof(before));
	if (m->gauge)
		batch_add_gauge(t->batch, series, t->slot, t->time_ns,
		    (int64_t)value);
	else
		batch_add_counter(t->batch, series, t->slot, t->time_ns,
		    (int64_t)(value - before), (int64_t)value);
}

/* What holds on is said even without a walker: then all of it is 0. */
static void
account_gather_unwind(struct engine *s)
{
	struct unwind_processes_stats p;
	struct unwind_tables_stats t;

	if (s->tables == NULL || s->processes == NULL)
		return;
	unwind_tables_stats(s->tables, &t);
	unwind_processes_stats(s->processes, &p);
	s->now.unwind = (struct account_unwind){.rows = t.regions.rows,
	    .bytes = (uint64_t)t.regions.cells * 8,
	    .max_bytes = (uint64_t)t.regions.cells_max * 8,
	    .ready = t.ready, .unknown = t.unknown, .waiting = t.waiting,
	    .without = t.without, .failed = t.failed, .made = t.made,
	    .loaded = t.regions.loaded, .regions_made = t.regions.made,
	    .evicted = t.regions.evicted, .failures = t.failures,
	    .refused = t.refused, .processes = p.processes,
	    .mappings = p.mappings, .built = p.built,
	    .processes_evicted = p.evicted, .processes_failed = p.failed};
}

/* Brings the totals that others count up to date. */
static void
account_gather(struct engine *s)
{
	struct symbols_stats stats;

	symbols_stats(s->symbols, &stats);
	s->now.restarts = stats.restarts;
	s->now.skipped = stats.skipped;
	s->now.unpacked = stats.unpacked;
	s->now.overflows = stats.overflows;
	s->now.map_bytes = sampler_map_bytes(s->sampler);
	account_gather_unwind(s);
}

static void
account_gather_profile(struct engine *s, size_t i)
{
	struct account_profile *now = &s->profiles[i].now;
	uint64_t counts[COUNT_COUNTERS];

	sampler_counts(s->sampler, i, counts);
	now->runs = counts[COUNT_RUNS];
	now->idle = counts[COUNT_IDLE];
	now->ring_full = counts[COUNT_RING_FULL];
	now->ring_full_of = (struct objects_weight){
	    (int64_t)counts[COUNT_LOST_BYTES],
	    (int64_t)counts[COUNT_LOST_OBJECTS]};
	now->run_ns = counts[COUNT_NS];
	now->malformed = sampler_malformed(s->sampler, i);
	now->skipped_ticks = sampler_skipped(s->sampler, i);
}

int64_t
account_time(const struct engine *s, uint64_t slot)
{
	int64_t begin = (int64_t)slot * s->border.slot_ns;
	int64_t last = begin + s->border.slot_ns - 1, now = clock_wall_ns();

	return now < begin ? begin : now > last ? last : now;
}

void
account_put_watched(struct engine *s, size_t type, uint64_t slot,
    struct batch *b, const int64_t between_ns[2])
{
	struct engine_profile *p = &s->profiles[type];
	struct label label = {"source", p->row->name};
	struct series_desc d = {.kind = SERIES_COUNTER,
	    .name = "memlens_profile_watched_seconds_total",
	    .unit = "seconds", .scale = 9, .labels = &label, .n_labels = 1};
	int64_t from_ns = (int64_t)slot * s->border.slot_ns -
	    s->border.wall_offset_ns, to_ns = from_ns + s->border.slot_ns, ns;

	if (from_ns < between_ns[0])
		from_ns = between_ns[0];
	if (to_ns > between_ns[1])
		to_ns = between_ns[1];
	ns = to_ns > from_ns ? to_ns - from_ns : 0;
	p->watched_ns += ns;
	batch_add_counter(b, batch_series(b, &d), slot, account_time(s, slot),
	    ns, p->watched_ns);
}

static void
account_put_profile(struct engine *s, size_t i, struct account_target *t)
{
	struct engine_profile *p = &s->profiles[i];
	size_t k, n = sizeof(profile_metrics) / sizeof(profile_metrics[0]);

	account_gather_profile(s, i);
	t->source = p->row->name;
	for (k = 0; k < n; k++)
		account_put_metric(t, &profile_metrics[k], &p->now, &p->told);
	account_put_memory(t, p);
	account_put_broken(t, p);
	service_faults_put(p->faults, t->batch, t->slot, t->time_ns);
	if (p->clocked_ns != 0) /* a stop closes its slot as it comes */
		account_put_watched(s, i, t->slot, t->batch,
		    (int64_t[2]){p->clocked_ns, clock_mono_ns()});
	p->told = p->now;
}

void
account_put(struct engine *s, uint64_t slot, struct batch *b)
{
	struct account_target t = {b, NULL, slot, account_time(s, slot)};
	size_t i, n = sizeof(shared_metrics) / sizeof(shared_metrics[0]);

	for (i = 0; i < s->n_profiles; i++)
		if (s->profiles[i].row != NULL)
			account_put_profile(s, i, &t);
	account_gather(s);
	t.source = ACCOUNT_SHARED;
	for (i = 0; i < n; i++)
		account_put_metric(&t, &shared_metrics[i], &s->now, &s->told);
	s->told = s->now;
	if (s->watch != NULL)
		process_watch_close_slot(s->watch, slot, b, t.time_ns);
}
