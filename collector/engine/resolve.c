/*
 * From an event to a stack of references, root first:
 *
 *	[mark]  main  worker  read  | entry  do_syscall  vfs_read
 *	 why     user frames        |  kernel frames        leaf
 *	 cut
 */
#include "collector/engine/resolve.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/engine/code.h"
#include "collector/engine/engine.h"
#include "collector/engine/second.h"
#include "collector/engine/service_faults.h"
#include "collector/objects/objects.h"
#include "collector/process/lineage.h"
#include "collector/process/services.h"
#include "collector/process/thread_pool.h"
#include "collector/symbols/jit.h"
#include "collector/unwind/unwind_process.h"
#include "collector/unwind/unwind_tables.h"
#include "collector/watch/process_watch.h"
#include "store/base/clock.h"
#include "store/base/text.h"

/* With marks, and a lock. */
#define RESOLVE_STACK_MAX (EVENT_MAX_KERNEL + EVENT_MAX_USER + 3)
#define PROBE_FRAMES 8 /* at most, of BPF and tracing */
#define YOUNG_NS (300 * NS_PER_MS)
#define NEW_NS (10 * NS_PER_S) /* tables are late after it */
#define SHARED_NS (60 * NS_PER_S)     /* threads' names are read again, */
#define SHARED_MIN_NS (10 * NS_PER_S) /* sooner when there are others */

static uint32_t
resolve_named(struct engine *s, enum frame_kind kind, const char *name)
{
	return symbols_frame(s->symbols, &(struct frame){.kind = kind,
	    .name = name, .module = "", .build_id = ""});
}

/* Whose sample it is. */
struct resolve_who {
	struct process *p; /* NULL: gone before it was looked at, */
	bool told;         /* but the kernel said where it comes from */
	struct process *root; /* told: an ancestor that is known, or NULL */
	struct process *code; /* told: whose mappings are its own, or NULL */
	int64_t exec_ns;   /* told: when it executed its program, 0: never */
	const char *cgroup;
	const char *instance; /* "": of none, or not known */
	char service[sizeof(((struct process_read *)0)->service)];
	char comm[EVENT_COMM + 1]; /* of the process */
};

/* The frame of code that is in no file that can be opened. */
static uint32_t
resolve_fileless(struct engine *s, const struct maps_process *p,
    const struct mapping *map, uint64_t offset)
{
	char name[512], clean[256];
	const char *base;

	if (map->kind == MAPPING_ANONYMOUS)
		return resolve_named(s, FRAME_ADDRESS, "[anonymous code]");
	base = strrchr(maps_process_name(p, map), '/');
	snprintf(clean, sizeof(clean), "%s", base != NULL ? base + 1 :
	    maps_process_name(p, map));
	text_clean(clean);
	snprintf(name, sizeof(name), "%s+0x%llx", clean,
	    (unsigned long long)offset);
	return symbols_frame(s->symbols, &(struct frame){
	    .kind = FRAME_ADDRESS, .name = name, .module = clean,
	    .build_id = "", .offset = offset});
}

static uint32_t
resolve_user_ref(struct engine *s, struct process *own,
    struct maps_process *p, struct mapping *map, uint64_t addr)
{
	uint64_t offset = addr - map->start + map->offset;
	uint32_t ref;

	if (own != NULL && map->kind == MAPPING_ANONYMOUS &&
	    jits_ref(s->jits, &own->part[PROCESS_JIT],
	    maps_process_reader(p), addr, s->now_ns, &ref))
		return ref;
	if (!map->tried)
		code_identify(s, p, map);
	if (map->file == MAPS_NO_FILE)
		return resolve_fileless(s, p, map, offset);
	if (map->kind == MAPPING_VDSO)
		offset = addr - map->start;
	ref = symbols_user(s->symbols, map->file, offset);
	if ((ref & SYMBOLS_UNRESOLVED) != 0)
		code_offer(s, p, map);
	return ref;
}

/* A list of mappings that has just been read may be ahead of the changes that
 * were told: takes those.  True when it was read; *reads is how often that
 * was so far. */
static bool
resolve_catch_up(struct engine *s, uint64_t *reads)
{
	if (maps_reads(s->maps) == *reads)
		return false;
	*reads = maps_reads(s->maps);
	if (s->watch != NULL)
		process_watch_drain(s->watch, s->now_ns);
	return true;
}

/* A process that nobody has looked at: it has its first thread's name, which
 * the sample brings, and what else there is from where it comes from. */
static void
resolve_ask_origin(struct engine *s, const struct sample_event *e,
    struct resolve_who *who)
{
	struct lineage_origin origin;
	struct process *root;

