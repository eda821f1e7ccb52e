/*
 * The engine as a source: drains the ring, closes slots.
 */
#include "collector/engine/engine.h"

#include "collector/base/config.h"
#include "collector/base/spent.h"
#include "collector/engine/emit.h"
#include "collector/engine/resolve.h"
#include "collector/engine/service_faults.h"
#include "collector/process/services.h"
#include "collector/symbols/jit.h"
#include "collector/unwind/unwind_process.h"
#include "collector/unwind/unwind_tables.h"
#include "collector/watch/process_watch.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define SETTLE_MAX_NS (100 * NS_PER_MS)
#define JUMP_SLOTS 64 /* a larger step back of the clock is believed */
#define JUMP_NS (500 * NS_PER_MS) /* as in slots.c */

/* There is no room to keep it. */
static void
engine_lose(struct engine *s, const struct sample_event *e)
{
	const struct process *p = services_known(s->services,
	    (int32_t)e->pid);
	struct engine_profile *profile = &s->profiles[e->type];
	struct objects_weight w = allocs_weigh(e);
	struct service_counts *of;

	profile->now.held_full += e->value;
	objects_add(&profile->now.held_full_of, w);
	allocs_lacks(s, e);
	if (p == NULL)
		return;
	of = service_faults_of(profile->faults, p->read->service);
	of->lost[LOST_HELD_FULL] += e->value;
	objects_add(&of->lost_of[LOST_HELD_FULL], w);
}

void
engine_event(void *arg, const struct sample_event *e, size_t size)
{
	struct engine *s = arg;
	enum border_side side = border_side(&s->border, e->time_ns);

	if ((e->flags & EVENT_WAIT) != 0) {
		spent_begin(SPENT_WAITS);
		waits_event(s, e, size);
		return;
	}
	spent_begin(SPENT_SAMPLES);
	if (side == BORDER_EARLY) {
		if (!border_hold(&s->border, e, size))
			engine_lose(s, e);
		return;
	}
	if (side == BORDER_LATE)
		s->profiles[e->type].now.late += e->value;
	resolve_event(s, e, size);
}

/* The end of a slot, in CLOCK_MONOTONIC. */
static int64_t
engine_slot_end(const struct engine *s, uint64_t slot)
{
	return (int64_t)(slot + 1) * s->border.slot_ns -
	    s->border.wall_offset_ns;
}

void
engine_begin_waits(struct engine *s)
{
	waits_begin(s->waits, engine_slot_end(s, s->border.open_slot),
	    s->now_ns);
	sampler_waits_set_begin(sampler_waits(s->sampler),
	    waits_end_ns(s->waits) - s->border.slot_ns);
}

void
engine_set_clock(struct engine *s)
{
	s->now_ns = clock_mono_ns();
	s->boot_ns = clock_boot_ns();
	s->border.wall_offset_ns = clock_wall_ns() - s->now_ns;
}

int
engine_fd(const void *source)
{
	const struct engine *s = source;

	return s->epoll;
}

/* The first event begins the samples' time, if there is one. */
static const struct err *
engine_take(struct engine *s)
{
	const struct err *e = sampler_drain(s->sampler);
	int64_t ns = sampler_cpu_ns(s->sampler);

	spent_elsewhere(SPENT_SAMPLES, ns - s->sampler_ns);
	s->sampler_ns = ns;
	spent_begin(SPENT_NAMES);
	return e;
}

/*
 * When the wall clock has jumped, or the machine has slept, what waits in
 * the ring was sampled before that: it belongs where the clock was then, and
 * not into the slot behind the gap.
 */
static const struct err *
engine_drain(struct engine *s)
{
	int64_t before_ns = s->border.wall_offset_ns, jump_ns, after_ns;
	const struct err *e = NULL;

	engine_set_clock(s);
	after_ns = s->border.wall_offset_ns;
	/* What was mapped before these samples were taken. */
	if (s->watch != NULL)
		process_watch_drain(s->watch, s->now_ns);
	jump_ns = after_ns - before_ns;
	if (jump_ns > JUMP_NS || jump_ns < -JUMP_NS) {
		s->border.wall_offset_ns = before_ns;
		e = engine_take(s);
		s->border.wall_offset_ns = after_ns;
	}
	return e != NULL ? e : engine_take(s);
}

