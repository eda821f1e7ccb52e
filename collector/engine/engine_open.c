/*
 * The engine's parts: opens them, says what is missing, gives them back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/engine/engine.h"
#include "collector/engine/service_faults.h"
#include "collector/objects/objects.h"
#include "collector/process/services.h"
#include "collector/process/thread_entry.h"
#include "collector/symbols/jit.h"
#include "collector/unwind/unwind_process.h"
#include "collector/unwind/unwind_tables.h"
#include "collector/watch/process_watch.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/model/types.h"

#define SEASONED_TICKS 20 /* 0.2 s */
#define UNWIND_MEMORY_PART 256
#define ROWS_FREE 50000 /* millionths of a CPU, as a budget, without one */

static const struct aggregate_limits limits = {
    .groups = 1u << 14, .stacks = 1u << 17, .numbers = 1u << 22};

static const struct err *
engine_wait_for(struct engine *s)
{
	struct epoll_event ev = {.events = EPOLLIN};

	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, sampler_fd(s->sampler),
	    &ev) != 0 ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, symbols_fd(s->symbols),
	    &ev) != 0)
		return err_errno("epoll");
	return NULL;
}

/* Is the folder of debug files there, if there is to be one? */
static bool
engine_has_mirror(const struct config *c)
{
	struct stat st;

	return c->mirror == NULL || c->mirror[0] == '\0' ||
	    (stat(c->mirror, &st) == 0 && S_ISDIR(st.st_mode));
}

/* Says what does not work, if anything. */
static void
engine_judge(struct engine *s, struct engine_profile *p)
{
	unsigned online, sampled;

	sampler_cpus(s->sampler, (size_t)(p - s->profiles), &online,
	    &sampled);
	p->state = SOURCE_ATTACHED;
	if (p->row->clock != NULL && p->clocked_ns == 0)
		p->clocked_ns = clock_mono_ns();
	if (sampled < online) {
		p->state = SOURCE_DEGRADED;
		snprintf(p->why, sizeof(p->why),
		    "only %u of %u CPUs are sampled", sampled, online);
	} else if (s->config->kernel && symbols_kernel_hidden(s->symbols)) {
		p->state = SOURCE_DEGRADED;
		snprintf(p->why, sizeof(p->why), "kernel functions have no "
		    "names: /proc/kallsyms hides addresses "
		    "(kernel.kptr_restrict, CAP_SYSLOG)");
	} else if (!engine_has_mirror(s->config)) {
		p->state = SOURCE_DEGRADED;
		snprintf(p->why, sizeof(p->why), "stripped programs have no "
		    "names of the mirror: %.200s cannot be opened",
		    s->config->mirror);
	}
}

/* The child is forked before the ring is mapped: less for it to give up. */
static const struct err *
engine_open_parts(struct engine *s)
{
	const struct err *e;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0)
		return err_errno("epoll");
	s->aggregate = aggregate_new(&limits);
	s->entries = thread_entries_new();
	if (s->aggregate == NULL || s->entries == NULL)
		return err_nomem();
	if ((e = maps_new(&s->maps, services_table(s->services),
	    "/proc")) != NULL ||
	    (e = symbols_new(&s->symbols,
	    s->config->kernel ? "/proc/kallsyms" : NULL,
	    "/usr/lib/debug/.build-id")) != NULL)
		return e;
	symbols_set_inline(s->symbols, s->config->cpu_inline);
	if (s->config->mirror != NULL && s->config->mirror[0] != '\0')
		symbols_set_mirror(s->symbols, s->config->mirror);
	s->jits = jits_new(s->symbols, "/proc");
	if (s->jits == NULL)
		return err_nomem();
	processes_serve(services_table(s->services), PROCESS_JIT, jits_drop,
	    s->jits);
	return NULL;
}

static bool
engine_ask_rows(void *arg, uint32_t table, int fd, uint64_t size,
    uint32_t offset)
{
	struct engine *s = arg;

	return symbols_unwind(s->symbols, table, fd, size, offset);
}

