/*
 * What the probes share: the ring, the counters, and the parts of an event
 * that are filled alike, whatever has made the program run.
 */
#ifndef COLLECTOR_BPF_SAMPLE_BPF_H
#define COLLECTOR_BPF_SAMPLE_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "collector/bpf/event.h"
#include "collector/bpf/unwind.bpf.h"

/* Set by the daemon before loading. */
const volatile __u8 profile_type = 0; /* its number, and in counters */
const volatile bool kernel_stacks = 1;
const volatile bool eh_frame = 0; /* else by frame pointers alone */
/* The daemon is woken before its next poll only when so much waits. */
const volatile __u64 ring_wake_bytes = 1 << 18;
/* A type that may send many leaves the rest of the ring to the others; 0: all
 * of it is for it. */
const volatile __u64 ring_share_bytes = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* the daemon sets it */
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* the daemon sets it: one for each type */
	__type(key, __u32);
	__type(value, struct sample_counts);
} counters SEC(".maps");

/*
 * A task's memory: looked up once, before there are many ways through a
 * program.  Where a pointer is loaded by way of a task, the verifier of newer
 * kernels goes some four times through the names of all of the kernel's types,
 * each time that it comes there, which took most of its time.  What is hardly
 * ever loaded is read by bpf_probe_read_kernel(), where it does not look.
 */
static __always_inline struct mm_struct *
memory_of(struct task_struct *task)
{
	struct mm_struct *mm = task->mm;

	barrier_var(mm); /* and not where it is used */
	return mm;
}

/* Gathers what is not known yet of the thread. */
static __always_inline void
learn_thread(struct unwind_thread *t, struct task_struct *task, __u64 mm,
    __u32 tid, __u32 now_s)
{
	t->mm = mm;
	t->tid = tid;
	t->now_s = now_s;
	t->generation = 0;
	t->cgroup = bpf_get_current_cgroup_id();
	t->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
}

static __always_inline void
fill_task(struct sample_event *e, struct unwind_thread *t,
    struct task_struct *task, struct mm_struct *memory, __u64 id)
{
	__u64 mm = (__u64)memory;
	__u32 now_s = e->time_ns / 1000000000;

	if (mm == 0 || t->mm != mm || t->tid != (__u32)id ||
	    t->now_s != now_s)
		learn_thread(t, task, mm, (__u32)id, now_s);
	e->cgroup = t->cgroup;
	e->start_ns = t->start_ns;
	e->exec_id = (__u32)task->self_exec_id; /* grows after mm's change */
	bpf_get_current_comm(e->comm, sizeof(e->comm)); /* may change */
	e->value = 1;
	e->period = 1;
	e->pid = id >> 32;
	e->tid = (__u32)id;
	e->cpu = bpf_get_smp_processor_id();
	e->error = BROKEN_NOT;
	e->type = profile_type;
	e->lacks = 0;
	e->table = UNWIND_NO_TABLE;
	e->offset = 0;
	e->flags = task->flags & PF_KTHREAD ? EVENT_KTHREAD : 0;
	e->n_kernel = 0;
	e->kernel_cut = 0;
	e->n_user = 0;
	e->depth = 0;
	e->memory = MEMORY_NOT;
	e->of_object = OBJECT_NOT;
}

/* By frame pointers. */
static __always_inline void
fill_pointers(struct sample_event *e, void *ctx, struct sample_counts *c)
{
	__u32 at = e->n_kernel & EVENT_MAX_KERNEL;
	long n;

	n = bpf_get_stack(ctx, &e->frames[at], EVENT_MAX_USER * sizeof(__u64),
	    BPF_F_USER_STACK);
	if (n <= 0) {
		c->n[COUNT_NO_STACK]++;
		return;
	}
	e->n_user = (n / sizeof(__u64)) & EVENT_MAX_USER;
	if (e->n_user == EVENT_MAX_USER)
		e->flags |= EVENT_TRUNCATED;
}

