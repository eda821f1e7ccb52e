/*
 * The kernel's callers of a retpoline.  Its own unwinder finds no way out of
 * that code, for which its tables (ORC) say "undefined": a row there holds for
 * all states of the stack, of which there are two.  We know which one it is,
 * and go on by the same tables, which lie in the kernel's memory:
 *
 *	ips   n offsets of 32 bits, each from where it stands to code
 *	rows  n rows of 6 bytes: how the caller's registers are found from that
 *	      code on, up to the next one
 *
 * A step costs some 25 reads of kernel memory, and one sample of a thousand is
 * in such code.
 */
#ifndef COLLECTOR_BPF_ORC_BPF_H
#define COLLECTOR_BPF_ORC_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define ORC_ROW 6    /* bytes */
#define ORC_STEPS 22 /* of a search among 4,194,304 rows */
#define ORC_THUNK 32 /* bytes of code for a register, of 16 */
#define ORC_CALL 0xe8 /* its first byte, where it is a retpoline */

/* Set before loading; of numbers that it knew, the verifier would follow the
 * search. */
volatile struct unwind_orc kernel_orc SEC(".data.orc") = {0};

enum orc_register {
	ORC_UNDEFINED,
	ORC_PREV_SP,
	ORC_BP = 4,
	ORC_SP,
	ORC_BP_INDIRECT = 8,
	ORC_SP_INDIRECT
};

enum orc_type { /* since 6.4 */
	ORC_NOTHING,
	ORC_END,
	ORC_CALLED,
	ORC_REGS,
	ORC_REGS_PARTIAL
};

struct orc_row {
	__s32 sp_offset, bp_offset;
	__u32 sp_reg, bp_reg, type;
};

struct orc_walk {
	__u64 ip, sp, bp;
	__u64 in_ip; /* in the code that called, or was interrupted */
	__u32 n, whole;
};

static __always_inline __u64
orc_word(__u64 at)
{
	__u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), (void *)at);
	return word;
}

/* The code from which on row i holds. */
static __always_inline __u64
orc_code(__u64 i)
{
	__u64 at = kernel_orc.ips + i * sizeof(__s32);
	__s32 offset = 0;

	bpf_probe_read_kernel(&offset, sizeof(offset), (void *)at);
	return at + offset;
}

struct orc_search {
	__u64 ip, low, high;
};

static long
orc_halve(__u32 i, void *search)
{
	struct orc_search *s = search;
	__u64 middle = (s->low + s->high) / 2;

	if (s->low + 1 >= s->high)
		return 1;
	if (orc_code(middle) <= s->ip)
		s->low = middle;
	else
		s->high = middle;
	return 0;
}

/* The row for code of the kernel proper: the last that begins at or before
 * it. */
static __always_inline __u64
orc_find(__u64 ip)
{
	struct orc_search s = {ip, 0, (kernel_orc.ips_end - kernel_orc.ips) /
	    sizeof(__s32)};

	bpf_loop(ORC_STEPS, orc_halve, &s, 0);
	return kernel_orc.rows + s.low * ORC_ROW;
}

static __always_inline __u32
orc_type(const struct orc_entry *at)
{
	const struct orc_entry___older *older = (void *)at;
	__u32 type;

	if (!bpf_core_field_exists(older->end))
		return BPF_CORE_READ_BITFIELD_PROBED(at, type);
	if (BPF_CORE_READ_BITFIELD_PROBED(older, end) != 0)
		return ORC_END;
	type = BPF_CORE_READ_BITFIELD_PROBED(older, type);
	return type + ORC_CALLED;
}

static __always_inline void
orc_read(__u64 address, struct orc_row *row)
{
	const struct orc_entry *at = (void *)address;

	row->sp_offset = BPF_CORE_READ(at, sp_offset);
	row->bp_offset = BPF_CORE_READ(at, bp_offset);
	row->sp_reg = BPF_CORE_READ_BITFIELD_PROBED(at, sp_reg);
	row->bp_reg = BPF_CORE_READ_BITFIELD_PROBED(at, bp_reg);
	row->type = orc_type(at);
}

/* The stack pointer behind the frame, or what lies there; 0: this row needs
 * another register. */
