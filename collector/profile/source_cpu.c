/*
 * The CPU profiler as a source: opens its parts, drains the ring, keeps the
 * border between slots.
 *
 * A sample belongs to the slot of its own time.  One that comes for a slot
 * later than the open one is held back as it is; one that comes too late is
 * stored in the open slot, and counted.
 *
 * Every run of the BPF program is accounted for:
 *	runs = idle + ring full + malformed + held full + aggregate full
 *	     + samples stored + what is held or still in the ring
 */
#include "collector/profile/source_cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/symbols/jit.h"
#include "collector/engine/service_faults.h"
#include "collector/process/services.h"
#include "collector/profile/source_cpu_life.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "collector/unwind/unwind_process.h"
#include "collector/unwind/unwind_tables.h"

#define HELD_MAX (8u << 20)
#define SETTLE_MAX_NS (100 * NS_PER_MS)
#define SEASONED_TICKS 20 /* 0.2 s */
#define JUMP_SLOTS 64 /* a larger step back of the clock is believed */
#define JUMP_NS (500 * NS_PER_MS) /* as in slots.c */

static const struct aggregate_limits limits = {
    .groups = 1u << 14, .stacks = 1u << 17, .numbers = 1u << 22};

static uint64_t
cpu_slot_of(const struct source *s, uint64_t mono_ns)
{
	int64_t wall_ns = (int64_t)mono_ns + s->wall_offset_ns;

	return wall_ns > 0 ? (uint64_t)(wall_ns / s->slot_ns) : 0;
}

/* There is no room to keep it. */
static void
cpu_lose(struct source *s, const struct sample_event *e)
{
	const struct process *p = services_known(s->services,
	    (int32_t)e->pid);

	s->now.held_full += e->value;
	if (p != NULL)
		service_faults_of(s->faults, p->service)->
		    lost[LOST_HELD_FULL] += e->value;
}

/* Keeps an event for a later slot, in whole 8 bytes for its alignment. */
static void
cpu_hold(struct source *s, const struct sample_event *e, size_t size)
{
	uint64_t n = (size + 7) & ~(size_t)7;

	if (s->held.len + n > HELD_MAX || !buf_reserve(&s->held, 8 + n)) {
		s->held.failed = false;
		cpu_lose(s, e);
		return;
	}
	buf_put(&s->held, &n, sizeof(n));
	memcpy(s->held.data + s->held.len, e, size);
	s->held.len += n;
}

void
cpu_event(void *arg, const struct sample_event *e, size_t size)
{
	struct source *s = arg;
	uint64_t slot = cpu_slot_of(s, e->time_ns);

	if (slot > s->open_slot) {
		cpu_hold(s, e, size);
		return;
	}
	if (slot < s->open_slot)
		s->now.late += e->value;
	cpu_take_event(s, e);
}

void
cpu_release(struct source *s)
{
	struct buf old = s->held;
	size_t at = 0;
	uint64_t n;

	s->held = (struct buf){0};
	while (at < old.len) {
		memcpy(&n, old.data + at, sizeof(n));
		cpu_event(s, (const void *)(old.data + at + 8), n);
		at += 8 + n;
	}
	buf_fini(&old);
}

static const struct err *
cpu_watch(struct source *s)
{
	struct epoll_event ev = {.events = EPOLLIN};

	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, sampler_fd(s->sampler),
	    &ev) != 0 ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, symbols_fd(s->symbols),
	    &ev) != 0)
		return err_errno("epoll");
	return NULL;
}

/* Says what does not work, if anything. */
static void
cpu_judge_state(struct source *s)
{
	unsigned online, sampled;

	sampler_cpus(s->sampler, &online, &sampled);
	s->state = SOURCE_ATTACHED;
	if (sampled < online) {
		s->state = SOURCE_DEGRADED;
		snprintf(s->why, sizeof(s->why),
		    "only %u of %u CPUs are sampled", sampled, online);
	} else if (s->config->kernel && symbols_kernel_hidden(s->symbols)) {
		s->state = SOURCE_DEGRADED;
		snprintf(s->why, sizeof(s->why), "kernel functions have no "
		    "names: /proc/kallsyms hides addresses "
		    "(kernel.kptr_restrict, CAP_SYSLOG)");
	}
}

