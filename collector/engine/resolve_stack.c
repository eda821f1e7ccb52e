/*
 * The stack of an event in references, root first:
 *
 *	[mark]  main  worker  read  | entry  do_syscall  vfs_read
 *	 why     user frames        |  kernel frames        leaf
 *	 cut
 */
#include <stdio.h>
#include <string.h>

#include "collector/engine/code.h"
#include "collector/engine/engine.h"
#include "collector/engine/resolve.h"
#include "collector/process/lineage.h"
#include "collector/process/services.h"
#include "collector/symbols/jit.h"
#include "collector/unwind/unwind_tables.h"
#include "collector/watch/process_watch.h"
#include "store/base/clock.h"
#include "store/base/text.h"

#define PROBE_FRAMES 8 /* at most, of BPF and tracing */
#define NEW_NS (10 * NS_PER_S) /* tables are late after it */

uint32_t
resolve_named(struct engine *s, enum frame_kind kind, const char *name)
{
	return symbols_frame(s->symbols, &(struct frame){.kind = kind,
	    .name = name, .module = "", .build_id = ""});
}

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

void
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

/* Are a process's mappings of the program that the sample is of, as far as one
 * can know?  If not, whose they were is asked for. */
static bool
resolve_is_code(struct engine *s, const struct sample_event *e,
    struct resolve_who *who, const struct maps_process *p)
{
	if (maps_process_list(p)->n == 0)
		return false;
	if (who->next_ns == 0 || maps_process_read(p) < who->next_ns)
		return true;
	resolve_ask_origin(s, e, who);
	return who->code == NULL;
}

struct maps_process *
resolve_code(struct engine *s, const struct sample_event *e,
    struct resolve_who *who, struct process **own)
{
	struct process *of = who->p;
	struct maps_process *p = NULL;