	if (s->watch == NULL || !process_watch_origin(s->watch, (int32_t)e->pid,
	    (int64_t)e->time_ns, &origin))
		return;
	who->told = true;
	who->root = root = services_last(s->services, origin.root);
	/* Without an exec of its own it runs its ancestor's code, read there;
	 * with one, what the kernel told of that program.  Between both an
	 * ancestor that is gone too may have executed it: then the code is
	 * nobody's, but its name is known. */
	if (origin.program == 0)
		who->code = root;
	else if (origin.program == (int32_t)e->pid)
		who->exec_ns = origin.exec_ns;
	if (who->p != NULL)
		return;
	if (e->pid != e->tid)
		snprintf(who->comm, sizeof(who->comm), "%s",
		    origin.program != 0 ? origin.comm :
		    root != NULL ? root->read->comm : "");
	if (root != NULL)
		who->cgroup = root->read->cgroup;
	process_watch_name(s->watch, &origin, who->comm, who->service,
	    sizeof(who->service));
}

/* The list of mappings that a sample's addresses lie in.  A process that is
 * gone has none, but a child of a fork has its parent's until it executes a
 * program; *own: the process, unless it is that.  NULL: nobody's. */
static struct maps_process *
resolve_code(struct engine *s, const struct sample_event *e,
    struct resolve_who *who, struct process **own)
{
	struct process *of = who->p;
	struct maps_process *p = NULL;

	*own = of;
	if (of != NULL)
		p = maps_process(s->maps, of, s->now_ns);
	if (of != NULL && maps_process_list(p)->n > 0)
		return p;
	*own = NULL;
	if (!who->told) /* it ended just before its mappings were read */
		resolve_ask_origin(s, e, who);
	if (who->exec_ns != 0) {
		if (of == NULL && (of = services_missed(s->services,
		    (int32_t)e->pid, e->start_ns)) == NULL)
			return NULL;
		process_executes(of, e->exec_id);
		/* It may have ended behind what was told so far. */
		process_watch_drain(s->watch, s->now_ns);
		return maps_ended(s->maps, of, who->exec_ns,
		    who->root != NULL ? who->root->pid : 0, s->now_ns);
	}
	if (who->code == NULL)
		return p;
	return maps_process(s->maps, who->code, s->now_ns);
}

struct mapping *
resolve_mapping(struct engine *s, const struct sample_event *e,
    struct maps_process *p, uint64_t addr, uint64_t *reads,
    struct maps_process **of)
{
	struct mapping *map;

	*of = p;
	if (p == NULL)
		return NULL;
	map = maps_find(s->maps, p, addr, s->now_ns);
	if (resolve_catch_up(s, reads))
		map = maps_list_find(maps_process_list(p), addr);
	if (map != NULL && maps_held(s->maps, p, map, addr,
	    (int64_t)e->time_ns))
		return map;
	/* The sample may be younger than what was told so far. */
	if (s->watch != NULL)
		process_watch_drain(s->watch, s->now_ns);
	return maps_then(s->maps, p, addr, (int64_t)e->time_ns, of);
}

/*
 * Fills refs leaf first.  Code may be of nothing that is known, or perhaps of
 * another mapping when the sample was taken: the leaf ran there all the same,
 * and so did a caller that tables led through; its callers are what they are.
 * Else such an address is no code, and what lies behind it was read from
 * nonsense.
 */
static size_t
resolve_user_frames(struct engine *s, const struct sample_event *e,
    struct resolve_who *who, uint32_t *refs, bool *broken)
{
	uint64_t reads = maps_reads(s->maps), addr;
	bool by_tables = (e->flags & EVENT_EH_FRAME) != 0;
	struct process *own;
	struct maps_process *p = resolve_code(s, e, who, &own), *of;
	struct mapping *map;
	size_t i, n = 0;

	resolve_catch_up(s, &reads);
	for (i = 0; i < e->n_user; i++) {
		if (i == EVENT_LEAF && e->depth > EVENT_MAX_USER)
			refs[n++] = resolve_named(s, FRAME_MARK,
			    "[frames left out]");
		/* A caller's address is behind its call. */
		addr = event_frame(e, (__u32)i) - (i > 0);
		map = resolve_mapping(s, e, p, addr, &reads, &of);
		if (n == 0 && map != NULL && e->of_object != OBJECT_NOT &&
		    allocs_is_library(maps_process_name(of, map)))
			continue;
		if (map != NULL) {
			refs[n++] = resolve_user_ref(s, own, of, map, addr);
			continue;
		}
		*broken = *broken || i + 1 == e->n_user || !by_tables;
		if (i > 0 && *broken)
			break;
		refs[n++] = resolve_named(s, FRAME_MARK, "[unknown]");
	}
	return n;
}

/* Had the tables of its code no time to come?  Where a process is all that is
 * lacking, that is so when we have just begun. */
