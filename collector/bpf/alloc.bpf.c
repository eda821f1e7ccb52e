/*
 * The probe of the allocator's library: a sampled object was taken, with its
 * stack, or given back.  What programs hand over here is believed to be
 * nothing but numbers.
 */
#include "collector/bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "collector/bpf/sample.bpf.h"

/* Of what is given back; of what is taken it is profile_type. */
const volatile __u8 gave_type = 0;
/* Taken objects leave the rest of the ring to the others. */
const volatile __u64 took_share_bytes = 1 << 18;
/* What an object stands for beyond its own bytes: see stride.h. */
const volatile __u32 weigh_more[WEIGH_STEPS + 1] = {0};

static __always_inline bool
take_slot(__u32 slot)
{
	struct unwind_scratch *s = bpf_map_lookup_elem(&scratch, &slot);

	return s != 0 && __sync_val_compare_and_swap(&s->busy, 0, 1) == 0;
}

/* One that no program has which this one took the CPU from, and which goes on
 * here; UNWIND_SLOTS: all are in use. */
static __always_inline __u32
find_slot(void)
{
	if (take_slot(UNWIND_SLOT_ALLOC))
		return UNWIND_SLOT_ALLOC;
	return take_slot(UNWIND_SLOT_ALLOC_2) ? UNWIND_SLOT_ALLOC_2 :
	    UNWIND_SLOTS;
}

static __always_inline void
fill_object(struct sample_event *e, struct pt_regs *regs, __u8 what)
{
	e->of_object = what;
	e->object.address = regs->di;
	e->object.size = what == OBJECT_TOOK ? regs->si : 0;
	e->object.call = what == OBJECT_TOOK ? regs->dx : regs->si;
}

/* How full the ring is with what is taken, in eighths of its share. */
static __always_inline __u64
ring_eighths(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) * 8 /
	    (took_share_bytes | 1);
}

/* Where the ring has little room: the first callers, mostly. */
#define COPY_FEW_BYTES 1024

static __always_inline void
copy_few(struct unwind_scratch *s)
{
	__u64 end = s->walk.lacking.sp + COPY_FEW_BYTES;

	if (end < s->stack_end)
		s->stack_end = end;
}

/* For how many objects the event stands; 0: it is not told. */
static __always_inline __u64
count(struct sample_counts *c, __u8 what, __u64 eighths)
{
	c->n[COUNT_RUNS]++;
	if (what == OBJECT_TOOK)
		return thin_take(eighths, bpf_get_prandom_u32());
	if (eighths < THIN_GAVE_EIGHTHS)
		return 1;
	c->n[COUNT_RING_FULL]++;
	return 0;
}

/* So many objects like this one are not told of, which the counter of a full
 * ring has already. */
static __always_inline void
lose(struct sample_counts *c, struct pt_regs *regs, __u8 what, __u64 times)
{
	__u64 weight;

	if (what != OBJECT_TOOK)
		return; /* of what is given back nobody says how much it is */
	weight = weigh_size(weigh_more, regs->si);
	c->n[COUNT_LOST_BYTES] += weight * times;
	c->n[COUNT_LOST_OBJECTS] += weigh_objects(weight, regs->si) * times;
}

static __always_inline int
tell(void *ctx, __u8 what)
{
	__u64 id = bpf_get_current_pid_tgid(), began_ns = bpf_ktime_get_ns();
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct mm_struct *mm = memory_of(task);
	struct pt_regs *regs = (void *)bpf_task_pt_regs((void *)task);
	__u32 type = what == OBJECT_TOOK ? profile_type : gave_type, slot;
	__u64 eighths = ring_eighths(), times;
	struct sample_counts *c = bpf_map_lookup_elem(&counters, &type);
	struct unwind_thread *t;
	struct unwind_scratch *s;

	times = c == 0 ? 0 : count(c, what, eighths);
	if (c == 0 || times == 0)
		return 0;
	slot = find_slot();
	s = bpf_map_lookup_elem(&scratch, &slot);
	if (s == 0) {
		c->n[COUNT_RING_FULL] += times;
		lose(c, regs, what, times);
		return 0;
	}
	s->event.time_ns = began_ns;
	t = &s->threads[id & (UNWIND_KEEPERS - 1)];
	fill_task(&s->event, t, task, mm, id);
	s->event.type = (__u8)type;
	s->event.value = times;
	fill_object(&s->event, regs, what);
	if (what == OBJECT_TOOK) {
		fill_registers(&s->walk, regs);
		fill_user(s, t, slot, task, mm, ctx, c);
		if (eighths > 3)
			copy_few(s);
	}
	if (!send(s, c, times))
		lose(c, regs, what, times);
	s->busy = 0;
	c->n[COUNT_NS] += bpf_ktime_get_ns() - began_ns;
	return 0;
}

SEC("uprobe")
int
alloc_took(void *ctx)
{
	return tell(ctx, OBJECT_TOOK);
}

SEC("uprobe")
int
alloc_gave(void *ctx)
{
	return tell(ctx, OBJECT_GAVE);
}

char program_license[] SEC("license") = "GPL";