static void
engine_take_rows(void *arg, uint32_t table, const struct symbols_rows *rows)
{
	struct engine *s = arg;

	unwind_tables_answer(s->tables, table, rows, s->now_ns);
}

static int
engine_vdso(void *arg)
{
	struct engine *s = arg;

	return symbols_vdso_fd(s->symbols);
}

/* Those that have run for a while before us will run again. */
static void
engine_want_process(void *arg, struct process *p)
{
	struct engine *s = arg;

	if (p->read->stat.user_ticks > SEASONED_TICKS)
		unwind_processes_want(s->processes, p, s->now_ns);
}

/* Nanoseconds of CPU a second for unwind rows: a third of the budget, so that
 * in any minute but the first they take no more than the half that sampling
 * leaves. */
static int64_t
engine_rows_rate(const struct engine *s)
{
	int64_t budget = s->config->cpu_budget > 0 ? s->config->cpu_budget :
	    ROWS_FREE;

	return budget * get_nprocs() * (NS_PER_S / 1000000) / 3;
}

static const struct err *
engine_open_unwinder(struct engine *s)
{
	const struct err *e;

	s->kernel = sampler_unwind(s->sampler);
	if (s->kernel == NULL)
		return NULL;
	e = unwind_tables_new(&s->tables, s->kernel, engine_rows_rate(s),
	    engine_ask_rows, s);
	if (e == NULL)
		e = unwind_processes_new(&s->processes, s->kernel, s->tables,
		    services_table(s->services), s->maps, "/proc");
	if (e != NULL)
		return e;
	e = symbols_unwind_to(s->symbols, engine_take_rows, s);
	if (e != NULL)
		return e;
	unwind_processes_set_vdso(s->processes, engine_vdso, s);
	services_each(s->services, engine_want_process, s);
	return NULL;
}

/* Comes before the first sample: what is mapped from then on is known.
 * Without it processes are found when they are sampled; *why says so. */
static void
engine_open_watch(struct engine *s, char *why, size_t size)
{
	const struct process_watch_parts parts = {.services = s->services,
	    .maps = s->maps, .symbols = s->symbols};
	const struct err *e =
	    process_watch_new(&s->watch, &parts, s->epoll, true);

	why[0] = '\0';
	if (e == NULL)
		return;
	process_watch_free(s->watch);
	s->watch = NULL;
	snprintf(why, size, "new processes are found by their samples only: "
	    "%.200s", e->text);
}

static void
engine_ignore(void *arg, const struct wait_swept *r)
{
	(void)arg;
	(void)r;
}

/* The first sweep makes the threads that are there known to the probe. */
static const struct err *
engine_attach_waits(struct engine *s, size_t type)
{
	const struct err *e = sampler_set_waits(s->sampler, type,
	    &s->profiles[type].waits);

	if (e != NULL)
		return e;
	s->waits = waits_new(s->border.slot_ns);
	if (s->waits == NULL)
		return err_nomem();
	waits_pace_begin(s, type);
	engine_begin_waits(s);
	e = sampler_waits_sweep(sampler_waits(s->sampler), 0, engine_ignore,
	    NULL);
	waits_watch(s->waits, clock_mono_ns());
	return e;
}

/* A part of the waits that are taken before. */
static const struct err *
engine_attach_part(struct engine *s, size_t i)
{
	struct engine_profile *p = &s->profiles[i];
	const struct waits_options *o =
	    &s->profiles[s->waits_pace.type].waits;

	if (s->waits == NULL)
		return err_new(ERR_BPF, 0,
		    "[offcpu] is not enabled, or not attached");
	if (s->locks == NULL)
		s->locks = locks_new();
	if (s->locks == NULL)
		return err_nomem();
	locks_set_type(s->locks, p->row->lock, (uint8_t)i);
	return p->row->lock != LOCK_HOLDER ? NULL :
	    sampler_set_wakes(s->sampler, i, o);
}

static const struct err *
engine_attach_one(struct engine *s, size_t i)
{
	struct engine_profile *p = &s->profiles[i];

	if (p->row->clock != NULL)
		return sampler_set(s->sampler, i, &p->clock);
	if (p->row->waits != NULL)
		return engine_attach_waits(s, i);
	if (p->row->allocs != NULL)
		return allocs_attach(s, i, ALLOCS_SPACE);
	if (p->row->memory != ALLOCS_NOT)
		return allocs_attach(s, i, p->row->memory);
	return engine_attach_part(s, i);
}

