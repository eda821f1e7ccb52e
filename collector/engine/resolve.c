/*
 * From an event to who ran and what it counts, into the aggregate.
 */
#include "collector/engine/resolve.h"

#include <stdio.h>
#include <string.h>

#include "collector/bpf/wait_futex.h"
#include "collector/engine/code.h"
#include "collector/engine/engine.h"
#include "collector/engine/second.h"
#include "collector/engine/service_faults.h"
#include "collector/engine/thread_time.h"
#include "collector/engine/waits.h"
#include "collector/objects/objects.h"
#include "collector/process/services.h"
#include "collector/process/thread_entry.h"
#include "collector/process/thread_pool.h"
#include "collector/unwind/unwind_process.h"
#include "collector/unwind/unwind_tables.h"
#include "collector/watch/process_watch.h"
#include "store/base/clock.h"
#include "store/base/text.h"

#define YOUNG_NS (300 * NS_PER_MS)

/* Threads that were never named carry the name of the first one.  That one's
 * own is always its name, and how many others there are changes nothing: so a
 * thread is of one pool from its first slot on. */
static bool
resolve_is_unnamed(const struct sample_event *e, const char *comm,
    const char *process)
{
	return e->tid != e->pid && (e->flags & EVENT_KTHREAD) == 0 &&
	    strcmp(comm, process) == 0;
}

static struct thread_key
resolve_thread_key(const struct sample_event *e)
{
	return (struct thread_key){e->pid, e->tid, e->exec_id, e->start_ns};
}

static const char *const state_names[WAIT_STATES] = {
    [WAIT_ON_CPU] = "on cpu", [WAIT_RUN_QUEUE] = "run queue",
    [WAIT_LOCK] = "lock", [WAIT_CONDITION] = "condition",
    [WAIT_DISK] = "disk", [WAIT_NETWORK] = "network", [WAIT_PIPE] = "pipe",
    [WAIT_TIMER] = "timer", [WAIT_POLL] = "poll", [WAIT_FAULT] = "fault",
    [WAIT_OTHER] = "other"};

const char *
resolve_state_name(enum wait_state state)
{
	return state < WAIT_STATES ? state_names[state] : "";
}

static const char *const memory_names[MEMORY_KINDS] = {
    [MEMORY_NOT] = "", [MEMORY_ANONYMOUS] = "anonymous",
    [MEMORY_FILE] = "file", [MEMORY_SHARED] = "shared",
    [MEMORY_UNKNOWN] = "unknown"};

static const char *
resolve_memory_name(const struct sample_event *e)
{
	return e->memory < MEMORY_KINDS ? memory_names[e->memory] : "";
}

/* Who ran, or waited for that reason.  Kernel threads carry
 * numbers of CPUs and queues in their names, which would make a label set of
 * each. */
static uint32_t
resolve_group(struct engine *s, const struct sample_event *e,
    const struct resolve_who *who, bool whole, const char *reason)
{
	char comm[EVENT_COMM + 1], process[sizeof(who->comm)];
	char pool[THREAD_POOL_NAME_MAX];
	struct thread_key key = resolve_thread_key(e);
	struct aggregate_group g = {.process = process, .pool = pool,
	    .service = who->service, .cgroup = who->cgroup,
	    .instance = who->instance,
	    .reason = reason,
	    .type = e->type,
	    .period = e->period};
	const char *entry;

	snprintf(comm, sizeof(comm), "%.*s", EVENT_COMM, e->comm);
	text_clean(comm);
	aggregate_fold_digits(pool, sizeof(pool), comm);
	snprintf(process, sizeof(process), "%s", who->comm);
	text_clean(process);
	if ((e->flags & EVENT_KTHREAD) != 0) {
		memcpy(process, pool, sizeof(process));
		g.pool = "";
	} else if (resolve_is_unnamed(e, comm, process)) {
		/* Of a process that nobody looked at, the sample itself says
		 * how it is called: that tells nothing of its threads. */
		g.by_entry = whole && who->p != NULL;
		entry = thread_entry_of(s->entries, &key);
		if (!g.by_entry && entry[0] != '\0')
			g.pool = entry;
	}
	return aggregate_group(s->aggregate, &g);
}

/* Rows of code that was met: asked for with its file. */
static void
resolve_want_rows(struct engine *s, const struct sample_event *e,
    struct resolve_who *who)
{
	struct maps_process *p;
	struct process *own;
	struct mapping *map;

	if (e->lacks >= e->n_user || !unwind_tables_want(s->tables, e->table,
	    e->offset, s->now_ns))
		return;
	p = resolve_code(s, e, who, &own);
	map = p != NULL ? maps_list_find(maps_process_list(p),
	    event_frame(e, e->lacks) - (e->lacks > 0)) : NULL;
	if (map != NULL)
		code_offer_rows(s, p, map);
}