/* Those with which the task entered the kernel, as the walk's first. */
static __always_inline void
fill_registers(struct unwind_state *walk, struct pt_regs *regs)
{
	walk->ip = regs->ip;
	walk->sp = regs->sp;
	walk->bp = regs->bp;
	walk->r10 = regs->r10;
	walk->di = regs->di;
	walk->bx = regs->bx;
}

/* Nobody knows the process's mappings yet: all is still to be walked. */
static __always_inline void
lack_all(struct unwind_scratch *s)
{
	s->event.error = BROKEN_NO_TABLES;
	s->event.flags |= EVENT_PENDING;
	s->deep = 0;
	s->walk.lacking.sp = s->walk.sp;
	s->walk.lacking.bp = s->walk.bp;
	s->walk.lacking.di = s->walk.di;
	s->walk.lacking.bx = s->walk.bx;
	s->walk.lacking.is_caller = 0;
}

/*
 * Where the stack that sp is in ends, or something behind its end.  A process's
 * first stack ends where its program began; behind another one of a C library
 * there are the thread's own variables, to which %fs leads.
 */
static __always_inline __u64
stack_end(struct task_struct *task, struct mm_struct *mm, __u64 sp)
{
	__u64 end = task->thread.fsbase, first;

	if (end <= sp)
		end = (__u64)-1;
	first = mm != 0 ? mm->start_stack : 0;
	return first > sp && first < end ? first : end;
}

/* From the registers in s->walk on. */
static __always_inline void
fill_user(struct unwind_scratch *s, struct unwind_thread *t, __u32 slot,
    struct task_struct *task, struct mm_struct *mm, void *ctx,
    struct sample_counts *c)
{
	struct sample_event *e = &s->event;
	bool by_tables = 0;

	if ((e->flags & EVENT_KTHREAD) != 0)
		return;
	s->stack_end = stack_end(task, mm, s->walk.sp);
	if (eh_frame && e->error == BROKEN_NOT && s->walk.ip != 0) {
		if (unwind_user(s, t, slot, task, mm))
			return;
		by_tables = 1;
	}
	if (!unwind_has_program(mm)) {
		e->error = BROKEN_NO_MEMORY;
		return;
	}
	if (by_tables)
		lack_all(s);
	fill_pointers(e, ctx, c);
}

#define COPY_NS 20000000        /* one in this time of a known process, */
#define COPY_NEW_NS 8000000     /* or of one that has just begun, */
#define COPIES_NS 4000000000ULL /* and as many as fit here at once */
#define PAGE 4096
#define COPY_PAGES 2
#define DEEP_PAGES 5 /* more: what a value for each CPU has room for */

/* Takes a token out of a bucket; false when it is empty. */
static __always_inline bool
take_token(__u64 *at, __u64 now, __u64 price_ns)
{
	if (*at + COPIES_NS < now)
		*at = now - COPIES_NS;
	if (*at > now)
		return 0;
	*at += price_ns;
	return 1;
}

/* A token for a copy, of the bucket of its kind.  What was not walked at all
 * has cost less: those of new processes may be as many as samples at 99 Hz. */
static __always_inline bool
may_copy(struct unwind_scratch *s)
{
	bool known = (s->event.flags & EVENT_EH_FRAME) != 0;

	return known ? take_token(&s->copies_ns, s->event.time_ns, COPY_NS) :
	    take_token(&s->copies_new_ns, s->event.time_ns, COPY_NEW_NS);
}

/* Copies up to so many pages of the stack from sp on, by pages: one that was
 * never touched ends the copy.  Returns the bytes of it. */
static __always_inline __u64
copy_pages(char *to, __u64 sp, __u64 end, int pages)
{
	__u64 all = 0;
	__u32 n;
	int i;

	for (i = 0; i < pages; i++) {
		n = PAGE - ((__u32)sp & (PAGE - 1));
		/* Bounded wherever the compiler keeps it, for 6.1. */
		if (n > end - sp)
			n = (__u32)(end - sp) & (PAGE - 1);
		if (n == 0 ||
		    bpf_probe_read_user(to, n, (void *)sp) != 0)
			break;
		to += n;
		sp += n;
		all += n;
	}
	return all;
}