static bool
resolve_is_new(const struct engine *s, const struct sample_event *e)
{
	if (s->now_ns - s->began_ns < NEW_NS)
		return true;
	return s->tables != NULL && (e->flags & EVENT_PENDING) != 0 &&
	    e->table != UNWIND_NO_TABLE &&
	    s->now_ns - unwind_tables_met(s->tables, e->table) < NEW_NS;
}

/* What is wrong with a stack of n user frames. */
static enum broken
resolve_judge(const struct engine *s, const struct sample_event *e,
    bool known, bool no_mapping, size_t n)
{
	if ((e->flags & EVENT_KTHREAD) != 0)
		return BROKEN_NOT;
	if (e->error == BROKEN_32BIT || e->error == BROKEN_NO_MEMORY)
		return e->error;
	if (!known)
		return BROKEN_NO_PROCESS;
	if (n == 0)
		return BROKEN_NO_STACK;
	if (e->error == BROKEN_NO_TABLES || (e->flags & EVENT_PENDING) != 0)
		return resolve_is_new(s, e) ? BROKEN_NEW_CODE :
		    BROKEN_NO_TABLES;
	if (no_mapping)
		return BROKEN_NO_MAPPING;
	if ((e->flags & EVENT_TRUNCATED) != 0)
		return BROKEN_TRUNCATED;
	if ((e->flags & EVENT_EH_FRAME) != 0)
		return e->error < BROKEN_REASONS ? e->error : BROKEN_NOT;
	return n == 1 ? BROKEN_ONE_FRAME : BROKEN_NOT;
}

/* Of a wait: behind the scheduler and what took the stack in it, which is the
 * same for all of them. */
static size_t
resolve_kernel_leaf(const struct engine *s, const struct sample_event *e)
{
	size_t i = 0;

	if ((e->flags & EVENT_WAIT) == 0)
		return 0;
	while (i < e->n_kernel && i < PROBE_FRAMES &&
	    !symbols_is_scheduler(s->symbols, e->frames[i]))
		i++;
	if (i == e->n_kernel || i == PROBE_FRAMES)
		return 0;
	while (i < e->n_kernel &&
	    symbols_is_scheduler(s->symbols, e->frames[i]))
		i++;
	return i;
}

/* Kernel frames on top, root first; hidden ones in a row become one. */
static size_t
resolve_kernel_frames(struct engine *s, const struct sample_event *e,
    uint32_t *refs)
{
	size_t i, n = 0, leaf = resolve_kernel_leaf(s, e);
	uint32_t ref;

	for (i = e->n_kernel; i-- > leaf;) {
		ref = symbols_kernel(s->symbols, i == 0 ? e->frames[0] :
		    e->frames[i] - 1);
		if (n > 0 && refs[n - 1] == ref &&
		    symbols_kernel_hidden(s->symbols))
			continue;
		refs[n++] = ref;
	}
	return n;
}

/* How many samples it counts as: a wait's value is its time. */
static uint64_t
resolve_samples(const struct sample_event *e)
{
	return (e->flags & EVENT_WAIT) != 0 ? 1 : e->value;
}

/* The whole stack, root first; returns its depth.  *users: of its part before
 * the kernel's; *whole: it begins where its thread began. */
static size_t
resolve_stack(struct engine *s, const struct sample_event *e,
    struct resolve_who *who, uint32_t *refs, size_t *users, bool *whole)
{
	uint32_t user[EVENT_MAX_USER + 1];
	bool no_mapping = false, known = who->p != NULL || who->told;
	enum broken why;
	size_t n_user = 0, n = 0;

	if (known && e->n_user > 0)
		n_user = resolve_user_frames(s, e, who, user, &no_mapping);
	why = resolve_judge(s, e, known, no_mapping, n_user);
	*whole = why == BROKEN_NOT && (e->flags & EVENT_EH_FRAME) != 0;
	if (why != BROKEN_NOT) {
		s->profiles[e->type].now.broken[why] +=
		    resolve_samples(e);
		refs[n++] =
		    resolve_named(s, FRAME_MARK, broken_reasons[why].mark);
	}
	while (n_user > 0)
		refs[n++] = user[--n_user];
	*users = n;
	return n + resolve_kernel_frames(s, e, refs + n);
}

