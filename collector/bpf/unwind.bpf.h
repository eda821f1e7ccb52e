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

#include "unwind_step.h"

/* A slot of the scratch map for each type of program. */
enum unwind_slot {
	UNWIND_SLOT_CPU,
	UNWIND_SLOTS
};

struct unwind_scratch {
	struct unwind_state walk;
	struct sample_event event;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, UNWIND_SLOTS);
	__type(key, __u32);
	__type(value, struct unwind_scratch);
} scratch SEC(".maps");

/* The sizes of these four are set by the daemon; see unwind_tables.c. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} unwind_cells SEC(".maps");

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

UNWIND_INLINE const __u64 *
unwind_cell(__u32 i)
{
	return bpf_map_lookup_elem(&unwind_cells, &i);
}

UNWIND_INLINE const struct unwind_mapping *
unwind_mapping(__u32 i)
{
	return bpf_map_lookup_elem(&unwind_mappings, &i);
}

UNWIND_INLINE struct unwind_table *
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
static __always_inline void
unwind_find_trampoline(struct unwind_state *s, struct task_struct *task)
{
	struct xol_area *area = 0;
	struct uprobe_task *utask;
	__u64 in_copy;

	s->trampoline = 0;
	s->instance = 0;
	s->stepped = 0;
	if (bpf_core_field_exists(task->utask))
		area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);
	if (area == 0)
		return;
	s->trampoline = BPF_CORE_READ(area, vaddr);
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
	n = s->event.n_user;
	at = s->event.n_kernel & EVENT_MAX_KERNEL;
	if (n >= EVENT_MAX_USER) {
		s->event.flags |= EVENT_TRUNCATED;
		return 1;
	}
	s->event.frames[at + n] = s->walk.ip;
	s->event.n_user = n + 1;
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
	parent = BPF_CORE_READ(task, group_leader, real_parent, tgid);
	p = bpf_map_lookup_elem(&unwind_processes, &parent);
	return p != 0 && p->image == image ? p : 0;
}

static __always_inline __u64
unwind_task_image(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	if (mm == 0)
		return 0;
	return unwind_image(BPF_CORE_READ(mm, start_code),
	    BPF_CORE_READ(mm, end_code), BPF_CORE_READ(mm, start_stack));
}

/*
 * Walks from the registers in s->walk to the event's user frames.  False
 * when the process has no tables: nothing was walked.
 */
static __always_inline bool
unwind_user(struct unwind_scratch *s, __u32 slot, struct task_struct *task)
{
	__u64 image = unwind_task_image(task);
	struct unwind_process *p;

	p = image != 0 ? unwind_process(task, s->event.pid, image) : 0;
	if (p == 0)
		return 0;
	s->walk.first = p->first;
	s->walk.n = p->n;
	s->walk.start = 0;
	s->walk.end = 0;
	s->walk.now_s = s->event.time_ns / 1000000000;
	s->walk.is_caller = 0;
	s->walk.error = EVENT_OK;
	s->walk.pending = 0;
	s->walk.guessed = 0;
	unwind_find_trampoline(&s->walk, task);
	if (p->used_s != s->walk.now_s)
		p->used_s = s->walk.now_s;
	if (unwind_begin(&s->walk) == 0)
		bpf_loop(EVENT_MAX_USER + 1, unwind_frame, &slot, 0);
	s->event.error = s->walk.error;
	s->event.flags |= EVENT_EH_FRAME;
	if (s->walk.pending)
		s->event.flags |= EVENT_PENDING;
	return 1;
}

#endif
