/*
 * One step of a stack walk: from a frame to its caller.  Compiled as BPF
 * into the samplers and as plain C into the tests, so it needs from whoever
 * includes it:
 *
 *	UNWIND_INLINE                      storage class of these functions
 *	unwind_read_user(to, n, address)   0 when all n bytes were read
 *	unwind_cell(i)                     pointers into the maps of unwind.h,
 *	unwind_mapping(i)                  NULL when out of bounds
 *	unwind_table(i)
 *	unwind_original(s)                 see unwind_arrive()
 *
 * The caller of unwind_step() notes s->ip before each step.  Registers are
 * x86-64's; another machine needs another unwind_apply().
 */
#ifndef COLLECTOR_BPF_UNWIND_STEP_H
#define COLLECTOR_BPF_UNWIND_STEP_H

#include "event.h"
#include "../unwind.h"

UNWIND_INLINE const __u64 *unwind_cell(__u32 i);
UNWIND_INLINE const struct unwind_mapping *unwind_mapping(__u32 i);
UNWIND_INLINE struct unwind_table *unwind_table(__u32 i);

struct unwind_state;
UNWIND_INLINE __u64 unwind_original(struct unwind_state *s);

struct unwind_state {
	__u64 ip, sp, bp;
	__u64 start, end, bias;  /* of the mapping that was last used */
	struct unwind_table table; /* its table, without used_s */
	__u64 trampoline; /* the page of uretprobes; 0: none */
	__u64 instance;   /* the next hidden return address, a kernel's */
	__u64 stepped;    /* whose copy is being executed there; 0: none */
	__u32 first, n;          /* the process's mappings */
	__u32 now_s;
	__u8 is_caller; /* ip is behind a call */
	__u8 error;     /* enum event_error, once unwind_step() said stop */
	__u8 pending;   /* frame pointers stood in for a table to come */
	__u8 guessed;   /* frame pointers stood in for a row */
};

/* What follows a wrong guess is the guess's fault. */
UNWIND_INLINE int
unwind_fail(struct unwind_state *s, __u8 error)
{
	s->error = s->guessed ? EVENT_NO_ROW : error;
	return 1;
}

/* Copies the mapping and its table into the state. */
UNWIND_INLINE int
unwind_use(struct unwind_state *s, const struct unwind_mapping *m)
{
	__u32 which = m->table;
	struct unwind_table *t;

	s->start = m->start;
	s->end = m->start + ((__u64)m->pages << 12);
	s->bias = m->bias;
	s->table.state = UNWIND_TABLE_NONE;
	if (which == UNWIND_NO_TABLE)
		return 1;
	t = unwind_table(which);
	if (t == 0)
		return 1;
	s->table.state = *(volatile __u32 *)&t->state; /* before the rest */
	s->table.first = t->first;
	s->table.base = t->base;
	s->table.shift = t->shift;
	s->table.buckets = t->buckets;
	s->table.rows = t->rows;
	if (t->used_s != s->now_s)
		t->used_s = s->now_s;
	return 1;
}

