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
#include "collector/bpf/orc.bpf.h"

/* What one event counts for, in the type's unit. */
const volatile __u64 event_unit = 1;
/* What a tick of a type's clock counts for, whose period is now longer and now
 * shorter (probe/jitter.h); 0: of another event, as often as it comes. */
volatile __u64 clock_ns[EVENT_TYPES];
/* Of types whose events come as often as programs like: see stride.h.  0: all
 * events are samples. */
const volatile __u64 sample_ns = 0;
const volatile bool of_faults = 0;

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
	orc_mend(e, ctx);
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
	s->walk.r10 = *(volatile unsigned long *)&ctx->r10;
	s->walk.di = *(volatile unsigned long *)&ctx->di;
	s->walk.bx = *(volatile unsigned long *)&ctx->bx;
}

/* Called with the mapping in which the fault is. */
static long
take_memory(struct task_struct *task, struct vm_area_struct *vma, void *arg)
{
	__u64 *memory = arg;
	struct file *file = BPF_CORE_READ(vma, vm_file);
	unsigned long magic;

	(void)task;
	*memory = MEMORY_ANONYMOUS;
	if (file == 0)
		return 0;
	*memory = MEMORY_FILE;
	magic = BPF_CORE_READ(file, f_inode, i_sb, s_magic);
	if ((vma->vm_flags & VM_SHARED) != 0 &&
	    (magic == TMPFS_MAGIC || magic == HUGETLBFS_MAGIC))
		*memory = MEMORY_SHARED;
	return 0;
}

/* What the page is of, at a fault's address. */
static __always_inline __u8
find_memory(struct task_struct *task, __u64 addr)
{
	__u64 memory = MEMORY_UNKNOWN; /* on the stack: the verifier's wish */

	bpf_find_vma(task, addr, take_memory, &memory, 0);
	return (__u8)memory;
}

SEC("perf_event")
int
perf_sample(struct perf_context *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 type = profile_type, slot = UNWIND_SLOT_PERF;
	struct sample_counts *c = bpf_map_lookup_elem(&counters, &type);
	struct task_struct *task;
	struct mm_struct *mm;
	struct unwind_scratch *s;
	struct unwind_thread *t;
	__u64 now;

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
	now = bpf_ktime_get_ns();
	if (sample_ns != 0 && !stride_counts(&s->stride, now, sample_ns,
	    bpf_get_prandom_u32()))
		return 0;
	if (sample_ns != 0 && ring_is_full()) {
		stride_owe(&s->stride);
		return 0;
	}
	s->event.time_ns = now;
	task = (void *)bpf_get_current_task_btf();
	mm = memory_of(task);
	t = &s->threads[id & (UNWIND_KEEPERS - 1)];
	fill_task(&s->event, t, task, mm, id);
	s->event.period = clock_ns[profile_type & (EVENT_TYPES - 1)];
	if (s->event.period == 0)
		s->event.period = ctx->sample_period * event_unit;
	if (sample_ns != 0)
		s->event.value = stride_take(&s->stride);
	if (of_faults)
		s->event.memory = find_memory(task, ctx->addr);
	if ((s->event.flags & EVENT_KTHREAD) != 0)
		c->n[COUNT_KTHREAD] += s->event.value;
	fill_kernel(&s->event, ctx);
	find_registers(s, ctx);
	fill_user(s, t, UNWIND_SLOT_PERF, task, mm, ctx, c);
	send(s, c, s->event.value);
	c->n[COUNT_NS] += bpf_ktime_get_ns() - s->event.time_ns;
	return 0;
}

char program_license[] SEC("license") = "GPL";
