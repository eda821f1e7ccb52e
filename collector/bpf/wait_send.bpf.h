/*
 * What the probe of waits (wait.bpf.c) sends through the ring: a wait with the
 * stack of the thread that runs, or without one, of any thread.
 */
#ifndef COLLECTOR_BPF_WAIT_SEND_BPF_H
#define COLLECTOR_BPF_WAIT_SEND_BPF_H

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "collector/bpf/sample.bpf.h"
#include "collector/bpf/wait_futex.bpf.h"
#include "collector/bpf/wait_sweep.h"

/* Set by the daemon at any time. */
volatile __u64 wait_threshold_ns SEC(".data.wait") = 1000000;
volatile __u64 wait_idle_ns SEC(".data.wait") = 1000000; /* >= that */

/* The wait that has just ended on a CPU, and what it may spend. */
struct wait_cpu {
	__u32 tid; /* 0: none, or not a long one */
	__u16 reason;
	__u16 idle; /* wait_is_idle() */
	__u64 since_ns, came_ns; /* the latter 0: it goes on */
	__u64 queued_ns, run_delay, thread;
	__u64 spent_ns; /* each stack takes LEAVE_NS of the time behind it */
	__u64 switches;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAIT_ENDS);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* mostly empty */
	__type(key, __u64); /* the thread's number */
	__type(value, struct wait_end);
} wait_ends SEC(".maps");

/* An event that says nothing yet but whose it is. */
static __always_inline void
fill_thread(struct sample_event *e, struct task_struct *task)
{
	__builtin_memset(e, 0, __builtin_offsetof(struct sample_event,
	    frames));
	e->pid = task->tgid;
	e->tid = task->pid;
	e->start_ns = task->group_leader->start_boottime;
	e->exec_id = (__u32)task->self_exec_id;
	e->type = profile_type;
	e->period = 1;
	e->table = UNWIND_NO_TABLE;
	bpf_probe_read_kernel(e->comm, sizeof(e->comm), task->comm);
}

/* What an event of a wait says besides its stack. */
static __always_inline void
fill_wait(struct sample_event *e, const struct wait_cpu *w, __u8 part)
{
	e->flags |= EVENT_WAIT | EVENT_IN_KERNEL;
	if (w->came_ns != 0) {
		e->time_ns = w->came_ns;
		e->value = w->came_ns - w->since_ns;
	} else {
		e->value = e->time_ns - w->since_ns;
	}
	e->wait.thread = w->thread;
	e->wait.queued_ns = w->queued_ns;
	e->wait.part = part;
	e->wait.reason = (__u8)w->reason;
	e->wait.address = 0;
	e->wait.pid = 0;
	e->wait.operation = 0;
	e->wait.ended = 0;
}

/* The kernel's part begins where it went to sleep: not with this program. */
static __always_inline void
fill_kernel(struct sample_event *e, void *ctx)
{
	long n;

	if (!kernel_stacks)
		return;
	n = bpf_get_stack(ctx, e->frames, EVENT_MAX_KERNEL * sizeof(__u64),
	    WAIT_SKIP);
	if (n > 0)
		e->n_kernel = (n / sizeof(__u64)) & EVENT_MAX_KERNEL;
}

/* From which length on the stack of a wait is taken. */
static __always_inline __u64
threshold_of(bool idle)
{
	return idle ? wait_idle_ns : wait_threshold_ns;
}

/* Has it a signal to take before it returns to its program? */
static __always_inline bool
is_interrupted(const struct task_struct *task)
{
	unsigned long all = task->pending.signal.sig[0] |
	    task->signal->shared_pending.signal.sig[0];

	return (all & ~task->blocked.sig[0]) != 0;
}

/* Sends the current thread's stack. */
static __always_inline void
send_stack(void *ctx, struct wait_cpu *w, __u8 part)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 type = profile_type, slot = UNWIND_SLOT_WAIT;
	struct sample_counts *c = bpf_map_lookup_elem(&counters, &type);
	struct unwind_scratch *s = bpf_map_lookup_elem(&scratch, &slot);
	struct task_struct *task;
	struct mm_struct *mm;
	struct unwind_thread *t;
	__u64 began_ns = bpf_ktime_get_ns();
	struct pt_regs *regs;

	if (c == 0 || s == 0)
		return;
	c->n[COUNT_RUNS]++;
	if (w->came_ns != 0 && !ring_has_room_for(w->came_ns - w->since_ns,
	    threshold_of(w->idle))) {
		c->n[COUNT_RING_FULL]++;
		return;
	}
	s->event.time_ns = began_ns;
	task = (void *)bpf_get_current_task_btf();
	mm = memory_of(task);
	t = &s->threads[id & (UNWIND_KEEPERS - 1)];
	fill_task(&s->event, t, task, mm, id);
	fill_wait(&s->event, w, part);
	fill_kernel(&s->event, ctx);
	regs = (void *)bpf_task_pt_regs((void *)task);
	if (regs->cs == USER32_CS)
		s->event.error = BROKEN_32BIT;
	fill_futex(&s->event.wait, regs);
	if (w->reason == WAIT_POLL)
		s->event.wait.operation = is_interrupted(task);
	fill_registers(&s->walk, regs);
	fill_user(s, t, slot, task, mm, ctx, c);
	send(s, c, 1);
	began_ns = bpf_ktime_get_ns() - began_ns;
	c->n[COUNT_NS] += began_ns;
	if (w->idle)
		c->n[COUNT_IDLE_NS] += began_ns;
}

/* An event without frames, of any thread; with its sums, where there are. */
static __always_inline void
send_short(struct task_struct *task, const struct wait_cpu *w,
    const struct wait_thread *sums, __u64 now_ns, __u8 part)
{
	__u32 type = profile_type, slot = UNWIND_SLOT_WAIT;
	struct unwind_scratch *s = bpf_map_lookup_elem(&scratch, &slot);
	struct sample_counts *c = bpf_map_lookup_elem(&counters, &type);
	__u64 size = __builtin_offsetof(struct sample_event, frames);
	struct sample_event *e;

	if (s == 0 || c == 0)
		return;
	e = &s->event;
	fill_thread(e, task);
	e->time_ns = now_ns;
	fill_wait(e, w, part);
	if (sums != 0) {
		__builtin_memcpy(e->frames, &sums->sums, sizeof(sums->sums));
		size += sizeof(sums->sums);
	}
	c->n[COUNT_RUNS]++;
	if (bpf_ringbuf_output(&ring, e, size, BPF_RB_NO_WAKEUP) == 0 ||
	    (part == WAIT_DIED && bpf_map_update_elem(&wait_ends, &w->thread, e,
	    BPF_ANY) == 0))
		c->n[COUNT_SENT]++;
	else
		c->n[COUNT_RING_FULL]++;
}

#endif
