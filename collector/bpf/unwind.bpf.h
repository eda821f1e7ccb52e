/*
 * The stack walker of the BPF programs: the maps of unwind.h and the loop
 * around unwind_step().  A program includes this, has a slot of the scratch
 * map of its own (a timer's interrupt may come in the middle of a uprobe's
 * program), fills s->walk and calls unwind_user().
 */
#ifndef COLLECTOR_BPF_UNWIND_BPF_H
#define COLLECTOR_BPF_UNWIND_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define UNWIND_INLINE static __always_inline
#define unwind_read_user(to, n, address) \
	bpf_probe_read_user(to, n, (const void *)(address))

#include "collector/bpf/stride.h"
#include "collector/bpf/unwind_step.h"

/* A slot of the scratch map for each kind of program: those of perf events
 * never run within each other on one CPU. */
enum unwind_slot {
	UNWIND_SLOT_PERF,
	UNWIND_SLOT_WAIT, /* of switches: they do not nest either, */
	UNWIND_SLOT_WAKE, /* nor do wake-ups */
	UNWIND_SLOT_ALLOC, /* of probes in programs: one may take the CPU from
	                    * another, */
	UNWIND_SLOT_ALLOC_2, /* hardly ever from two */
	UNWIND_SLOTS
};

/*
 * What is known of a thread for a second, so that its next samples need not
 * gather it from all over the kernel's structures: a change of its name or
 * its cgroup is seen within that time.
 */
struct unwind_thread {
	__u64 mm; /* the kernel's address: another image, another memory */
	__u32 tid, now_s;
	__u64 cgroup, start_ns;
	__u32 generation;        /* of the lists of mappings; 0: none known */
	__u32 first, n_mappings;
	__u64 trampoline;
};

struct unwind_scratch {
	struct unwind_state walk;
	struct unwind_thread threads[UNWIND_KEEPERS];
	/* Each copy takes some of the time behind it: of processes that are
	 * known, and of new ones. */
	__u64 copies_ns, copies_new_ns;
	__u64 stack_end; /* of this sample's thread: no copy goes farther */
	struct stride stride;
	__u32 deep; /* a copy of this sample may be large */
	__u32 busy; /* a program of the ALLOC slots has it */
	struct sample_event event;
};

/* Counted up by the daemon behind each change of unwind_processes; never
 * 0. */
volatile __u32 unwind_generation = 1;

/* Samples of user stacks that the daemon has seen: the clock of regions. */
volatile __u32 unwind_tick = 1;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, UNWIND_SLOTS);
	__type(key, __u32);
	__type(value, struct unwind_scratch);
} scratch SEC(".maps");

/* The daemon makes as many as are needed. */
struct unwind_chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << UNWIND_CHUNK_SHIFT);
	__type(key, __u32);
	__type(value, __u64);
};

/* The sizes of these five are set by the daemon. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct unwind_chunk);
} unwind_chunks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_region);
} unwind_regions SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_mapping);
} unwind_mappings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_table);
} unwind_tables SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_process);
} unwind_processes SEC(".maps");

UNWIND_INLINE const void *
unwind_chunk(__u32 i)
{
	return bpf_map_lookup_elem(&unwind_chunks, &i);
}

UNWIND_INLINE const __u64 *
unwind_cell(const void *chunk, __u32 i)
{
	return bpf_map_lookup_elem((void *)chunk, &i);
}

UNWIND_INLINE struct unwind_region *
unwind_region(__u32 i)
{
	return bpf_map_lookup_elem(&unwind_regions, &i);
}

UNWIND_INLINE const struct unwind_mapping *
unwind_mapping(__u32 i)
{
	return bpf_map_lookup_elem(&unwind_mappings, &i);
}

UNWIND_INLINE const struct unwind_table *
unwind_table(__u32 i)
{
	return bpf_map_lookup_elem(&unwind_tables, &i);
}

UNWIND_INLINE __u64
unwind_original(struct unwind_state *s)
{
	struct return_instance *r = (void *)s->instance;

	if (r == 0)
		return 0;
	s->instance = (__u64)BPF_CORE_READ(r, next);
	return BPF_CORE_READ(r, orig_ret_vaddr);
}

/* Few processes have uretprobes, and few kernels are built without. */
static __always_inline __u64
unwind_trampoline(struct task_struct *task, struct mm_struct *mm)
{
	struct xol_area *area = 0;

	if (bpf_core_field_exists(task->utask) && mm != 0)
		area = BPF_CORE_READ(mm, uprobes_state.xol_area);
	return area != 0 ? BPF_CORE_READ(area, vaddr) : 0;
}

static __always_inline void
unwind_find_hidden(struct unwind_state *s, struct task_struct *task)
{
	struct uprobe_task *utask;
	__u64 in_copy;

	s->instance = 0;
	s->stepped = 0;
	if (s->trampoline == 0 || !bpf_core_field_exists(task->utask))
		return;
	utask = BPF_CORE_READ(task, utask);
	if (utask == 0)
		return;
	s->instance = (__u64)BPF_CORE_READ(utask, return_instances);
	in_copy = s->ip - BPF_CORE_READ(utask, xol_vaddr);
	if (in_copy < 128)
		s->stepped = BPF_CORE_READ(utask, vaddr) + in_copy;
}

