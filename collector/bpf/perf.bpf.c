/*
 * The probe of perf events: runs at every tick of a clock, or every so many
 * events of a kind, on every CPU, and sends who ran and where, packed, to the
 * daemon.  It decides nothing: no names, no aggregation.  What it cannot send
 * it counts.  Loaded once for each type of profile; all share their maps.
 */
#include "collector/bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "collector/bpf/sample.bpf.h"

static __always_inline void
fill_kernel(struct sample_event *e, struct perf_context *ctx)
{
	long n;

	if ((ctx->cs & USER_CS) != 0)
		return;
	e->flags |= EVENT_IN_KERNEL;
	if (!kernel_stacks)
		return;
	n = bpf_get_stack(ctx, e->frames, EVENT_MAX_KERNEL * sizeof(__u64), 0);
	if (n > 0)
		e->n_kernel = (n / sizeof(__u64)) & EVENT_MAX_KERNEL;
}

/* The registers of user mode.  Volatile: the verifier allows no sum of the
 * context's address and an offset, which the compiler would share between both
 * ways. */
static __always_inline void
find_registers(struct unwind_scratch *s, struct perf_context *ctx)
{
	if (ctx->cs == USER32_CS)
		s->event.error = BROKEN_32BIT;
	if ((ctx->cs & USER_CS) == 0) {
		fill_registers(&s->walk,
		    (void *)bpf_task_pt_regs(bpf_get_current_task_btf()));
		return;
	}
	s->walk.ip = *(volatile unsigned long *)&ctx->ip;
	s->walk.sp = *(volatile unsigned long *)&ctx->sp;
	s->walk.bp = *(volatile unsigned long *)&ctx->bp;
}

SEC("perf_event")
int
perf_sample(struct perf_context *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 type = profile_type, slot = UNWIND_SLOT_PERF;
	struct sample_counts *c = bpf_map_lookup_elem(&counters, &type);
	struct task_struct *task;
	struct unwind_scratch *s;
	struct unwind_thread *t;

	if (c == 0)
		return 0;
	c->n[COUNT_RUNS]++;
	if (id == 0) {
		c->n[COUNT_IDLE]++;
		return 0;
	}
	s = bpf_map_lookup_elem(&scratch, &slot);
	if (s == 0)
		return 0;
	s->event.time_ns = bpf_ktime_get_ns();
	task = (void *)bpf_get_current_task_btf();
	t = &s->threads[id & (UNWIND_KEEPERS - 1)];
	fill_task(&s->event, t, task, id);
	s->event.period = ctx->sample_period;
	if ((s->event.flags & EVENT_KTHREAD) != 0)
		c->n[COUNT_KTHREAD]++;
	fill_kernel(&s->event, ctx);
	find_registers(s, ctx);
	fill_user(s, t, UNWIND_SLOT_PERF, task, ctx, c);
	send(s, c);
	c->n[COUNT_NS] += bpf_ktime_get_ns() - s->event.time_ns;
	return 0;
}

char program_license[] SEC("license") = "GPL";
