/*
 * Where what is kept of a thread (wait.h) is: in a place of an array, if no
 * other thread has that place, else in its task storage.  To look into an array
 * costs next to nothing, and a switch may not cost much.
 *
 * The place goes by where its stack in the kernel is, which is its own from its
 * first switch to its last; its number is another one after it has executed a
 * program without being the process's first thread.
 */
#ifndef COLLECTOR_BPF_WAIT_THREAD_BPF_H
#define COLLECTOR_BPF_WAIT_THREAD_BPF_H

#include <bpf/bpf_helpers.h>

#include "collector/bpf/wait.h"

#define WAIT_PLACES 4096 /* a power of two; 2 MB */
#define WAIT_TAKEN 1     /* a place that is being set up, no task's */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WAIT_PLACES);
	__type(key, __u32);
	__type(value, struct wait_thread);
} wait_places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wait_thread);
} wait_threads SEC(".maps");

#define STACK_SHIFT 14 /* of 16 KiB, mostly with as much between two */

static __always_inline struct wait_thread *
thread_place(const struct task_struct *task)
{
	__u64 at = pointer_number(task->stack) >> STACK_SHIFT;
	__u32 place;

	place = (at >> 1 ^ (at & 1) * (WAIT_PLACES / 2) ^ at >> 13) &
	    (WAIT_PLACES - 1);

	return bpf_map_lookup_elem(&wait_places, &place);
}

/* NULL: nothing is kept of it. */
static __always_inline struct wait_thread *
thread_of(struct task_struct *task)
{
	struct wait_thread *t;

	if ((task->flags & PF_KTHREAD) != 0)
		return 0;
	t = thread_place(task);
	if (t != 0 && t->task == (__u64)task)
		return t;
	t = bpf_task_storage_get(&wait_threads, task, 0, 0);
	return t != 0 && t->number != 0 ? t : 0;
}

/* For a task of which nothing is kept yet: with number 0, but for one that
 * another CPU has set up meanwhile.  NULL: there is no memory. */
static __always_inline struct wait_thread *
thread_take(struct task_struct *task)
{
	struct wait_thread *t = thread_place(task);
	__u64 size = sizeof(*t) - __builtin_offsetof(struct wait_thread,
	    number);

	if (t != 0 && __sync_val_compare_and_swap(&t->task, 0, WAIT_TAKEN) ==
	    0) {
		__builtin_memset(&t->number, 0, size);
		return t;
	}
	return bpf_task_storage_get(&wait_threads, task, 0,
	    BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* It is set up from now on, or it has ended. */
static __always_inline void
thread_give(struct wait_thread *t, const struct task_struct *task)
{
	barrier();
	if (t->task != 0)
		*(volatile __u64 *)&t->task = (__u64)task;
}

#endif
