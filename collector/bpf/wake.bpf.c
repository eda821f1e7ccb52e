/*
 * The probe of wakers: whoever ends another thread's long wait for a futex, or
 * for a latch, sends its stack, and how long that one has waited.  A wait for
 * a latch is no idle one from then on (wait_is_idle()).
 *
 * It runs at each wake-up of the host, so it looks first at what is kept of
 * the woken thread (wait.h), and at all else only where that may wait for a
 * lock.  Scheduler's locks are held meanwhile: nothing here may sleep or wake.
 */
#include "collector/bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "collector/bpf/sample.bpf.h"
#include "collector/bpf/wait_futex.bpf.h"
#include "collector/bpf/wait_thread.bpf.h" /* maps of wait.bpf.c */

/* Set by the daemon at any time. */
volatile __u64 wake_threshold_ns SEC(".data.wake") = 1000000;

static __always_inline void
send_waker(void *ctx, struct task_struct *waker, struct pt_regs *regs,
    const struct wait_event *of, __u64 wait_ns)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 type = profile_type, slot = UNWIND_SLOT_WAKE;
	struct sample_counts *c = bpf_map_lookup_elem(&counters, &type);
	struct unwind_scratch *s = bpf_map_lookup_elem(&scratch, &slot);
	__u64 began_ns = bpf_ktime_get_ns();
	struct unwind_thread *t;
	struct mm_struct *mm = memory_of(waker);

	if (c == 0 || s == 0)
		return;
	c->n[COUNT_RUNS]++;
	if (!ring_has_room_for(wait_ns, wake_threshold_ns)) {
		c->n[COUNT_RING_FULL]++;
		return;
	}
	s->event.time_ns = began_ns;
	t = &s->threads[id & (UNWIND_KEEPERS - 1)];
	fill_task(&s->event, t, waker, mm, id);
	s->event.flags |= EVENT_WAIT | EVENT_IN_KERNEL;
	s->event.value = wait_ns;
	s->event.wait = *of;
	fill_registers(&s->walk, regs);
	fill_user(s, t, slot, waker, mm, ctx, c);
	send(s, c, 1);
	c->n[COUNT_NS] += bpf_ktime_get_ns() - began_ns;
}

/* Does the waker, in a system call with `regs`, end a wait in futex? */
static __always_inline bool
wakes_futex(struct wait_event *of, struct task_struct *waker,
    const struct pt_regs *regs, struct task_struct *woken)
{
	const struct pt_regs *theirs =
	    (void *)bpf_task_pt_regs((void *)woken);

	if (!futex_is_in(theirs) || regs->orig_ax != FUTEX_CALL ||
	    !futex_wakes(regs->si, regs->di, theirs->si, theirs->di,
	    waker->mm == woken->mm))
		return 0;
	of->address = theirs->di;
	of->operation = (__u8)theirs->si;
	return 1;
}

/* Or one that polls, by a signal? */
static __always_inline bool
wakes_latch(struct wait_event *of, const struct pt_regs *regs)
{
	of->address = LATCH_ADDRESS;
	return regs->orig_ax == KILL_CALL;
}

SEC("tp_btf/sched_waking")
int
BPF_PROG(wake_waking, struct task_struct *woken)
{
	struct wait_event of = {.part = WAIT_WOKEN};
	struct task_struct *waker;
	struct wait_thread *t;
	struct pt_regs *regs;
	__u64 wait_ns;

	t = thread_of(woken);
	if (t == 0 || (t->state != WAIT_LOCK && t->state != WAIT_CONDITION &&
	    t->state != WAIT_POLL))
		return 0;
	/* It has come back since, and is about to leave again. */
	if (woken->sched_info.last_arrival != t->arrival)
		return 0;
	waker = (void *)bpf_get_current_task_btf();
	regs = (void *)bpf_task_pt_regs((void *)waker);
	if ((waker->flags & PF_KTHREAD) != 0 || regs->cs == USER32_CS ||
	    !(t->state == WAIT_POLL ? wakes_latch(&of, regs) :
	    wakes_futex(&of, waker, regs, woken)) ||
	    futex_is_interrupted((__u64)regs, (__u64)ctx))
		return 0;
	if (t->state == WAIT_POLL)
		t->latched = t->latches = 1;
	wait_ns = bpf_ktime_get_ns() - t->since_ns;
	if (wait_ns < wake_threshold_ns || (__s64)wait_ns < 0)
		return 0;
	of.thread = t->number;
	of.reason = t->state;
	of.pid = woken->tgid;
	of.queued_ns = woken->group_leader->start_boottime;
	send_waker(ctx, waker, regs, &of, wait_ns);
	return 0;
}

char program_license[] SEC("license") = "GPL";
