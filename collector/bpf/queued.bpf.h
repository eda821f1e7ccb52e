/*
 * How long a thread that comes to a CPU was ready to run before: on all run
 * queues that it has been on since it left its last CPU.  The scheduler may
 * move it from one to the other; it sums what is over of that, and says of the
 * last queue only since when the thread is there.  So the sum is kept as the
 * thread leaves:
 *
 *	leaves  run_delay ──► its place
 *	comes   run_delay + (clock - last_queued) - what is there
 *
 * Places are found by a hash of where the task is: its number is another one
 * after it has executed a program without being the process's first thread.  A
 * thread that had none, as one that left before the probe was there, has the
 * last queue alone.
 */
#ifndef COLLECTOR_BPF_QUEUED_BPF_H
#define COLLECTOR_BPF_QUEUED_BPF_H

#include <bpf/bpf_helpers.h>

#define TASK_SHIFT 6 /* no two begin in one line of the cache */
#define QUEUED_PLACES 16384 /* a power of two; 256 KB */
#define QUEUED_WAYS 4

struct queued_place {
	__u64 task; /* 0: free */
	__u64 run_delay;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, QUEUED_PLACES); /* or 1: nobody asks */
	__type(key, __u32);
	__type(value, struct queued_place);
} queued_places SEC(".maps");

static __always_inline struct queued_place *
queued_at(__u64 task, __u32 way)
{
	__u32 hash = (__u32)(task >> TASK_SHIFT) * 0x9e3779b1U >> 16;
	__u32 i = (hash + way) & (QUEUED_PLACES - 1);

	return bpf_map_lookup_elem(&queued_places, &i);
}

static __always_inline struct queued_place *
queued_find(__u64 task)
{
	struct queued_place *q;
	__u32 i;

	for (i = 0; i < QUEUED_WAYS; i++) {
		q = queued_at(task, i);
		if (q != 0 && q->task == task)
			return q;
	}
	return 0;
}

static __always_inline struct queued_place *
queued_claim(__u64 task)
{
	struct queued_place *q;
	__u32 i;

	for (i = 0; i < QUEUED_WAYS; i++) {
		q = queued_at(task, i);
		if (q != 0 && q->task == 0 &&
		    __sync_val_compare_and_swap(&q->task, 0, task) == 0)
			return q;
	}
	return 0;
}

/* `ends`: it does not come back. */
static __always_inline void
queued_leaves(const struct task_struct *task, bool ends)
{
	__u64 at = pointer_number(task);
	struct queued_place *q = queued_find(at);

	if (q != 0 && ends) {
		*(volatile __u64 *)&q->task = 0;
		return;
	}
	if (q == 0 && !ends)
		q = queued_claim(at);
	if (q != 0)
		q->run_delay = task->sched_info.run_delay;
}

/* In ns, at `clock` of its CPU's scheduler (wait_clock.bpf.h). */
static __always_inline __u64
queued_comes(const struct task_struct *task, __u64 clock)
{
	const struct queued_place *q = queued_find(pointer_number(task));
	__u64 queued = task->sched_info.last_queued;
	__u64 before = task->sched_info.run_delay, ns;

	ns = clock > queued ? clock - queued : 0;
	if (task->sched_info.pcount == 0)
		return ns + before; /* its first time */
	return q == 0 || q->run_delay > before ? ns :
	    ns + before - q->run_delay;
}

#endif
