/*
 * The probe of waits: keeps, for each thread, the time that it spends in each
 * state (wait.h), and sends a stack for each wait that is long enough.
 *
 *	wait_switch  a CPU goes from one thread to another: sums for the one
 *	             that leaves; the other's wait, if it may be a long one
 *	wait_back    the thread that came is itself again: its stack, if it
 *	             was away for long.  It runs then alone: in an interrupt
 *	             that wait_switch asks for
 *	wait_exit    the same at each switch, cheaper where many waits are long;
 *	             wait_return is that for kernels without the others
 *	wait_fork    a thread begins
 *	wait_rename  a thread gives itself another name
 *	wait_sweep   for the daemon, which reads all threads as a slot ends
 *
 * A switch reads no clock: the scheduler has done so, a moment before, and it
 * remembers when each thread came (wait_clock.bpf.h).  So nothing need be
 * written down for the thread that comes.
 *
 * Memory for a thread is taken as it begins or is swept, never as it is
 * switched, where the scheduler's locks are held (wait_thread.bpf.h).
 */
#include "collector/bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "collector/bpf/wait_clock.bpf.h"
#include "collector/bpf/wait_reason.bpf.h"
#include "collector/bpf/wait_send.bpf.h"
#include "collector/bpf/wait_sweep.h"
#include "collector/bpf/wait_thread.bpf.h"
#include "collector/bpf/wait_time.h"

/* Set by the daemon before loading. */
const volatile __u64 wait_slot_ns = 1;
const volatile bool wait_by_leaving = 0; /* stacks, else as threads come, */
const volatile bool wait_by_interrupt = 0; /* and how that is known */
const volatile __u64 wait_began_ns = 0; /* threads are older, or were born */

/* Set by the daemon at any time. */
volatile bool wait_rings SEC(".data.wait") = 1; /* else wait_exit runs */
volatile __u64 wait_begin_ns SEC(".data.wait") = 0; /* of the open slot */
volatile __u64 wait_sweep_ns SEC(".data.wait") = 0; /* the slot's end */
volatile __u64 wait_numbers SEC(".data.wait") = 0; /* given to threads */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wait_cpu);
} wait_cpus SEC(".maps");

/* For each CPU a ring that stays empty: to wake its reader, whom there is not,
 * is to have the CPU interrupt itself as soon as it may. */
struct wait_bell {
	__uint(type, BPF_MAP_TYPE_USER_RINGBUF);
	__uint(max_entries, WAIT_BELL_BYTES);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1); /* the daemon sets it */
	__type(key, __u32);
	__array(values, struct wait_bell);
} wait_bells SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wait_swept);
} wait_records SEC(".maps");

/* ---- switches ---- */

#define LEAVE_NS 2000000        /* one stack in this time, on each CPU, ... */
#define LEAVES_NS 200000000ULL  /* ... and as many as fit here at once */

/* Where no program runs as threads come back: some stacks as they leave, of
 * those above all whose last wait was a long one. */
static __always_inline bool
may_leave(struct wait_cpu *w, __u64 last_ns, __u64 now_ns)
{
	if (last_ns < wait_threshold_ns && (w->switches & 7) != 0)
		return 0;
	if (w->spent_ns + LEAVES_NS < now_ns)
		w->spent_ns = now_ns - LEAVES_NS;
	if (w->spent_ns > now_ns)
		return 0;
	w->spent_ns += LEAVE_NS;
	return 1;
}

/* Sums up what it has done until now. */
static __always_inline void
settle(struct wait_thread *t, const struct task_struct *task, __u64 now_ns)
{
	const struct wait_slots slots = {wait_begin_ns, wait_slot_ns};

	wait_settle(t, task->sched_info.run_delay, &slots);
	wait_add(t, t->state, t->since_ns, now_ns, &slots);
	if (now_ns > t->since_ns)
		t->since_ns = now_ns;
}

/* And what it does from now on. */
static __always_inline void
settle_leaving(struct wait_thread *t, struct task_struct *task,
    __u32 task_state, __u64 now_ns)
{
	settle(t, task, now_ns);
	t->run_delay = task->sched_info.run_delay;
	t->told = 0;
	t->latched = 0;
	if ((task_state & TASK_ENDS) != 0)
		t->state = WAIT_GONE;
	else if (task_state == 0)
		t->state = WAIT_RUN_QUEUE;
	else
		t->state = reason_of(t, task, task_state);
}