/* Tells the walker's tables what they lack.  A process that has just begun
 * may be over before its tables would be made; but if it is one of many
 * children of a fork, those of its parent serve them all. */
static void
resolve_want_tables(struct engine *s, const struct sample_event *e,
    struct resolve_who *who)
{
	bool pending = (e->flags & EVENT_PENDING) != 0;
	struct process *p = who->p;

	if (s->processes == NULL)
		return;
	if (pending && e->table != UNWIND_NO_TABLE) {
		resolve_want_rows(s, e, who);
		return;
	}
	if (!pending && e->error != BROKEN_NO_TABLES &&
	    e->error != BROKEN_NO_MAPPING)
		return;
	if (p == NULL || s->boot_ns - (int64_t)e->start_ns <= YOUNG_NS) {
		if (who->code != NULL)
			p = who->code;
		else if (p != NULL && p->read->stat.parent > 1)
			p = services_process(s->services,
			    p->read->stat.parent, 0);
		else
			p = NULL;
	}
	if (p != NULL)
		unwind_processes_want(s->processes, p, (int64_t)e->time_ns);
}

/* When the process executed another program than the sample's, 0: never yet,
 * by what was told until it was looked at. */
static int64_t
resolve_next_exec(struct engine *s, const struct sample_event *e,
    const struct process *p)
{
	if (s->watch == NULL)
		return 0;
	if (p != NULL)
		process_watch_until(s->watch, p->read->named_ns, s->now_ns);
	return process_watch_next_exec(s->watch, (int32_t)e->pid,
	    (int64_t)e->time_ns);
}

/* Was it looked at only when it had executed the next program? */
static bool
resolve_is_late(const struct sample_event *e, const struct process_read *r,
    int64_t next_ns)
{
	return next_ns != 0 && r->named_ns >= next_ns &&
	    ((int64_t)e->time_ns >= r->before.until_ns ||
	    r->before.named_ns >= next_ns);
}

/* The process as its program was when the sample was taken; NULL: that program
 * is gone, and nobody has looked at it. */
static struct process *
resolve_process(struct engine *s, const struct sample_event *e,
    int64_t *next_ns)
{
	struct process *p = services_process(s->services, (int32_t)e->pid,
	    e->start_ns);

	if (p != NULL && !p->gone && p->executed_ns != 0 &&
	    (int64_t)e->time_ns >= p->executed_ns)
		services_look(s->services, p->pid);
	*next_ns = resolve_next_exec(s, e, p);
	if (p == NULL || resolve_is_late(e, p->read, *next_ns))
		return NULL;
	return p->executed_ns == 0 || (int64_t)e->time_ns < p->executed_ns ?
	    p : NULL;
}

/* What it was called then. */
static void
resolve_name(const struct sample_event *e, const struct process_read *r,
    struct resolve_who *who)
{
	bool before = (int64_t)e->time_ns < r->before.until_ns;

	snprintf(who->comm, sizeof(who->comm), "%s",
	    before ? r->before.comm : r->comm);
	snprintf(who->service, sizeof(who->service), "%s",
	    before ? r->before.service : r->service);
}

/* Nobody looked at that program. */
static void
resolve_unseen(struct engine *s, const struct sample_event *e,
    struct resolve_who *who)
{
	bool kernel = (e->flags & EVENT_KTHREAD) != 0;

	snprintf(who->comm, sizeof(who->comm), "%.*s", EVENT_COMM, e->comm);
	snprintf(who->service, sizeof(who->service), "%s",
	    kernel && who->next_ns != 0 ? SERVICES_KERNEL : RESOLVE_EXITED);
	if (kernel)
		return;
	resolve_ask_origin(s, e, who);
	if (!who->told && who->next_ns != 0)
		services_name(s->services, who->comm, "", "", NULL,
		    who->service, sizeof(who->service));
}

static void
resolve_find_who(struct engine *s, const struct sample_event *e,
    struct resolve_who *who)
{
	int64_t next_ns;
	struct process *p = resolve_process(s, e, &next_ns);

	*who = (struct resolve_who){.p = p, .next_ns = next_ns,
	    .cgroup = p != NULL ? p->read->cgroup : "",
	    .instance = p != NULL ? p->read->instance : ""};
	if (p != NULL) {
		process_executes(p, e->exec_id);
		resolve_name(e, p->read, who);
	} else {
		resolve_unseen(s, e, who);
	}
}

struct maps_process *
resolve_maps(struct engine *s, const struct sample_event *e)
{
	struct resolve_who who;
	struct process *own;

	resolve_find_who(s, e, &who);
	return resolve_code(s, e, &who, &own);
}

