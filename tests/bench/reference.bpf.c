/*
 * A plain stack walker to measure ours against: the same rows of .eh_frame,
 * looked up by two binary searches over whole arrays, frames at fixed places
 * of the event, every event announced to the reader.  No index, nothing kept
 * from one walk to the next, no fallback, no process life.
 *
 * It stands in for the prototype from which ours set out, whose sources are no
 * part of this project, and is of the same design to the order of its maps and
 * the shape of its event: in alternate runs on a quiet machine the prototype
 * took 23 to 29 us a sample where this one took 26 to 32.  For the benchmark
 * only.
 */
#include "collector/bpf/kernel.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "collector/bpf/unwind.h"
#include "tests/bench/reference.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, REFERENCE_ROWS);
	__type(key, __u32);
	__type(value, struct unwind_row);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, REFERENCE_MAPPINGS);
	__type(key, __u32);
	__type(value, struct reference_mapping);
} mappings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REFERENCE_PROCESSES);
	__type(key, __u32);
	__type(value, struct reference_process);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} ring SEC(".maps");

struct walk {
	__u64 ip, sp, bp, start, end, bias;
	__u32 first_mapping, n_mappings, first_row, n_rows;
	__u32 is_caller, done, n, zero;
	struct reference_event event;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk);
} scratch SEC(".maps");

static __always_inline long
stop(struct walk *w, __u32 error)
{
	w->event.error = error;
	w->done = 1;
	return 1;
}