/* Of the wait before, whose stack was sent as it began: it is known only now
 * how much of it was on the run queue. */
static __always_inline void
tell_end(struct wait_thread *t, struct task_struct *task)
{
	struct wait_cpu of = {.reason = t->reason, .since_ns = t->left_ns,
	    .thread = t->number};
	__u64 wait_ns = t->since_ns - t->left_ns;

	of.queued_ns = wait_queued(t->reason, wait_ns,
	    task->sched_info.run_delay, t->run_delay);
	if (wait_ns >= threshold_of(wait_is_idle(t->reason, t->latched)))
		send_short(task, &of, 0, t->since_ns, WAIT_ENDED);
}

static __always_inline void
send_end(struct task_struct *task, struct wait_thread *t)
{
	struct wait_cpu of = {.thread = t->number, .since_ns = t->since_ns,
	    .reason = WAIT_GONE};

	send_short(task, &of, t, t->since_ns, WAIT_DIED);
	thread_give(t, 0);
}

/* For the verifier of 6.1, which would walk through all that follows for each
 * of the states that it knows to have been written. */
static __always_inline __u8
state_now(const struct wait_thread *t)
{
	return *(const volatile __u8 *)&t->state;
}

static __always_inline void
send_begin(void *ctx, struct wait_thread *t)
{
	struct wait_cpu of = {.thread = t->number, .since_ns = t->since_ns,
	    .reason = state_now(t), .idle = wait_is_idle(state_now(t), 0)};

	send_stack(ctx, &of, WAIT_BEGUN);
	t->told = 1;
}

/* It has come since it left the last time: that is written down only now. */
static __always_inline void
note_coming(struct wait_thread *t, __u64 arrival)
{
	__u64 came_ns = arrival + wait_offset_ns;

	if (arrival == t->arrival)
		return;
	t->arrival = arrival;
	t->reason = t->state;
	t->left_ns = t->since_ns;
	t->state = WAIT_ON_CPU;
	if (came_ns > t->since_ns)
		t->since_ns = came_ns;
}

static __always_inline void
leave(void *ctx, struct wait_cpu *w, struct wait_thread *t,
    struct task_struct *task, __u32 task_state, __u64 now_ns)
{
	__u64 last_ns;

	t->version++;
	note_coming(t, task->sched_info.last_arrival);
	last_ns = t->left_ns != 0 ? t->since_ns - t->left_ns : 0;
	if (wait_by_leaving && t->told && t->left_ns != 0)
		tell_end(t, task);
	settle_leaving(t, task, task_state, now_ns);
	t->version++;
	if (state_now(t) == WAIT_GONE)
		send_end(task, t);
	else if (wait_by_leaving && may_leave(w, last_ns, now_ns))
		send_begin(ctx, t);
}

static long
ring_nothing(struct bpf_dynptr *data, void *arg)
{
	(void)data;
	(void)arg;
	return 1;
}

static __always_inline void
ring_bell(void)
{
	__u32 cpu = bpf_get_smp_processor_id();
	void *bell = bpf_map_lookup_elem(&wait_bells, &cpu);

	if (bell != 0)
		bpf_user_ringbuf_drain(bell, ring_nothing, 0,
		    BPF_RB_FORCE_WAKEUP);
}

/* The wait of one that comes, of which wait_back sends the stack. */
static __always_inline void
come(struct wait_cpu *w, struct task_struct *task, __u64 now_ns)
{
	struct wait_thread *t = thread_of(task);
	bool idle;

	if (t == 0 || t->state == WAIT_ON_CPU)
		return;
	idle = wait_is_idle(t->state, t->latched);
	if ((__s64)(now_ns - t->since_ns) < (__s64)threshold_of(idle))
		return;
	w->reason = t->state;
	w->idle = idle;
	w->since_ns = t->since_ns;
	w->came_ns = now_ns;
	w->run_delay = t->run_delay;
	w->thread = t->number;
	w->tid = task->pid;
	if (wait_by_interrupt && wait_rings)
		ring_bell();
}