/* There is no room for another stack. */
static void
resolve_lose_stack(struct engine *s, const struct sample_event *e,
    const struct resolve_who *who, uint64_t samples)
{
	struct engine_profile *p = &s->profiles[e->type];

	p->now.aggregate_full += samples;
	service_faults_of(p->faults, who->service)->
	    lost[LOST_AGGREGATE_FULL] += samples;
}

/* Nobody knows what was waited for. */
static void
resolve_lose_lock(struct engine *s, const struct sample_event *e,
    const struct resolve_who *who)
{
	struct engine_profile *p = &s->profiles[e->type];

	p->now.locks_full++;
	service_faults_of(p->faults, who->service)->lost[LOST_LOCKS_FULL]++;
}

/* Into the aggregate: a clock's ticks, or the time of a wait. */
static void
resolve_add(struct engine *s, const struct sample_event *e,
    const struct resolve_who *who, struct aggregate_stack *stack)
{
	struct thread_key key = resolve_thread_key(e);
	uint32_t number = AGGREGATE_NONE;

	if (stack->value == 0)
		return;
	if (stack->group != AGGREGATE_NONE)
		number = aggregate_add_to(s->aggregate, stack);
	if (number == AGGREGATE_NONE) {
		resolve_lose_stack(s, e, who, stack->samples);
		return;
	}
	s->profiles[e->type].now.samples += stack->samples;
	if (aggregate_get_group(s->aggregate, stack->group).by_entry)
		thread_entry_met(s->entries, &key, number);
}

/* A part of a wait, also in the time of the service that has the stack. */
static void
resolve_add_state(struct engine *s, const struct sample_event *e,
    const struct resolve_who *who, struct aggregate_stack *stack, bool whole,
    enum wait_state state)
{
	thread_time_add_to(waits_time(s->waits), who->service, state,
	    stack->value);
	stack->group = resolve_group(s, e, who, whole,
	    resolve_state_name(state));
	resolve_add(s, e, who, stack);
}

/* The last part of a wait was on the run queue. */
static void
resolve_add_wait(struct engine *s, const struct sample_event *e,
    const struct resolve_who *who, struct aggregate_stack *stack, bool whole)
{
	stack->samples = 1;
	stack->value = (int64_t)(e->value - e->wait.queued_ns);
	resolve_add_state(s, e, who, stack, whole, e->wait.reason);
	stack->samples = stack->value == 0;
	stack->value = (int64_t)e->wait.queued_ns;
	resolve_add_state(s, e, who, stack, whole, WAIT_RUN_QUEUE);
}

/* The same wait as one for a lock, if names will say that it is one; or who
 * ended it.  Behind its user frames, of which the refs begin, is the lock. */
static void
resolve_add_lock(struct engine *s, const struct sample_event *e,
    const struct resolve_who *who, uint32_t *refs, size_t n_user, bool whole)
{
	bool holder = e->wait.part == WAIT_WOKEN;
	struct aggregate_stack stack = {.frames = refs,
	    .n = (uint32_t)n_user + 1,
	    .value = (int64_t)(e->value - (holder ? 0 : e->wait.queued_ns)),
	    .samples = holder ? 1 : e->wait.ended};
	struct sample_event of;

	if (s->locks == NULL || e->wait.address == 0 ||
	    (stack.value == 0 && stack.samples == 0))
		return;
	if (!holder && e->wait.address == LATCH_ADDRESS &&
	    !locks_may_be(s, refs, n_user))
		return;
	refs[n_user] = locks_number(s, e);
	memcpy(&of, e, offsetof(struct sample_event, frames));
	of.type = locks_type(s->locks, holder ? LOCK_HOLDER : LOCK_TIME);
	if (holder && refs[n_user] == LOCKS_FULL) {
		resolve_lose_lock(s, &of, who);
		return;
	}
	stack.group = resolve_group(s, &of, who, whole, "");
	if (stack.group != AGGREGATE_NONE &&
	    aggregate_add(s->aggregate, &stack))
		s->profiles[of.type].now.samples += stack.samples;
	else
		resolve_lose_stack(s, &of, who, stack.samples);
}

/* The same of an object, with what it stands for. */
static void
resolve_lose_object(struct engine *s, const struct sample_event *e,
    const struct resolve_who *who)
{
	struct engine_profile *p = &s->profiles[e->type];
	struct objects_weight w = allocs_weigh(e);

	resolve_lose_stack(s, e, who, e->value);
	objects_add(&p->now.aggregate_full_of, w);
	objects_add(&service_faults_of(p->faults, who->service)->
	    lost_of[LOST_AGGREGATE_FULL], w);
}

/* An object that was taken, which counts as all that it stands for.  Its leaf
 * is the call, behind n frames. */