/* Has the types sampled; an error when none is. */
static const struct err *
engine_attach(struct engine *s)
{
	const struct err *e, *first = NULL;
	bool attached = false;
	size_t i;

	for (i = 0; i < s->n_profiles; i++) {
		struct engine_profile *p = &s->profiles[i];

		if (p->row == NULL)
			continue;
		e = engine_attach_one(s, i);
		attached = attached || e == NULL;
		if (e == NULL)
			continue;
		first = first != NULL ? first : e;
		p->state = SOURCE_NOT_ATTACHED;
		snprintf(p->why, sizeof(p->why), "%.310s", e->text);
	}
	return attached ? NULL : first;
}

/* All is open: says what is missing. */
static void
engine_opened(struct engine *s, const char *blind)
{
	size_t i;

	if (s->watch != NULL)
		process_watch_serve(s->watch, s->processes);
	for (i = 0; i < s->n_profiles; i++) {
		struct engine_profile *p = &s->profiles[i];

		if (p->row == NULL || p->state == SOURCE_NOT_ATTACHED)
			continue;
		engine_judge(s, p);
		if (blind[0] == '\0')
			continue;
		p->state = SOURCE_DEGRADED;
		snprintf(p->why, sizeof(p->why), "%s", blind);
	}
	allocs_take_over(s);
	pace_begin(s);
}

/* Nothing works. */
static void
engine_refuse(struct engine *s, const struct err *e)
{
	size_t i;

	for (i = 0; i < s->n_profiles; i++) {
		struct engine_profile *p = &s->profiles[i];

		if (p->row == NULL)
			continue;
		p->state = SOURCE_NOT_ATTACHED;
		snprintf(p->why, sizeof(p->why), "%.310s", e->text);
	}
}

static void
engine_close_parts(struct engine *s)
{
	size_t i;

	process_watch_free(s->watch);
	s->watch = NULL;
	unwind_processes_free(s->processes);
	unwind_tables_free(s->tables);
	s->processes = NULL;
	s->tables = NULL;
	sampler_close(s->sampler);
	processes_serve(services_table(s->services), PROCESS_JIT, NULL, NULL);
	jits_free(s->jits);
	symbols_free(s->symbols);
	maps_free(s->maps);
	aggregate_free(s->aggregate);
	thread_entries_free(s->entries);
	s->entries = NULL;
	for (i = 0; i < s->n_profiles; i++) {
		service_faults_free(s->profiles[i].faults);
		s->profiles[i].faults = NULL;
	}
	waits_free(s->waits);
	s->waits = NULL;
	locks_free(s->locks);
	s->locks = NULL;
	objects_free(s->allocs.objects);
	s->allocs.objects = NULL;
	observed_fini(&s->allocs.observed);
	border_fini(&s->border);
	second_fini(&s->second);
	if (s->epoll >= 0)
		close(s->epoll);
	s->sampler = NULL;
	s->symbols = NULL;
	s->maps = NULL;
	s->jits = NULL;
	s->aggregate = NULL;
	s->epoll = -1;
}

/* Is it switched on?  Sets how it is taken. */
static bool
engine_wants(const struct config *c, const struct profile *row,
    struct engine_profile *p)
{
	if (row->clock != NULL)
		return row->clock(c, &p->clock);
	if (row->waits != NULL)
		return row->waits(c, &p->waits);
	return row->allocs != NULL ? row->allocs(c, &p->allocs) : row->part(c);
}

/* The rows that are switched on; *any: there is one. */
static const struct err *
engine_set_profiles(struct engine *s, const struct profile *const *rows,
    size_t n, bool *any)
{
	size_t i;

	*any = false;
	s->n_profiles = n;
	for (i = 0; i < n; i++) {
		struct engine_profile *p = &s->profiles[i];

		if (!engine_wants(s->config, rows[i], p))
			continue;
		*any = true;
		p->row = rows[i];
		p->type = types_find(rows[i]->name);
		p->faults = service_faults_new(rows[i]->name);
		if (p->faults == NULL)
			return err_nomem();
	}
	return NULL;
}