#define TIMED 64 /* one of so many switches is timed, for all of them */

static __always_inline void
time_switch(__u64 began_ns)
{
	__u32 type = profile_type;
	struct sample_counts *c;

	c = bpf_map_lookup_elem(&counters, &type);
	if (c == 0)
		return;
	c->n[COUNT_SWITCHES] += TIMED;
	c->n[COUNT_SWITCH_NS] += TIMED * (bpf_ktime_get_ns() - began_ns);
}

/* Since it came the last time, it has run, and waited after that: where both
 * are short, nothing of the thread need be looked up. */
static __always_inline bool
may_be_long(const struct task_struct *next, __u64 clock)
{
	return !wait_by_leaving && (next->flags & PF_KTHREAD) == 0 &&
	    clock - next->sched_info.last_arrival >= wait_threshold_ns;
}

SEC("tp_btf/sched_switch")
int
BPF_PROG(wait_switch, bool preempt, struct task_struct *prev,
    struct task_struct *next, unsigned int prev_state)
{
	__u64 clock = wait_clock(prev), began_ns = 0, now_ns;
	struct wait_thread *t;
	struct wait_cpu *w;
	__u32 zero = 0;

	w = bpf_map_lookup_elem(&wait_cpus, &zero);
	if (w == 0)
		return 0;
	if ((++w->switches & (TIMED - 1)) == 0 || wait_clock_is_unknown())
		began_ns = wait_compare_clocks(clock);
	now_ns = clock + wait_offset_ns;
	w->tid = 0;
	t = thread_of(prev);
	if (t != 0 && t->state != WAIT_GONE)
		leave(ctx, w, t, prev, preempt ? 0 : prev_state, now_ns);
	if (may_be_long(next, clock))
		come(w, next, now_ns);
	if (began_ns != 0)
		time_switch(began_ns);
	return 0;
}

static __always_inline void
come_back(void *ctx, struct wait_cpu *w)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	w->queued_ns = wait_queued(w->reason, w->came_ns - w->since_ns,
	    task->sched_info.run_delay, w->run_delay);
	send_stack(ctx, w, WAIT_WHOLE);
}

static __always_inline void
after_switch(void *ctx)
{
	__u32 zero = 0, tid;
	struct wait_cpu *w = bpf_map_lookup_elem(&wait_cpus, &zero);

	if (w == 0 || w->tid == 0)
		return;
	/* To send it may interrupt this CPU, and wait_back runs in between. */
	tid = w->tid;
	w->tid = 0;
	if (tid == (__u32)bpf_get_current_pid_tgid())
		come_back(ctx, w);
}

/* On the CPU that has just changed to the thread, which cannot be taken away
 * before this: interrupts come first. */
SEC("tp_btf/irq_work_entry")
int
BPF_PROG(wait_back)
{
	after_switch(ctx);
	return 0;
}

SEC("tp_btf/sched_exit_tp")
int
BPF_PROG(wait_exit)
{
	after_switch(ctx);
	return 0;
}

/* Where there is no such tracepoint.  It is not left so by threads that were
 * preempted, and may be left on another CPU: their waits have no stack. */
SEC("fexit/schedule")
int
BPF_PROG(wait_return)
{
	after_switch(ctx);
	return 0;
}

/* ---- beginnings, and all of them ---- */

static __always_inline void
set_up(struct wait_thread *t, const struct task_struct *task, __u32 state,
    __u64 since_ns)
{
	t->arrival = task->sched_info.last_arrival;
	t->state = state;
	t->told = 0;
	t->latched = 0;
	t->latches = 0;
	t->swept = 0;
	t->since_ns = since_ns;
	t->run_delay = task->sched_info.run_delay;
	t->sums.born_ns = task->start_time > wait_began_ns ?
	    task->start_time : 0;
	t->number = __sync_fetch_and_add(&wait_numbers, 1) + 1;
	thread_give(t, task);
}