/* Threads that were never named carry the process's name. */
static bool
resolve_threads_share(struct engine *s, struct process *p)
{
	int64_t since_ns = s->now_ns - p->read->shared_ns;

	if (p->read->stat.threads < 2)
		return false;
	if (p->read->shared_ns == 0 || since_ns > SHARED_NS ||
	    (p->read->stat.threads != p->read->shared_threads &&
	    since_ns > SHARED_MIN_NS)) {
		p->read->shared = thread_pool_shared("/proc",
		    p->pid, p->read->comm);
		p->read->shared_threads = p->read->stat.threads;
		p->read->shared_ns = s->now_ns;
	}
	return p->read->shared;
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
	char pool[sizeof(comm)];
	struct aggregate_group g = {.process = process, .pool = pool,
	    .service = who->service, .cgroup = who->cgroup,
	    .instance = who->instance,
	    .reason = reason,
	    .type = e->type,
	    .period = e->period};

	snprintf(comm, sizeof(comm), "%.*s", EVENT_COMM, e->comm);
	aggregate_fold_digits(pool, sizeof(pool), comm);
	snprintf(process, sizeof(process), "%s", who->comm);
	text_clean(process);
	if ((e->flags & EVENT_KTHREAD) != 0) {
		memcpy(process, pool, sizeof(process));
		g.pool = "";
	} else if (whole && who->p != NULL &&
	    strncmp(e->comm, who->p->read->comm, EVENT_COMM - 1) == 0) {
		g.by_entry = resolve_threads_share(s, who->p);
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

static void
resolve_find_who(struct engine *s, const struct sample_event *e,
    struct resolve_who *who)
{
	struct process *p = services_process(s->services, (int32_t)e->pid,
	    e->start_ns);

	*who = (struct resolve_who){.p = p,
	    .cgroup = p != NULL ? p->read->cgroup : "",
	    .instance = p != NULL ? p->read->instance : ""};
	if (p != NULL)
		process_executes(p, e->exec_id);
	if (p != NULL)
		snprintf(who->comm, sizeof(who->comm), "%s", p->read->comm);
	else
		snprintf(who->comm, sizeof(who->comm), "%.*s", EVENT_COMM,
		    e->comm);
	snprintf(who->service, sizeof(who->service), "%s",
	    p != NULL ? p->read->service : RESOLVE_EXITED);
	if ((e->flags & EVENT_KTHREAD) == 0 && p == NULL)
		resolve_ask_origin(s, e, who);
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

/* Into the aggregate: a clock's ticks, or the time of a wait. */
static void
resolve_add(struct engine *s, const struct sample_event *e,
    const struct resolve_who *who, struct aggregate_stack *stack)
{
	if (stack->value == 0)
		return;
	if (stack->group != AGGREGATE_NONE &&
	    aggregate_add(s->aggregate, stack))
		s->profiles[e->type].now.samples += stack->samples;
	else
		resolve_lose_stack(s, e, who, stack->samples);
}

/* The last part of a wait was on the run queue. */
static void
resolve_add_wait(struct engine *s, const struct sample_event *e,
    const struct resolve_who *who, struct aggregate_stack *stack, bool whole)
{
	enum wait_state reason = e->wait.reason;

	stack->samples = 1;
	stack->value = (int64_t)(e->value - e->wait.queued_ns);
	stack->group = resolve_group(s, e, who, whole,
	    resolve_state_name(reason));
	resolve_add(s, e, who, stack);
	stack->samples = stack->value == 0;
	stack->value = (int64_t)e->wait.queued_ns;
	stack->group = resolve_group(s, e, who, whole,
	    resolve_state_name(WAIT_RUN_QUEUE));
	resolve_add(s, e, who, stack);
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
	refs[n_user] = locks_number(s, e);
	memcpy(&of, e, offsetof(struct sample_event, frames));
	of.type = locks_type(s->locks, holder ? LOCK_HOLDER : LOCK_TIME);
	stack.group = resolve_group(s, &of, who, whole, "");
	if (stack.group != AGGREGATE_NONE &&
	    aggregate_add(s->aggregate, &stack))
		s->profiles[of.type].now.samples += stack.samples;
	else
		resolve_lose_stack(s, &of, who, stack.samples);
}

/* An object that was taken, which counts as all that it stands for.  Its leaf
 * is the call, behind n frames. */
static void
resolve_add_object(struct engine *s, const struct sample_event *e,
    const struct resolve_who *who, uint32_t *refs, uint32_t n, bool whole)
{
	struct objects_weight w = objects_weigh(e->object.bytes, e->value);
	struct aggregate_stack stack = {.frames = refs, .n = n + 1,
	    .value = w.bytes, .samples = 1};
	char leaf[ALLOCS_LEAF_MAX];
	uint32_t number = AGGREGATE_NONE;

	allocs_leaf(e, leaf);
	refs[n] = resolve_named(s, FRAME_MARK, leaf);
	stack.group = resolve_group(s, e, who, whole, "");
	if (stack.group != AGGREGATE_NONE)
		number = aggregate_add_to(s->aggregate, &stack);
	if (number != AGGREGATE_NONE && objects_placed(s->allocs.objects,
	    who->p, e->object.address, w, e->time_ns, number))
		s->profiles[e->type].now.samples++;
	else
		resolve_lose_stack(s, e, who, 1);
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