/* Chunks of unwind rows: as configured, else a part of the machine's
 * memory. */
static uint32_t
engine_chunks(const struct config *c)
{
	int64_t chunk = INT64_C(8) << UNWIND_CHUNK_SHIFT, max = 12 * chunk;
	int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) *
	    sysconf(_SC_PAGESIZE), bytes = c->unwind_bytes;

	if (bytes == 0)
		bytes = all / UNWIND_MEMORY_PART < max ?
		    all / UNWIND_MEMORY_PART : max;
	return bytes < 2 * chunk ? 2 : (uint32_t)(bytes / chunk);
}

static const struct err *
engine_start(struct engine *s, char *blind, size_t size)
{
	const struct config *c = s->config;
	struct sampler_options options = {.kernel = c->kernel,
	    .chunks = strcmp(c->unwinder, "eh_frame") == 0 ?
	        engine_chunks(c) : 0};
	const struct err *e = engine_open_parts(s);

	if (e != NULL)
		return e;
	options.orc = symbols_orc(s->symbols);
	engine_open_watch(s, blind, size);
	if ((e = sampler_open(&s->sampler, &options, engine_event, s)) !=
	    NULL || (e = engine_attach(s)) != NULL ||
	    (e = engine_open_unwinder(s)) != NULL)
		return e;
	return engine_wait_for(s);
}

const struct err *
engine_open(void **out, const struct config *config,
    struct services *services, const struct profile *const *rows, size_t n)
{
	struct engine *s = calloc(1, sizeof(*s));
	char blind[sizeof(s->profiles[0].why)] = "";
	const struct err *e;
	bool any;

	*out = NULL;
	if (s == NULL)
		return err_nomem();
	s->config = config;
	s->services = services;
	s->border.slot_ns = config->slot_ns;
	s->epoll = -1;
	e = engine_set_profiles(s, rows, n, &any);
	if (e != NULL || !any) {
		engine_close(s);
		return e;
	}
	engine_set_clock(s);
	s->began_ns = s->now_ns;
	/* From here on all is told as a state and not as an error: the daemon
	 * goes on without what the kernel or our rights do not allow. */
	s->border.open_slot = border_slot(&s->border, (uint64_t)s->now_ns);
	/* There are as many samples as CPUs. */
	pace_init(s, config->cpu_budget * get_nprocs());
	e = engine_start(s, blind, sizeof(blind));
	if (e == NULL) {
		engine_opened(s, blind);
	} else {
		engine_close_parts(s);
		engine_refuse(s, e);
	}
	*out = s;
	return NULL;
}

/* What it was begun with, and all of it works. */
static bool
engine_is_same(const struct engine *s, const struct config *config,
    const struct profile *const *rows, size_t n)
{
	struct engine_profile new = {0};
	size_t i;

	for (i = 0; i < n; i++) {
		const struct engine_profile *p = &s->profiles[i];

		if (!conf_same(&config_spec, rows[i]->name, s->config,
		    config) ||
		    engine_wants(config, rows[i], &new) != (p->row != NULL) ||
		    (p->row != NULL && p->state != SOURCE_ATTACHED))
			return false;
	}
	return s->sampler != NULL &&
	    conf_same(&config_spec, "symbols", s->config, config) &&
	    allocs_are_same(s);
}

bool
engine_reload(void *source, const struct config *config,
    const struct profile *const *rows, size_t n)
{
	struct engine *s = source;

	if (!engine_is_same(s, config, rows, n))
		return false;
	s->config = config;
	if (config->mirror != NULL && config->mirror[0] != '\0')
		symbols_set_mirror(s->symbols, config->mirror);
	symbols_forget(s->symbols);
	thread_entries_forget(s->entries);
	if (s->watch != NULL)
		process_watch_begin(s->watch);
	return true;
}

void
engine_close(void *source)
{
	engine_close_parts(source);
	free(source);
}