/* Unlike sched_process_fork the kernel tells of io_uring's workers by it. */
SEC("tp_btf/task_newtask")
int
BPF_PROG(wait_fork, struct task_struct *child)
{
	struct wait_thread *t;

	if ((child->flags & PF_KTHREAD) != 0 || thread_of(child) != 0)
		return 0;
	t = thread_take(child);
	if (t == 0 || t->number != 0)
		return 0;
	t->called = WAIT_OTHER;
	/* It is on no run queue yet: that will be its first run_delay. */
	set_up(t, child, WAIT_OTHER, child->start_time);
	return 0;
}

/* What it did until now is the old name's.  Not of a process's first thread,
 * which names the process and does so with each exec, nor of one that another
 * thread names: those are what they are called as a slot ends. */
SEC("tp_btf/task_rename")
int
BPF_PROG(wait_rename, struct task_struct *task)
{
	struct wait_thread *t = thread_of(task);
	__u64 now_ns = bpf_ktime_get_ns();
	struct wait_cpu of = {.reason = WAIT_ON_CPU, .since_ns = now_ns};

	if (t == 0 || t->state == WAIT_GONE || task->pid == task->tgid ||
	    task->pid != (int)(__u32)bpf_get_current_pid_tgid())
		return 0;
	t->version++;
	note_coming(t, task->sched_info.last_arrival);
	if (wait_by_leaving && t->told && t->left_ns != 0)
		tell_end(t, task);
	settle(t, task, now_ns);
	t->version++;
	of.thread = t->number;
	send_short(task, &of, t, now_ns, WAIT_NAMED);
	return 0;
}

/* One that was there before us. */
static __always_inline void
set_up_old(struct wait_thread *t, struct task_struct *task)
{
	unsigned int state = task->__state;

	t->called = WAIT_OTHER;
	set_up(t, task, task->on_cpu != 0 ? WAIT_ON_CPU : state == 0 ?
	    WAIT_RUN_QUEUE : reason_of(t, task, state), bpf_ktime_get_ns());
}

/* NULL: there is nothing of it, or no more. */
static __always_inline struct wait_thread *
sweep_thread(struct task_struct *task)
{
	struct wait_thread *t = thread_of(task);

	if (t == 0 && task->exit_state == 0) {
		t = thread_take(task);
		if (t != 0 && t->number == 0)
			set_up_old(t, task);
	}
	return t != 0 && t->state != WAIT_GONE ? t : 0;
}

/* A copy of what another CPU may be writing. */
static __always_inline bool
copy_thread(struct wait_thread *to, const struct wait_thread *t,
    const struct task_struct *task)
{
	__u32 before = *(volatile const __u32 *)&t->version;

	barrier();
	__builtin_memcpy(to, t, sizeof(*to));
	barrier();
	return (before & 1) == 0 &&
	    (to->task == 0 || to->task == (__u64)task) &&
	    *(volatile const __u32 *)&t->version == before;
}

/* So many pages, as far as they are there; their bytes. */
static __always_inline __u64
sweep_pages(void *to, struct task_struct *task, __u64 from, __u32 pages)
{
	__u32 i;

	for (i = 0; i < SWEEP_PAGES; i++)
		if (i >= pages || bpf_copy_from_user_task(to + i * SWEEP_PAGE,
		    SWEEP_PAGE, (void *)(from + i * SWEEP_PAGE), task, 0) != 0)
			break;
	return i * SWEEP_PAGE;
}

/* The stack of a thread that waits on: the kernel's, and what there is of the
 * user's memory, for a walk by the daemon.  Returns its bytes. */
static __always_inline __u64
sweep_stack(struct wait_swept *r, struct task_struct *task, __u32 tried)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs((void *)task);
	struct sample_event *e = &r->event;
	__u64 sp = regs->sp, n = SWEEP_PAGE - (sp & (SWEEP_PAGE - 1)), *to;
	long got;

	got = kernel_stacks ? bpf_get_task_stack(task, e->frames,
	    EVENT_MAX_KERNEL * sizeof(__u64), 0) : 0;
	if (got > 0)
		e->n_kernel = (got / sizeof(__u64)) & EVENT_MAX_KERNEL;
	if (regs->cs == USER32_CS) {
		e->error = BROKEN_32BIT;
		return e->n_kernel * sizeof(__u64);
	}
	to = &e->frames[e->n_kernel & EVENT_MAX_KERNEL];
	to[0] = regs->ip;
	e->n_user = 1;
	e->depth = 1;
	to = fill_copy_head(to + 1, sp, regs->bp, regs->di, regs->bx);
	if ((sp & 7) != 0 || n > SWEEP_PAGE ||
	    bpf_copy_from_user_task(to, n, (void *)sp, task, 0) != 0)
		return (e->n_kernel + 1) * sizeof(__u64);
	e->flags |= EVENT_COPY | EVENT_PENDING | EVENT_EH_FRAME;
	to = &e->frames[(e->n_kernel & EVENT_MAX_KERNEL) + SWEEP_HEAD + n / 8];
	n += sweep_pages(to, task, sp + n, 2 * tried);
	return (e->n_kernel + SWEEP_HEAD) * sizeof(__u64) + n;
}