/* Makes the mapping that holds pc the state's; 0 when none does. */
UNWIND_INLINE int
unwind_find_mapping(struct unwind_state *s, __u64 pc)
{
	__u32 low = s->first, high = s->first + s->n, mid;
	const struct unwind_mapping *m;
	int i;

	if (pc >= s->start && pc < s->end)
		return 1;
	for (i = 0; i < UNWIND_MAPPING_STEPS; i++) {
		if (low >= high)
			break;
		mid = (low + high) >> 1;
		m = unwind_mapping(mid);
		if (m == 0)
			return 0;
		if (m->start <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == s->first)
		return 0;
	m = unwind_mapping(low - 1);
	if (m == 0 || pc < m->start ||
	    pc - m->start >= (__u64)m->pages << 12)
		return 0;
	return unwind_use(s, m);
}

/* The row for pc, which lies in the state's mapping; NULL when there is
 * none.  See unwind.h for the layout. */
UNWIND_INLINE const struct unwind_row *
unwind_find_row(const struct unwind_state *s, __u64 pc)
{
	const struct unwind_table *t = &s->table;
	__u64 offset = pc - s->bias;
	__u32 at, rows = t->first + t->buckets, low, high, mid;
	const struct unwind_row *row;
	const __u64 *cell;
	int i;

	if (offset < t->base || offset > 0xffffffffu)
		return 0;
	at = (__u32)(offset - t->base) >> (t->shift & 31);
	if (at >= t->buckets)
		return 0;
	cell = unwind_cell(t->first + at);
	if (cell == 0)
		return 0;
	low = (__u32)*cell;
	high = *cell >> 32;
	for (i = 0; i < UNWIND_ROW_STEPS; i++) {
		if (low >= high)
			break;
		mid = (low + high) >> 1;
		row = (const struct unwind_row *)unwind_cell(rows + mid);
		if (row == 0)
			return 0;
		if (row->pc <= (__u32)offset)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || low > t->rows)
		return 0;
	return (const struct unwind_row *)unwind_cell(rows + low - 1);
}

/*
 * At the caller.  A uretprobe puts the address of its trampoline where the
 * return address was; unwind_original() knows the hidden ones, innermost
 * first, and gives 0 when there is none left.
 */
UNWIND_INLINE int
unwind_arrive(struct unwind_state *s, __u64 ip)
{
	s->is_caller = 1;
	if (s->trampoline != 0 && (ip & ~0xfffULL) == s->trampoline) {
		ip = unwind_original(s);
		if (ip == 0)
			return unwind_fail(s, EVENT_TRAMPOLINE);
	}
	s->ip = ip;
	return ip == 0;
}

/*
 * Before the first step.  A leaf in the trampoline has returned already, to
 * an address that is hidden like the others.  The trampoline is a breakpoint
 * at its first byte, or, in newer kernels, a system call after three pushes;
 * in the bytes between it is, for nanoseconds, unclear where the stack is.
 * Behind it are copies of probed instructions, executed one at a time.
 */
UNWIND_INLINE int
unwind_begin(struct unwind_state *s)
{
	__u64 offset = s->ip - s->trampoline, ip;

	if (s->trampoline == 0 || offset >= 4096)
		return 0;
	if (offset >= 128)
		ip = s->stepped;
	else
		ip = offset == 0 || offset > 4 ? unwind_original(s) : 0;
	if (ip == 0)
		return unwind_fail(s, EVENT_TRAMPOLINE);
	s->ip = ip;
	s->sp += offset == 0 || offset >= 128 ? 0 : 24;
	return 0;
}

/*
 * Code in a gap of the table: whoever builds without tables (chromium does)
 * or in assembler mostly keeps frame pointers.  In a leaf, bp 0 is no end of
 * the chain but a register like others.
 */
UNWIND_INLINE int unwind_by_pointer(struct unwind_state *s);
UNWIND_INLINE int
unwind_guess(struct unwind_state *s)
{
	s->guessed = 1;
	if (s->bp == 0 && !s->is_caller)
		return unwind_fail(s, EVENT_NO_ROW);
	return unwind_by_pointer(s);
}

/* The frame as a function leaves it that begins with push %rbp; mov
 * %rsp,%rbp. */
UNWIND_INLINE int
unwind_by_pointer(struct unwind_state *s)
{
	__u64 pair[2]; /* caller's bp, return address */

	if (s->table.state == UNWIND_TABLE_PENDING)
		s->pending = 1;
	if (s->bp == 0)
		return 1; /* the convention's end */
	if (s->bp < s->sp)
		return unwind_fail(s, EVENT_BAD_STACK);
	if (unwind_read_user(pair, sizeof(pair), s->bp) != 0)
		return unwind_fail(s, EVENT_UNREADABLE);
	s->sp = s->bp + 16;
	s->bp = pair[0];
	return unwind_arrive(s, pair[1]);
}

/* struct ucontext at sp, as the kernel pushed it: rbp, rbx, rdx, rax, rcx,
 * rsp, rip from 120 on. */
UNWIND_INLINE int
unwind_signal(struct unwind_state *s)
{
	__u64 regs[7];

	if (unwind_read_user(regs, sizeof(regs), s->sp + 120) != 0)
		return unwind_fail(s, EVENT_UNREADABLE);
	s->bp = regs[0];
	s->sp = regs[5];
	s->ip = regs[6];
	s->is_caller = 0;
	return s->ip == 0;
}

/* The CFA of a row; 0 with the error set when there is none. */
UNWIND_INLINE __u64
unwind_cfa(struct unwind_state *s, __u32 kind, __u64 n)
{
	__u64 at, cfa = 0;

	if (kind == UNWIND_SP)
		return s->sp + 8 * n;
	if (kind == UNWIND_BP)
		return s->bp + 8 * n;
	if (kind == UNWIND_PLT)
		return s->sp + 8 + ((s->ip & 15) >= n ? 8 : 0);
	if (kind == UNWIND_AT_SP || kind == UNWIND_AT_BP) {
		at = kind == UNWIND_AT_SP ? s->sp : s->bp;
		at += 8 * n - 8 * (__u64)UNWIND_CFA_ZERO;
		if (unwind_read_user(&cfa, sizeof(cfa), at) == 0)
			return cfa;
		unwind_fail(s, EVENT_UNREADABLE);
		return 0;
	}
	unwind_fail(s, EVENT_UNSUPPORTED);
	return 0;
}

/* Goes to the caller, whose registers lie below the CFA.  Mostly bp is
 * saved right below the return address: one reading serves both. */
UNWIND_INLINE int
unwind_return(struct unwind_state *s, __u64 cfa, __u32 bp)
{
	__u64 pair[2] = {s->bp, 0};

	if (cfa <= s->sp)
		return unwind_fail(s, EVENT_BAD_STACK);
	if (bp == 2) {
		if (unwind_read_user(pair, sizeof(pair), cfa - 16) != 0)
			return unwind_fail(s, EVENT_UNREADABLE);
	} else {
		if (bp != UNWIND_BP_SAME && unwind_read_user(&pair[0], 8,
		    bp == UNWIND_BP_AT_BP ? s->bp : cfa - 8 * bp) != 0)
			return unwind_fail(s, EVENT_UNREADABLE);
		if (unwind_read_user(&pair[1], 8, cfa - 8) != 0)
			return unwind_fail(s, EVENT_UNREADABLE);
	}
	s->bp = pair[0];
	s->sp = cfa;
	return unwind_arrive(s, pair[1]);
}

UNWIND_INLINE int
unwind_apply(struct unwind_state *s, const struct unwind_row *row)
{
	__u32 kind = row->kind, bp = row->bp;
	__u64 cfa;

	if (kind == UNWIND_STOP)
		return 1;
	if (kind == UNWIND_SIGNAL)
		return unwind_signal(s);
	cfa = unwind_cfa(s, kind, row->cfa);
	if (s->error != EVENT_OK)
		return 1;
	return unwind_return(s, cfa, bp);
}

/* From the frame to its caller; nonzero: the walk is over, and s->error says
 * whether it came to the thread's beginning. */
UNWIND_INLINE int
unwind_step(struct unwind_state *s)
{
	__u64 pc = s->ip - s->is_caller;
	const struct unwind_row *row;

	if (!unwind_find_mapping(s, pc))
		return unwind_fail(s, s->trampoline != 0 &&
		    (pc & ~0xfffULL) == s->trampoline ? EVENT_TRAMPOLINE :
		    EVENT_NO_MAPPING);
	if (s->table.state != UNWIND_TABLE_READY)
		return unwind_by_pointer(s);
	row = unwind_find_row(s, pc);
	if (row == 0 || row->kind == UNWIND_NONE)
		return unwind_guess(s);
	return unwind_apply(s, row);
}

#endif