/* The child is forked before the ring is mapped: less for it to give up. */
static const struct err *
cpu_open_parts(struct source *s)
{
	const struct err *e;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0)
		return err_errno("epoll");
	s->aggregate = aggregate_new(&limits);
	s->faults = service_faults_new();
	if (s->aggregate == NULL || s->faults == NULL)
		return err_nomem();
	if ((e = maps_new(&s->maps, "/proc")) != NULL ||
	    (e = symbols_new(&s->symbols,
	    s->config->kernel ? "/proc/kallsyms" : NULL,
	    "/usr/lib/debug/.build-id")) != NULL)
		return e;
	symbols_set_inline(s->symbols, s->config->cpu_inline);
	s->jits = jits_new(s->symbols, "/proc");
	return s->jits == NULL ? err_nomem() : NULL;
}

static bool
cpu_ask_rows(void *arg, uint32_t table, int fd, uint64_t size,
    uint32_t max_rows)
{
	struct source *s = arg;

	return symbols_unwind(s->symbols, table, fd, size, max_rows);
}

static void
cpu_take_rows(void *arg, uint32_t table, const struct symbols_rows *rows)
{
	struct source *s = arg;

	unwind_tables_answer(s->tables, table, rows, s->now_ns);
}

static int
cpu_vdso(void *arg)
{
	struct source *s = arg;

	return symbols_vdso_fd(s->symbols);
}

/* Those that have run for a while before us will run again. */
static void
cpu_want_process(void *arg, struct process *p)
{
	struct source *s = arg;

	if (p->stat.user_ticks > SEASONED_TICKS)
		unwind_processes_want(s->processes, p->pid, 0, 0, s->now_ns);
}

static const struct err *
cpu_open_unwinder(struct source *s)
{
	const struct unwind_kernel *kernel = sampler_unwind(s->sampler);
	const struct err *e;

	if (kernel == NULL)
		return NULL;
	e = unwind_tables_new(&s->tables, kernel, cpu_ask_rows, s);
	if (e == NULL)
		e = unwind_processes_new(&s->processes, kernel, s->tables,
		    s->maps, "/proc");
	if (e != NULL)
		return e;
	symbols_unwind_to(s->symbols, cpu_take_rows, s);
	unwind_processes_set_vdso(s->processes, cpu_vdso, s);
	services_each(s->services, cpu_want_process, s);
	return NULL;
}

/* Comes before the first sample: what is mapped from then on is known.
 * Without it processes are found when they are sampled; *why says so. */
static void
cpu_open_life(struct source *s, char *why, size_t size)
{
	const struct cpu_life_parts parts = {.services = s->services,
	    .maps = s->maps};
	const struct err *e = cpu_life_new(&s->life, &parts, s->epoll, true);

	why[0] = '\0';
	if (e == NULL)
		return;
	cpu_life_free(s->life);
	s->life = NULL;
	snprintf(why, size, "new processes are found by their samples only: "
	    "%.200s", e->text);
}

/* All is open: says what is missing. */
static void
cpu_opened(struct source *s, const char *blind)
{
	cpu_judge_state(s);
	if (s->life != NULL)
		cpu_life_serve(s->life, s->processes);
	if (blind[0] != '\0') {
		s->state = SOURCE_DEGRADED;
		snprintf(s->why, sizeof(s->why), "%s", blind);
	}
	cpu_govern_begin(s);
}

static void
cpu_close_parts(struct source *s)
{
	cpu_life_free(s->life);
	s->life = NULL;
	unwind_processes_free(s->processes);
	unwind_tables_free(s->tables);
	s->processes = NULL;
	s->tables = NULL;
	sampler_close(s->sampler);
	jits_free(s->jits);
	symbols_free(s->symbols);
	maps_free(s->maps);
	aggregate_free(s->aggregate);
	service_faults_free(s->faults);
	buf_fini(&s->held);
	if (s->epoll >= 0)
		close(s->epoll);
	s->sampler = NULL;
	s->symbols = NULL;
	s->maps = NULL;
	s->jits = NULL;
	s->aggregate = NULL;
	s->faults = NULL;
	s->epoll = -1;
}

static void
cpu_set_clock(struct source *s)
{
	s->now_ns = clock_mono_ns();
	s->boot_ns = clock_boot_ns();
	s->wall_offset_ns = clock_wall_ns() - s->now_ns;
}

static const struct err *
cpu_open(struct source **out, const struct config *config,
    struct services *services)
{
	struct source *s = calloc(1, sizeof(*s));
	const struct sampler_options options = {.hz = config->cpu_hz,
	    .kernel = config->kernel,
	    .cells = strcmp(config->unwinder, "eh_frame") == 0 ?
	        (uint32_t)(config->unwind_bytes / 8) : 0};
	char blind[sizeof(s->why)] = "";
	const struct err *e;