static __always_inline __u64
orc_frame(const struct orc_walk *w, const struct orc_row *row)
{
	switch (row->sp_reg) {
	case ORC_SP:
		return w->sp + row->sp_offset;
	case ORC_BP:
		return w->bp + row->sp_offset;
	case ORC_SP_INDIRECT:
		return orc_word(w->sp) + row->sp_offset;
	case ORC_BP_INDIRECT:
		return orc_word(w->bp + row->sp_offset);
	default:
		return 0;
	}
}

/* What was interrupted, in the kernel or, where all ends, in the program. */
static __always_inline bool
orc_interrupted(struct orc_walk *w, const struct pt_regs *regs)
{
	w->whole = (BPF_CORE_READ(regs, cs) & USER_CS) != 0;
	w->ip = w->in_ip = BPF_CORE_READ(regs, ip);
	w->sp = BPF_CORE_READ(regs, sp);
	w->bp = BPF_CORE_READ(regs, bp);
	return !w->whole;
}

/* Goes to the caller; false: there is none, or none that we find. */
static __always_inline bool
orc_step(struct orc_walk *w)
{
	struct orc_row row;
	__u64 sp;

	if (w->in_ip < kernel_orc.text || w->in_ip >= kernel_orc.text_end)
		return 0; /* a module's, whose tables are its own */
	orc_read(orc_find(w->in_ip), &row);
	w->whole = row.type == ORC_END;
	sp = orc_frame(w, &row);
	if (sp == 0)
		return 0;
	if (row.type == ORC_REGS)
		return orc_interrupted(w, (void *)sp);
	if (row.type != ORC_CALLED)
		return 0;
	w->ip = orc_word(sp - sizeof(__u64));
	w->in_ip = w->ip - 1;
	w->sp = sp;
	if (row.bp_reg == ORC_PREV_SP)
		w->bp = orc_word(sp + row.bp_offset);
	else if (row.bp_reg == ORC_BP)
		w->bp = orc_word(w->bp + row.bp_offset);
	return 1;
}

/* The first one's caller: behind the retpoline's own call that is one word
 * farther.  Other code for calls by a register leaves the stack alone. */
static __always_inline void
orc_begin(struct orc_walk *w, __u64 ip, __u64 sp, __u64 bp)
{
	__u64 thunk = ip & ~(__u64)(ORC_THUNK - 1);

	if (ip != thunk && (orc_word(thunk) & 0xff) == ORC_CALL)
		sp += sizeof(__u64);
	w->ip = orc_word(sp);
	w->in_ip = w->ip - 1;
	w->sp = sp + sizeof(__u64);
	w->bp = bp;
	w->n = 1;
	w->whole = 0;
}

static long
orc_caller(__u32 i, void *walk)
{
	__u32 slot = UNWIND_SLOT_PERF;
	struct unwind_scratch *s = bpf_map_lookup_elem(&scratch, &slot);
	struct orc_walk *w = walk;

	if (s == 0 || w->ip == 0)
		return 1;
	s->event.frames[(i + 1) & EVENT_MAX_KERNEL] = w->ip;
	w->n = i + 2;
	return !orc_step(w);
}

/* A function of its own for the verifier. */
__noinline int
orc_callers(__u64 ip, __u64 sp, __u64 bp)
{
	__u32 slot = UNWIND_SLOT_PERF;
	struct unwind_scratch *s = bpf_map_lookup_elem(&scratch, &slot);
	struct orc_walk w;

	if (s == 0)
		return 0;
	orc_begin(&w, ip, sp, bp);
	bpf_loop(EVENT_MAX_KERNEL - 1, orc_caller, &w, 0);
	s->event.n_kernel = w.n & EVENT_MAX_KERNEL;
	s->event.kernel_cut = !w.whole;
	return 0;
}

/* A stack of the kernel's of nothing but a leaf of such code. */
static __always_inline void
orc_mend(struct sample_event *e, struct perf_context *ctx)
{
	__u64 ip = e->frames[0];

	if (e->n_kernel != 1 || kernel_orc.thunks == 0 ||
	    ip - kernel_orc.thunks >= 16 * ORC_THUNK)
		return;
	e->kernel_cut = 1;
	if (kernel_orc.rows != 0)
		orc_callers(ip, *(volatile unsigned long *)&ctx->sp,
		    *(volatile unsigned long *)&ctx->bp);
}

#endif