/* One frame: notes where it is, goes to its caller.  The scratch map is
 * looked up anew, since no pointer outlives a call of the loop. */
static long
unwind_frame(__u32 i, void *slot)
{
	__u32 which = *(__u32 *)slot, n, at;
	struct unwind_scratch *s = bpf_map_lookup_elem(&scratch, &which);

	if (s == 0)
		return 1;
	at = s->event.n_kernel & EVENT_MAX_KERNEL;
	if (i >= EVENT_DEPTH) {
		s->event.flags |= EVENT_TRUNCATED;
		return 1;
	}
	n = event_place(i);
	s->event.frames[at + (n & 127)] = unwind_noted(&s->walk, i);
	s->walk.depth = i + 1;
	return unwind_step(&s->walk);
}

/* The process's entry; that of its parent serves as long as it is the same
 * image, which makes children of a fork known at once. */
static __always_inline struct unwind_process *
unwind_process(struct task_struct *task, __u32 pid, __u64 image)
{
	struct unwind_process *p;
	__u32 parent;

	p = bpf_map_lookup_elem(&unwind_processes, &pid);
	if (p != 0 && p->image == image)
		return p;
	parent = (__u32)BPF_CORE_READ(task, group_leader, real_parent, tgid);
	p = bpf_map_lookup_elem(&unwind_processes, &parent);
	return p != 0 && p->image == image ? p : 0;
}

static __always_inline __u64
unwind_task_image(struct mm_struct *mm)
{
	if (mm == 0)
		return 0;
	return unwind_image(mm->start_code, mm->end_code, mm->start_stack);
}

/* False while a thread ends, for its memory goes first, and while it executes
 * another program: the new memory is there, its code and its stack are not,
 * and the registers are the old program's. */
static __always_inline bool
unwind_has_program(struct mm_struct *mm)
{
	return mm != 0 && mm->start_code != 0;
}

/* Finds the process's list of mappings; false when it has none. */
static __always_inline bool
unwind_find_process(struct unwind_scratch *s, struct unwind_thread *t,
    struct task_struct *task, struct mm_struct *mm)
{
	__u32 generation = unwind_generation; /* before the look */
	struct unwind_process *p;
	__u64 image;

	if (t->generation == generation)
		return 1;
	t->generation = 0;
	image = unwind_task_image(mm);
	p = image != 0 ? unwind_process(task, s->event.pid, image) : 0;
	if (p == 0)
		return 0;
	if (p->used_s != t->now_s)
		p->used_s = t->now_s;
	t->first = p->first;
	t->n_mappings = p->n;
	t->trampoline = unwind_trampoline(task, mm);
	t->generation = generation;
	return 1;
}

/* The walk itself.  A function of its own for the verifier, which goes once
 * through it, not once for each way by which a sample comes here. */
__noinline int
unwind_walk(__u32 slot)
{
	struct unwind_scratch *s = bpf_map_lookup_elem(&scratch, &slot);

	if (s == 0)
		return 0;
	unwind_keep_begin(&s->walk, s->event.tid);
	if (unwind_begin(&s->walk) == 0)
		bpf_loop(EVENT_DEPTH + 1, unwind_frame, &slot, 0);
	unwind_keep_end(&s->walk, s->event.tid);
	return 0;
}

/*
 * Walks from the registers in s->walk to the event's user frames.  False
 * when the process has no tables: nothing was walked.
 */
static __always_inline bool
unwind_user(struct unwind_scratch *s, struct unwind_thread *t, __u32 slot,
    struct task_struct *task, struct mm_struct *mm)
{
	__u32 depth;

	if (!unwind_find_process(s, t, task, mm))
		return 0;
	s->walk.first = t->first;
	s->walk.n = t->n_mappings;
	s->walk.now_s = t->now_s;
	s->walk.tick = unwind_tick;
	s->walk.trampoline = t->trampoline;
	s->deep = slot == UNWIND_SLOT_PERF;
	s->walk.bottom = s->walk.sp;
	s->walk.is_caller = 0;
	s->walk.error = BROKEN_NOT;
	s->walk.pending = 0;
	s->walk.depth = 0;
	s->walk.guessed = BROKEN_NOT;
	unwind_find_hidden(&s->walk, task);
	unwind_walk(slot);
	depth = s->walk.depth;
	s->event.depth = depth;
	s->event.n_user = depth < EVENT_MAX_USER ? depth : EVENT_MAX_USER;
	s->event.error = s->walk.error;
	s->event.flags |= EVENT_EH_FRAME;
	if (s->walk.pending) {
		s->event.flags |= EVENT_PENDING;
		s->event.lacks = event_place(s->walk.lacking.frame);
		s->event.table = s->walk.lacking.table;
		s->event.offset = s->walk.lacking.offset;
	}
	return 1;
}

#endif