	*out = NULL;
	if (s == NULL)
		return err_nomem();
	s->config = config;
	s->services = services;
	s->slot_ns = config->slot_ns;
	s->epoll = -1;
	cpu_set_clock(s);
	s->open_slot = cpu_slot_of(s, (uint64_t)s->now_ns);
	governor_init(&s->governor, config->cpu_hz, config->cpu_budget);
	e = cpu_open_parts(s);
	if (e == NULL)
		cpu_open_life(s, blind, sizeof(blind));
	if (e == NULL)
		e = sampler_open(&s->sampler, &options, cpu_event, s);
	if (e == NULL)
		e = cpu_open_unwinder(s);
	if (e == NULL)
		e = cpu_watch(s);
	if (e == NULL) {
		cpu_opened(s, blind);
	} else {
		cpu_close_parts(s);
		s->state = SOURCE_NOT_ATTACHED;
		snprintf(s->why, sizeof(s->why), "%.310s", e->text);
	}
	*out = s;
	return NULL;
}

static int
cpu_fd(const struct source *s)
{
	return s->epoll;
}

/*
 * When the wall clock has jumped, or the machine has slept, what waits in
 * the ring was sampled before that: it belongs where the clock was then, and
 * not into the slot behind the gap.
 */
static const struct err *
cpu_drain(struct source *s)
{
	int64_t before_ns = s->wall_offset_ns, jump_ns, after_ns;
	const struct err *e = NULL;

	cpu_set_clock(s);
	after_ns = s->wall_offset_ns;
	/* What was mapped before these samples were taken. */
	if (s->life != NULL)
		cpu_life_drain(s->life, s->now_ns);
	jump_ns = after_ns - before_ns;
	if (jump_ns > JUMP_NS || jump_ns < -JUMP_NS) {
		s->wall_offset_ns = before_ns;
		e = sampler_drain(s->sampler);
		s->wall_offset_ns = after_ns;
	}
	return e != NULL ? e : sampler_drain(s->sampler);
}

static const struct err *
cpu_poll(struct source *s, int64_t now_ns)
{
	const struct err *e;

	(void)now_ns; /* samples carry monotonic times */
	if (s->sampler == NULL)
		return NULL;
	e = cpu_drain(s);
	symbols_pump(s->symbols, s->now_ns);
	if (s->life != NULL)
		cpu_life_poll(s->life, s->now_ns);
	if (s->processes != NULL) {
		unwind_processes_pump(s->processes, s->now_ns);
		unwind_tables_pump(s->tables, s->now_ns);
	}
	return e;
}

/* Everything that was numbered in the slot is void after this. */
static void
cpu_begin_slot(struct source *s, uint64_t slot)
{
	aggregate_clear(s->aggregate);
	if (symbols_trim(s->symbols, s->now_ns)) {
		maps_forget_files(s->maps);
		jits_forget_files(s->jits);
	}
	maps_sweep(s->maps, s->now_ns);
	if (s->processes != NULL)
		unwind_processes_sweep(s->processes, s->now_ns);
	s->open_slot = slot;
	cpu_release(s);
}

static const struct err *
cpu_close_slot(struct source *s, uint64_t slot, struct batch *b, bool first)
{
	const struct err *e;
	int64_t settle_ns = s->slot_ns / 4;

	(void)first;
	if (s->sampler == NULL)
		return NULL;
	e = cpu_poll(s, 0);
	/* A slot before the one that is open: nothing of it was seen. */
	if (slot < s->open_slot && s->open_slot - slot <= JUMP_SLOTS)
		return e;
	symbols_settle(s->symbols, settle_ns < SETTLE_MAX_NS ? settle_ns :
	    SETTLE_MAX_NS);
	cpu_put_profiles(s, slot, b);
	cpu_put_places(s, slot, b);
	cpu_put_metrics(s, slot, b);
	cpu_govern(s, slot, b);
	cpu_begin_slot(s, slot + 1);
	return e;
}

/* Samples that were taken after the last drain would be lost unseen. */
static void
cpu_stop(struct source *s)
{
	if (s->sampler != NULL)
		sampler_stop(s->sampler);
	s->stopped = true;
}

static enum source_state
cpu_state(const struct source *s, const char **why)
{
	*why = s->why;
	if (s->state == SOURCE_ATTACHED && s->slow[0] != '\0') {
		*why = s->slow;
		return SOURCE_DEGRADED;
	}
	return s->state;
}

static void
cpu_close(struct source *s)
{
	cpu_close_parts(s);
	free(s);
}

const struct source_ops source_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .fd = cpu_fd,
    .poll = cpu_poll,
    .close_slot = cpu_close_slot,
    .stop = cpu_stop,
    .state = cpu_state,
    .close = cpu_close,
};