/* The words before those of a struct event_copy; returns where these go. */
static __always_inline __u64 *
fill_copy_head(__u64 *to, __u64 sp, __u64 bp, __u64 di, __u64 bx)
{
	struct event_copy *c = (void *)to;

	c->sp = sp;
	c->bp = bp;
	c->di = di;
	c->bx = bx;
	return c->words;
}

/*
 * Adds what lies on the stack behind the frame that lacked its rows, so that
 * the walk can go on when they are there.  Returns the bytes of it.
 */
static __always_inline __u64
fill_copy(struct unwind_scratch *s, __u64 frames)
{
	struct sample_event *e = &s->event;
	__u64 sp = s->walk.lacking.sp, n;
	__u64 *to = &e->frames[frames & 255];
	const struct unwind_lacking *of = &s->walk.lacking;

	if ((e->flags & EVENT_PENDING) == 0 || (sp & 7) != 0 ||
	    sp >= s->stack_end || !may_copy(s))
		return 0;
	to = fill_copy_head(to, sp, of->bp, of->di, of->bx);
	n = copy_pages((char *)to, sp, s->stack_end, COPY_PAGES);
	if (n == 0)
		return 0;
	e->flags |= of->is_caller ? EVENT_COPY | EVENT_CALLER : EVENT_COPY;
	return n + EVENT_COPY_HEAD;
}

/* An event with a deep copy: as it is sent. */
struct deep_event {
	struct sample_event event;
	__u64 more[DEEP_PAGES * PAGE / 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct deep_event);
} deep_events SEC(".maps");

/* Sends an event of so many bytes with further pages of the stack from sp on,
 * where it goes on there.  False: nothing was sent. */
static __always_inline bool
send_deep(struct unwind_scratch *s, __u64 size, __u64 sp, __u64 wake, long *r)
{
	struct deep_event *d;
	__u32 zero = 0;

	if ((s->event.flags & EVENT_COPY) == 0 || s->deep == 0 ||
	    sp >= s->stack_end)
		return 0;
	d = bpf_map_lookup_elem(&deep_events, &zero);
	if (d == 0 || size > sizeof(d->event) ||
	    bpf_probe_read_kernel(d, size, &s->event) != 0)
		return 0;
	size += copy_pages((char *)d + size, sp, s->stack_end, DEEP_PAGES);
	*r = bpf_ringbuf_output(&ring, d, size, wake);
	return 1;
}

/* Does so much wait in the ring that this type sends no more? */
static __always_inline bool
ring_is_full(void)
{
	return ring_share_bytes != 0 &&
	    bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > ring_share_bytes;
}

/*
 * Is there room for the stack of a wait?  Of too many the shortest go: from
 * half of this type's share on, the least length is doubled with each further
 * sixteenth of it.
 */
static __always_inline bool
ring_has_room_for(__u64 ns, __u64 least_ns)
{
	__u64 used = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	__u64 half = ring_share_bytes / 2;

	return used <= half || ns >> ((used - half) / (half / 8) + 1) >=
	    least_ns;
}

/* What stands for so many samples; false: there was no room. */
static __always_inline bool
send(struct unwind_scratch *s, struct sample_counts *c, __u64 samples)
{
	struct sample_event *e = &s->event;
	__u64 frames = (e->n_kernel & EVENT_MAX_KERNEL) +
	    (e->n_user & EVENT_MAX_USER);
	__u64 copied = fill_copy(s, frames), wake = BPF_RB_NO_WAKEUP, sp;
	__u64 size = __builtin_offsetof(struct sample_event, frames) +
	    frames * sizeof(__u64) + copied;
	long r;

	if (ring_is_full()) {
		c->n[COUNT_RING_FULL] += samples;
		return 0;
	}
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > ring_wake_bytes)
		wake = BPF_RB_FORCE_WAKEUP;
	sp = s->walk.lacking.sp + copied - EVENT_COPY_HEAD;
	if (!send_deep(s, size, sp, wake, &r))
		r = bpf_ringbuf_output(&ring, e, size, wake);
	if (r == 0)
		c->n[COUNT_SENT] += samples;
	else
		c->n[COUNT_RING_FULL] += samples;
	return r == 0;
}

#endif