static void
resolve_add_object(struct engine *s, const struct sample_event *e,
    const struct resolve_who *who, uint32_t *refs, uint32_t n, bool whole)
{
	struct objects_weight w = allocs_weigh(e);
	struct aggregate_stack stack = {.frames = refs, .n = n + 1,
	    .value = w.bytes, .samples = e->value};
	char leaf[ALLOCS_LEAF_MAX];
	uint32_t number = AGGREGATE_NONE;

	allocs_leaf(e, leaf);
	refs[n] = resolve_named(s, FRAME_MARK, leaf);
	stack.group = resolve_group(s, e, who, whole, "");
	if (stack.group != AGGREGATE_NONE)
		number = aggregate_add_to(s->aggregate, &stack);
	if (number != AGGREGATE_NONE && objects_placed(s->allocs.objects,
	    who->p, e->object.address, w, e->time_ns, number))
		s->profiles[e->type].now.samples += e->value;
	else
		resolve_lose_object(s, e, who);
}

/* A poll may last: a sample from behind its beginning is not of the future,
 * and what is read for it is not older than it. */
static void
resolve_go_on(struct engine *s, const struct sample_event *e)
{
	int64_t now_ns;

	if ((int64_t)e->time_ns < s->now_ns)
		return;
	now_ns = clock_mono_ns();
	s->boot_ns += now_ns - s->now_ns;
	s->now_ns = now_ns;
}

void
resolve_event(struct engine *s, const struct sample_event *e, size_t size)
{
	uint32_t refs[RESOLVE_STACK_MAX];
	struct aggregate_stack stack = {.frames = refs};
	struct resolve_who who;
	size_t n_user;
	bool whole;

	resolve_go_on(s, e);
	if (s->tables != NULL && e->n_user > 0)
		unwind_tables_tick(s->tables);
	/* It may have come while the samples before it were taken: what was
	 * mapped and executed until then, it must not be named without. */
	if (s->watch != NULL)
		process_watch_until(s->watch, (int64_t)e->time_ns, s->now_ns);
	resolve_find_who(s, e, &who);
	if (e->of_object != OBJECT_NOT && !s->second.trying &&
	    allocs_see(s, e, who.p))
		return;
	resolve_want_tables(s, e, &who);
	if (second_take(s, e, size))
		return;
	stack.n = (uint32_t)resolve_stack(s, e, &who, refs, &n_user, &whole);
	if ((e->flags & EVENT_WAIT) != 0) {
		if (e->wait.part != WAIT_WOKEN)
			resolve_add_wait(s, e, &who, &stack, whole);
		resolve_add_lock(s, e, &who, refs, n_user, whole);
		return;
	}
	if (e->of_object != OBJECT_NOT) {
		resolve_add_object(s, e, &who, refs, stack.n, whole);
		return;
	}
	stack.value = (int64_t)e->value;
	stack.samples = e->value;
	stack.group = resolve_group(s, e, &who, whole,
	    resolve_memory_name(e));
	resolve_add(s, e, &who, &stack);
}

/* What was known of it, where the process is gone; else that is now. */
static void
resolve_remember(struct resolve_who *who, struct resolve_owner *owner)
{
	if (who->p == NULL && owner->known) {
		snprintf(who->service, sizeof(who->service), "%s",
		    owner->service);
		snprintf(who->comm, sizeof(who->comm), "%s", owner->comm);
		who->cgroup = owner->cgroup;
		who->instance = owner->instance;
		return;
	}
	snprintf(owner->service, sizeof(owner->service), "%s", who->service);
	owner->known = who->p != NULL;
	snprintf(owner->comm, sizeof(owner->comm), "%.15s", who->comm);
	snprintf(owner->cgroup, sizeof(owner->cgroup), "%s", who->cgroup);
	snprintf(owner->instance, sizeof(owner->instance), "%s",
	    who->instance);
}

bool
resolve_waits_for_entry(struct engine *s, const struct sample_event *e)
{
	struct thread_key key = resolve_thread_key(e);

	return thread_entry_waits(s->entries, &key);
}

void
resolve_thread(struct engine *s, const struct sample_event *e,
    const int64_t below[WAIT_STATES], const char *mark,
    struct resolve_owner *owner)
{
	struct resolve_who who;
	uint32_t ref;
	int i;

	resolve_find_who(s, e, &who);
	resolve_remember(&who, owner);
	ref = resolve_named(s, FRAME_MARK, mark);
	for (i = WAIT_ON_CPU + 1; i < WAIT_STATES; i++) {
		struct aggregate_stack stack = {.frames = &ref, .n = 1,
		    .value = below[i]};

		if (below[i] <= 0)
			continue;
		stack.group = resolve_group(s, e, &who, false,
		    resolve_state_name((enum wait_state)i));
		resolve_add(s, e, &who, &stack);
	}
}