const struct err *
engine_poll(void *source, int64_t now_ns)
{
	struct engine *s = source;
	const struct err *e;

	(void)now_ns; /* samples carry monotonic times */
	if (s->sampler == NULL)
		return NULL;
	e = engine_drain(s);
	sampler_stir(s->sampler, s->now_ns);
	symbols_pump(s->symbols, s->now_ns);
	if (s->watch != NULL)
		process_watch_poll(s->watch, s->now_ns);
	if (s->processes != NULL) {
		unwind_processes_pump(s->processes, s->now_ns);
		second_try(s, false); /* asks for more */
		unwind_tables_pump(s->tables, s->now_ns);
	}
	return e;
}

static void
engine_forget_files(struct engine *s)
{
	struct process *p = NULL;

	maps_forget_files(s->maps);
	while ((p = processes_next(services_table(s->services), p)) != NULL)
		if (p->part[PROCESS_JIT] != NULL)
			jits_forget_file(p->part[PROCESS_JIT]);
}

/* Everything that was numbered in the slot is void after this. */
static void
engine_begin_slot(struct engine *s, uint64_t slot)
{
	aggregate_clear(s->aggregate);
	if (s->locks != NULL)
		locks_begin_slot(s);
	if (symbols_trim(s->symbols, s->now_ns))
		engine_forget_files(s);
	maps_sweep(s->maps, s->now_ns);
	if (s->processes != NULL)
		unwind_processes_sweep(s->processes, s->now_ns);
	s->border.open_slot = slot;
	if (s->waits != NULL)
		engine_begin_waits(s);
	border_release(&s->border, engine_event, s);
}

static void
engine_swept(void *arg, const struct wait_swept *r)
{
	waits_swept(arg, r);
}

static void
engine_ended(void *arg, const struct sample_event *e, size_t size)
{
	waits_event(arg, e, size);
}

/* All threads as they are, then what they sent before that. */
static const struct err *
engine_sweep(struct engine *s, uint64_t slot)
{
	enum spent_on before = spent_begin(SPENT_WAITS);
	const struct err *e;

	waits_end(s->waits, engine_slot_end(s, slot));
	e = sampler_waits_sweep(sampler_waits(s->sampler),
	    waits_end_ns(s->waits), engine_swept, s);
	spent_begin(before);
	if (e == NULL)
		e = engine_drain(s);
	sampler_waits_ends(sampler_waits(s->sampler), engine_ended, s);
	return e;
}

const struct err *
engine_close_slot(void *source, uint64_t slot, struct batch *b, bool first)
{
	struct engine *s = source;
	int64_t settle_ns = s->border.slot_ns / 4;
	const struct err *e;

	(void)first;
	if (s->sampler == NULL)
		return NULL;
	e = engine_poll(s, 0);
	/* A slot before the one that is open: nothing of it was seen. */
	if (slot < s->border.open_slot &&
	    s->border.open_slot - slot <= JUMP_SLOTS)
		return e;
	if (s->waits != NULL && e == NULL)
		e = engine_sweep(s, slot);
	second_try(s, true);
	symbols_settle(s->symbols, settle_ns < SETTLE_MAX_NS ? settle_ns :
	    SETTLE_MAX_NS);
	emit_entries(s);
	if (s->waits != NULL)
		waits_close_slot(s, slot, b);
	allocs_sweep(s, engine_slot_end(s, slot));
	emit_profiles(s, slot, b);
	emit_places(s, slot, b);
	account_put(s, slot, b);
	pace_judge(s, slot, b);
	if (s->waits != NULL)
		waits_pace_judge(s, slot, b);
	engine_begin_slot(s, slot + 1);
	return e;
}

/* Samples that were taken after the last drain would be lost unseen. */
void
engine_stop(void *source)
{
	struct engine *s = source;

	if (s->sampler != NULL)
		sampler_stop(s->sampler);
	if (s->waits != NULL)
		waits_stop(s->waits, clock_mono_ns());
	s->stopped = true;
}

enum source_state
engine_state(const void *source, size_t part, const char **why)
{
	const struct engine *s = source;
	const struct engine_profile *p = &s->profiles[part];

	*why = p->why;
	if (p->state == SOURCE_ATTACHED && p->slow[0] != '\0') {
		*why = p->slow;
		return SOURCE_DEGRADED;
	}
	return p->state;
}