static __always_inline void
sweep_head(struct wait_swept *r, struct task_struct *task)
{
	struct sample_event *e = &r->event;

	fill_thread(e, task);
	e->flags = EVENT_WAIT | EVENT_IN_KERNEL;
	e->wait.part = WAIT_GOING;
	e->wait.thread = r->thread.number;
	e->wait.reason = r->thread.state;
	fill_futex(&e->wait, (void *)bpf_task_pt_regs((void *)task));
	r->now_ns = e->time_ns = bpf_ktime_get_ns();
}

/* How much of a wait that goes on was on the run queue until now: the
 * scheduler's sum since the thread left, and since when it is queued. */
static __always_inline __u64
queued_so_far(const struct wait_swept *r, __u64 last_queued)
{
	__u64 ns = r->run_delay - r->thread.run_delay;
	__u64 clock = r->now_ns - wait_offset_ns;

	if (last_queued != 0 && clock > last_queued)
		ns += clock - last_queued;
	return wait_clock_is_unknown() ? 0 : ns;
}

/* Is a stack needed, of a wait that was long before the slot's end? */
static __always_inline bool
sweep_wants(struct wait_thread *t, const struct wait_swept *r)
{
	bool idle = wait_is_idle(r->thread.state, r->thread.latches);

	if (r->thread.state == WAIT_ON_CPU ||
	    r->thread.since_ns >= wait_sweep_ns ||
	    r->now_ns - r->thread.since_ns < threshold_of(idle))
		return 0;
	if (t->swept_ns != r->thread.since_ns) {
		t->swept_ns = r->thread.since_ns;
		t->swept = 0;
	}
	if (t->swept >= SWEEP_TRIES)
		return 0;
	t->swept++;
	return 1;
}

SEC("iter.s/task")
int
wait_sweep(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct wait_thread *t;
	struct wait_swept *r;
	__u32 zero = 0, i;
	__u64 head, arrival = 0, last_queued = 0;

	if (task == 0 || (task->flags & PF_KTHREAD) != 0)
		return 0;
	r = bpf_map_lookup_elem(&wait_records, &zero);
	t = sweep_thread(task);
	if (r == 0 || t == 0)
		return 0;
	for (i = 0; i < 8; i++) {
		arrival = task->sched_info.last_arrival;
		r->run_delay = task->sched_info.run_delay;
		last_queued = task->sched_info.last_queued;
		if (copy_thread(&r->thread, t, task))
			break;
	}
	if (i == 8)
		return 0; /* the next sweep's */
	note_coming(&r->thread, arrival);
	sweep_head(r, task);
	if (r->thread.state != WAIT_ON_CPU)
		r->event.wait.queued_ns = queued_so_far(r, last_queued);
	r->size = __builtin_offsetof(struct wait_swept, event) +
	    __builtin_offsetof(struct sample_event, frames);
	head = r->size;
	if (sweep_wants(t, r))
		r->size += sweep_stack(r, task, t->swept);
	/* It went on meanwhile: then that is the stack of another wait. */
	if (*(volatile __u32 *)&t->version != r->thread.version ||
	    task->sched_info.last_arrival != arrival) {
		r->size = head;
		r->event.n_kernel = 0;
		r->event.n_user = 0;
		r->event.flags = EVENT_WAIT | EVENT_IN_KERNEL;
	}
	if (r->size <= sizeof(*r))
		bpf_seq_write(ctx->meta->seq, r, r->size);
	return 0;
}

char program_license[] SEC("license") = "GPL";
