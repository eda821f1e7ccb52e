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

/* What one event counts for, in the type's unit. */
const volatile __u64 event_unit = 1;
/* Of types whose events come as often as programs like: about a sample of a
 * CPU in this time, and SPARE_SAMPLES of them at once.  0: all. */
const volatile __u64 sample_ns = 0;
const volatile bool of_faults = 0;

#define SPARE_SAMPLES 10 /* the ring has room for them, with copies */
#define STRIDE_MAX 4096
#define STRIDE_SAMPLES 8 /* at least, of each stride */

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
	s->walk.r10 = *(volatile unsigned long *)&ctx->r10;
}

/* Called with the mapping in which the fault is. */
static long
take_memory(struct task_struct *task, struct vm_area_struct *vma, void *arg)
{
	__u64 *memory = arg;
	struct file *file = vma->vm_file;
	unsigned long magic;

	(void)task;
	*memory = MEMORY_ANONYMOUS;
	if (file == 0)
		return 0;
	*memory = MEMORY_FILE;
	magic = file->f_inode->i_sb->s_magic;
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

/* Has the CPU run out of samples?  Then one of twice as many events is taken,
 * and of all again once half of what may be spared is there. */
static __always_inline void
set_stride(struct unwind_scratch *s, __u64 now)
{
	__u64 spare = SPARE_SAMPLES * sample_ns;

	if (s->samples_ns + spare < now)
		s->samples_ns = now - spare;
	if (s->samples_ns + spare / 2 < now)
		s->stride = 1;
	if (s->samples_ns <= now)
		return;
	s->samples_ns = now - STRIDE_SAMPLES * sample_ns;
	if (s->stride < STRIDE_MAX)
		s->stride *= 2;
}

/*
 * Is this event one that a sample is taken of?  Which one it is goes by their
 * number and not by time, so that each program's share is right; false: the
 * next sample stands for it.
 */
static __always_inline bool
may_sample(struct unwind_scratch *s, __u64 now)
{
	if (sample_ns == 0)
		return 1;
	set_stride(s, now);
	if (++s->owed < s->stride || ring_is_full())
		return 0;
	s->samples_ns += sample_ns;
	return 1;
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
	if (!may_sample(s, now))
		return 0;
	s->event.time_ns = now;
	task = (void *)bpf_get_current_task_btf();
	t = &s->threads[id & (UNWIND_KEEPERS - 1)];
	fill_task(&s->event, t, task, id);
	s->event.period = ctx->sample_period * event_unit;
	if (sample_ns != 0) {
		s->event.value = s->owed;
		s->owed = 0;
	}
	if (of_faults)
		s->event.memory = find_memory(task, ctx->addr);
	if ((s->event.flags & EVENT_KTHREAD) != 0)
		c->n[COUNT_KTHREAD] += s->event.value;
	fill_kernel(&s->event, ctx);
	find_registers(s, ctx);
	fill_user(s, t, UNWIND_SLOT_PERF, task, ctx, c);
	send(s, c, s->event.value);
	c->n[COUNT_NS] += bpf_ktime_get_ns() - s->event.time_ns;
	return 0;
}

char program_license[] SEC("license") = "GPL";