	*own = of;
	if (of != NULL)
		p = maps_process(s->maps, of, s->now_ns);
	if (of != NULL && resolve_is_code(s, e, who, p))
		return p;
	*own = NULL;
	if (!who->told) /* it ended just before its mappings were read */
		resolve_ask_origin(s, e, who);
	if (who->exec_ns != 0) {
		if (of == NULL && (of = services_missed(s->services,
		    (int32_t)e->pid, e->start_ns)) == NULL)
			return NULL;
		process_executes(of, e->exec_id);
		if (!of->gone && who->next_ns != 0)
			return maps_process(s->maps, of, s->now_ns);
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

/* What is known of where the user frames end. */
struct resolve_end {
	bool strange; /* in what is no code, or led through it */
	bool known;   /* else: in code of a mapping, */
	int64_t seen_ns; /* which was known from then on */
	bool replaced;   /* in place of another program's or library's, of
	                  * which the rows may have been */
};

/* Has the code at an address taken another's place a moment before the sample,
 * in the same program?  Walked by the rows of that one, a stack may end
 * anywhere. */
static bool
resolve_is_replaced(struct engine *s, const struct sample_event *e,
    const struct maps_process *p, uint64_t addr)
{
	int64_t at_ns = p != NULL ? maps_replaced(s->maps, p, addr,
	    (int64_t)e->time_ns) : 0, exec_ns;

	if (at_ns == 0 || s->watch == NULL)
		return at_ns != 0;
	exec_ns = process_watch_next_exec(s->watch, (int32_t)e->pid, at_ns);
	return exec_ns == 0 || exec_ns > (int64_t)e->time_ns;
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
    struct resolve_who *who, uint32_t *refs, struct resolve_end *end)
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
		end->known = map != NULL && map->kind != MAPPING_SPECIAL;
		end->seen_ns = map != NULL ? map->seen_ns : 0;
		if (n == 0 && map != NULL && e->of_object != OBJECT_NOT &&
		    allocs_is_library(maps_process_name(of, map)))
			continue;
		if (map != NULL) {
			refs[n++] = resolve_user_ref(s, own, of, map, addr);
			continue;
		}
		end->strange = end->strange || i + 1 == e->n_user ||
		    !by_tables;
		if (i > 0 && end->strange)
			break;
		refs[n++] = resolve_named(s, FRAME_MARK, "[unknown]");
	}
	if (by_tables && e->n_user > 0)
		end->replaced = resolve_is_replaced(s, e, p, event_frame(e,
		    e->n_user - 1u) - (e->n_user > 1));
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

/* Where a walk by tables ended.  Code of a mapping that the walker did not know
 * is known by now: its tables came late. */
static enum broken
resolve_judge_walk(const struct engine *s, const struct sample_event *e,
    const struct resolve_end *end)
{
	if (e->error == BROKEN_NO_MAPPING && end->known)
		return s->now_ns - end->seen_ns < NEW_NS ? BROKEN_NEW_CODE :
		    BROKEN_NO_TABLES;
	if (e->error != BROKEN_NOT && e->error < BROKEN_REASONS)
		return e->error;
	return end->strange ? BROKEN_NO_MAPPING :
	    end->replaced ? BROKEN_NEW_CODE : BROKEN_NOT;
}

/* What is wrong with a stack of n user frames; those of our library that were
 * walked are none of it. */
static enum broken
resolve_judge(const struct engine *s, const struct sample_event *e,
    bool known, const struct resolve_end *end, size_t n)
{
	if ((e->flags & EVENT_KTHREAD) != 0)
		return BROKEN_NOT;
	if (e->error == BROKEN_32BIT || e->error == BROKEN_NO_MEMORY)
		return e->error;
	if (!known)
		return BROKEN_NO_PROCESS;
	if (e->n_user == 0)
		return BROKEN_NO_STACK;
	if (e->error == BROKEN_NO_TABLES || (e->flags & EVENT_PENDING) != 0)
		return resolve_is_new(s, e) ? BROKEN_NEW_CODE :
		    BROKEN_NO_TABLES;
	if ((e->flags & EVENT_EH_FRAME) != 0 &&
	    (e->flags & EVENT_TRUNCATED) == 0)
		return resolve_judge_walk(s, e, end);
	if (end->strange)
		return BROKEN_NO_MAPPING;
	if ((e->flags & EVENT_TRUNCATED) != 0)
		return BROKEN_TRUNCATED;
	return n <= 1 ? BROKEN_ONE_FRAME : BROKEN_NOT;
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
		    e->frames[i] - 1, (int64_t)e->time_ns);
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

/* A stack may lack the kernel's callers besides: it counts once, by the mark
 * that is next to its root, so that reasons add up to stacks. */
static void
resolve_count_broken(struct engine *s, const struct sample_event *e,
    enum broken why)
{
	if (why == BROKEN_NOT && e->kernel_cut)
		why = BROKEN_KERNEL;
	if (why != BROKEN_NOT)
		s->profiles[e->type].now.broken[why] += resolve_samples(e);
}

static uint32_t
resolve_mark(struct engine *s, enum broken why)
{
	return resolve_named(s, FRAME_MARK, broken_reasons[why].mark);
}

size_t
resolve_stack(struct engine *s, const struct sample_event *e,
    struct resolve_who *who, uint32_t *refs, size_t *users, bool *whole)
{
	uint32_t user[EVENT_MAX_USER + 1];
	bool known = who->p != NULL || who->told;
	struct resolve_end end = {0};
	enum broken why;
	size_t n_user = 0, n = 0;

	if (known && e->n_user > 0)
		n_user = resolve_user_frames(s, e, who, user, &end);
	why = resolve_judge(s, e, known, &end, n_user);
	*whole = why == BROKEN_NOT && (e->flags & EVENT_EH_FRAME) != 0;
	resolve_count_broken(s, e, why);
	if (why != BROKEN_NOT)
		refs[n++] = resolve_mark(s, why);
	while (n_user > 0)
		refs[n++] = user[--n_user];
	*users = n;
	if (e->kernel_cut)
		refs[n++] = resolve_mark(s, BROKEN_KERNEL);
	return n + resolve_kernel_frames(s, e, refs + n);
}