static __always_inline int
find_mapping(struct walk *w, __u64 pc)
{
	__u32 low = w->first_mapping, high = low + w->n_mappings, mid;
	struct reference_mapping *m;
	int i;

	if (pc >= w->start && pc < w->end)
		return 1;
	for (i = 0; i < 14 && low < high; i++) {
		mid = (low + high) >> 1;
		m = bpf_map_lookup_elem(&mappings, &mid);
		if (m == 0)
			return 0;
		if (m->start <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == w->first_mapping)
		return 0;
	low--;
	m = bpf_map_lookup_elem(&mappings, &low);
	if (m == 0 || pc < m->start || pc >= m->end)
		return 0;
	w->start = m->start;
	w->end = m->end;
	w->bias = m->bias;
	w->first_row = m->first;
	w->n_rows = m->n;
	return 1;
}

static __always_inline struct unwind_row *
find_row(struct walk *w, __u32 pc)
{
	__u32 low = w->first_row, high = low + w->n_rows, mid;
	struct unwind_row *r;
	int i;

	for (i = 0; i < 22 && low < high; i++) {
		mid = (low + high) >> 1;
		r = bpf_map_lookup_elem(&rows, &mid);
		if (r == 0)
			return 0;
		if (r->pc <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == w->first_row)
		return 0;
	low--;
	return bpf_map_lookup_elem(&rows, &low);
}

static __always_inline int
read8(__u64 *to, __u64 from)
{
	return bpf_probe_read_user(to, sizeof(*to), (const void *)from);
}

static long
step(__u32 i, void *context)
{
	__u32 zero = 0, n, kind;
	struct walk *w = bpf_map_lookup_elem(&scratch, &zero);
	struct unwind_row *r;
	__u64 pc, cfa, at, value, regs[7];

	if (w == 0)
		return 1;
	pc = w->ip - w->is_caller;
	n = w->n;
	if (n >= REFERENCE_FRAMES)
		return stop(w, REFERENCE_BROKEN);
	w->event.frames[REFERENCE_FRAMES + (n & 127)] = w->ip;
	w->n = n + 1;
	if (!find_mapping(w, pc))
		return stop(w, REFERENCE_BROKEN);
	r = find_row(w, (__u32)(pc - w->bias));
	if (r == 0)
		return stop(w, REFERENCE_BROKEN);
	kind = r->kind;
	at = 8 * (__u64)r->cfa;
	if (kind == UNWIND_SP) {
		cfa = w->sp + at;
	} else if (kind == UNWIND_BP) {
		cfa = w->bp + at;
	} else if (kind == UNWIND_PLT) {
		cfa = w->sp + 8 + ((w->ip & 15) >= r->cfa ? 8 : 0);
	} else if (kind == UNWIND_AT_SP || kind == UNWIND_AT_BP) {
		at += (kind == UNWIND_AT_SP ? w->sp : w->bp) -
		    8 * (__u64)UNWIND_CFA_ZERO;
		if (read8(&cfa, at) != 0)
			return stop(w, REFERENCE_BROKEN);
	} else if (kind == UNWIND_SIGNAL) {
		if (bpf_probe_read_user(regs, sizeof(regs),
		    (const void *)(w->sp + 120)) != 0)
			return stop(w, REFERENCE_BROKEN);
		w->bp = regs[0];
		w->sp = regs[5];
		w->ip = regs[6];
		w->is_caller = 0;
		return 0;
	} else {
		return stop(w, kind == UNWIND_STOP ? REFERENCE_WHOLE :
		    REFERENCE_BROKEN);
	}
	if (cfa <= w->sp)
		return stop(w, REFERENCE_BROKEN);
	if (r->bp != UNWIND_BP_SAME) {
		if (read8(&value, r->bp == UNWIND_BP_AT_BP ? w->bp :
		    cfa - 8 * (__u64)r->bp) != 0)
			return stop(w, REFERENCE_BROKEN);
		w->bp = value;
	}
	if (read8(&value, cfa - 8) != 0)
		return stop(w, REFERENCE_BROKEN);
	w->sp = cfa;
	w->ip = value;
	w->is_caller = 1;
	return value == 0 ? stop(w, REFERENCE_WHOLE) : 0;
}

static __always_inline void
begin(struct walk *w, struct perf_context *ctx, __u32 pid)
{
	struct reference_process *p;
	struct pt_regs *regs;
	long n = 0;

	w->done = 0;
	w->n = 0;
	w->start = 0;
	w->end = 0;
	w->is_caller = 0;
	w->event.error = REFERENCE_WHOLE;
	if ((ctx->cs & USER_CS) != 0) {
		w->ip = ctx->ip;
		w->sp = ctx->sp;
		w->bp = ctx->bp;
	} else {
		n = bpf_get_stack(ctx, w->event.frames, REFERENCE_FRAMES * 8,
		    0);
		regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
		w->ip = regs->ip;
		w->sp = regs->sp;
		w->bp = regs->bp;
	}
	w->event.n_kernel = n > 0 ? n / 8 : 0;
	p = bpf_map_lookup_elem(&processes, &pid);
	if (p == 0) {
		stop(w, REFERENCE_UNKNOWN);
		return;
	}
	w->first_mapping = p->first;
	w->n_mappings = p->n;
}

SEC("perf_event")
int
reference_sample(struct perf_context *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 zero = 0, size;
	struct walk *w;

	if (id == 0)
		return 0;
	w = bpf_map_lookup_elem(&scratch, &zero);
	if (w == 0)
		return 0;
	w->event.pid = id >> 32;
	w->event.tid = (__u32)id;
	w->event.cpu = bpf_get_smp_processor_id();
	w->event.time_ns = bpf_ktime_get_ns();
	bpf_get_current_comm(w->event.comm, sizeof(w->event.comm));
	begin(w, ctx, id >> 32);
	if (!w->done)
		bpf_loop(REFERENCE_FRAMES + 1, step, &zero, 0);
	w->event.n_user = w->n;
	/* The kernel's frames as room, the user's as many as there are. */
	size = __builtin_offsetof(struct reference_event, frames) +
	    REFERENCE_FRAMES * 8 + (w->n & 127) * 8;
	bpf_ringbuf_output(&ring, &w->event, size, 0);
	return 0;
}

char program_license[] SEC("license") = "GPL";
