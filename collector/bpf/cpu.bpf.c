/*
 * The CPU sampler: runs at every tick of the software clock on every CPU and
 * sends who ran and where, packed, to the daemon.  It decides nothing: no
 * names, no aggregation.  What it cannot send it counts.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "event.h"
#include "unwind.bpf.h"

#define RING_BYTES (4 << 20)
/* Wake the daemon before its next poll only when the ring fills up. */
#define RING_WAKE (RING_BYTES / 4)

/* Set by the daemon before loading. */
const volatile bool kernel_stacks = 1;
const volatile bool eh_frame = 0; /* else by frame pointers alone */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNT_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

static __always_inline void
count_more(__u32 which, __u64 more)
{
	__u64 *n = bpf_map_lookup_elem(&counters, &which);

	if (n != 0)
		*n += more;
}

static __always_inline void
count(__u32 which)
{
	count_more(which, 1);
}

static __always_inline void
fill_task(struct sample_event *e, struct perf_context *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 id = bpf_get_current_pid_tgid();

	e->time_ns = bpf_ktime_get_ns();
	e->cgroup = bpf_get_current_cgroup_id();
	e->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	e->exec_id = (__u32)BPF_CORE_READ(task, self_exec_id);
	e->value = 1;
	e->period_ns = ctx->sample_period;
	e->pid = id >> 32;
	e->tid = (__u32)id;
	e->cpu = bpf_get_smp_processor_id();
	e->error = EVENT_OK;
	e->source = 0;
	e->zero = 0;
	e->flags = 0;
	if (BPF_CORE_READ(task, flags) & PF_KTHREAD) {
		e->flags |= EVENT_KTHREAD;
		count(COUNT_KTHREAD);
	}
	bpf_get_current_comm(e->comm, sizeof(e->comm));
}

static __always_inline void
fill_kernel(struct sample_event *e, struct perf_context *ctx)
{
	long n;

	e->n_kernel = 0;
	if ((ctx->cs & USER_CS) != 0)
		return;
	e->flags |= EVENT_IN_KERNEL;
	if (!kernel_stacks)
		return;
	n = bpf_get_stack(ctx, e->frames, EVENT_MAX_KERNEL * sizeof(__u64), 0);
	if (n > 0)
		e->n_kernel = (n / sizeof(__u64)) & EVENT_MAX_KERNEL;
}

/* By frame pointers. */
static __always_inline void
fill_pointers(struct sample_event *e, struct perf_context *ctx)
{
	__u32 at = e->n_kernel & EVENT_MAX_KERNEL;
	long n;

	n = bpf_get_stack(ctx, &e->frames[at], EVENT_MAX_USER * sizeof(__u64),
	    BPF_F_USER_STACK);
	if (n <= 0) {
		count(COUNT_NO_STACK);
		return;
	}
	e->n_user = (n / sizeof(__u64)) & EVENT_MAX_USER;
	if (e->n_user == EVENT_MAX_USER)
		e->flags |= EVENT_TRUNCATED;
}

/* The registers of user mode; false when there are none. */
static __always_inline bool
fill_registers(struct unwind_state *walk, struct perf_context *ctx)
{
	struct pt_regs *regs;

	if ((ctx->cs & USER_CS) != 0) {
		walk->ip = ctx->ip;
		walk->sp = ctx->sp;
		walk->bp = ctx->bp;
		return 1;
	}
	regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	walk->ip = regs->ip;
	walk->sp = regs->sp;
	walk->bp = regs->bp;
	return walk->ip != 0;
}

static __always_inline void
fill_user(struct unwind_scratch *s, struct perf_context *ctx)
{
	struct sample_event *e = &s->event;

	e->n_user = 0;
	if ((e->flags & EVENT_KTHREAD) != 0)
		return;
	if (ctx->cs == USER32_CS)
		e->error = EVENT_32BIT;
	if (eh_frame && e->error == EVENT_OK &&
	    fill_registers(&s->walk, ctx)) {
		if (unwind_user(s, UNWIND_SLOT_CPU,
		    (void *)bpf_get_current_task()))
			return;
		e->error = EVENT_NO_PROCESS;
	}
	fill_pointers(e, ctx);
}

static __always_inline void
send(struct sample_event *e)
{
	__u64 frames = (e->n_kernel & EVENT_MAX_KERNEL) +
	    (e->n_user & EVENT_MAX_USER);
	__u64 size = __builtin_offsetof(struct sample_event, frames) +
	    frames * sizeof(__u64);
	__u64 wake = BPF_RB_NO_WAKEUP;

	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > RING_WAKE)
		wake = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(&ring, e, size, wake) == 0)
		count(COUNT_SENT);
	else
		count(COUNT_RING_FULL);
}

SEC("perf_event")
int
cpu_sample(struct perf_context *ctx)
{
	__u32 slot = UNWIND_SLOT_CPU;
	struct unwind_scratch *s;
	struct sample_event *e;

	count(COUNT_RUNS);
	if (bpf_get_current_pid_tgid() == 0) {
		count(COUNT_IDLE);
		return 0;
	}
	s = bpf_map_lookup_elem(&scratch, &slot);
	if (s == 0)
		return 0;
	e = &s->event;
	fill_task(e, ctx);
	fill_kernel(e, ctx);
	fill_user(s, ctx);
	send(e);
	count_more(COUNT_NS, bpf_ktime_get_ns() - e->time_ns);
	return 0;
}

char program_license[] SEC("license") = "GPL";
