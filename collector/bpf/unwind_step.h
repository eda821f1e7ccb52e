/*
 * One step of a stack walk: from a frame to its caller.  Compiled as BPF
 * into the samplers and as plain C into the tests, so it needs from whoever
 * includes it:
 *
 *	UNWIND_INLINE                      storage class of these functions
 *	unwind_read_user(to, n, address)   0 when all n bytes were read
 *	unwind_mapping(i)                  pointers into the maps of unwind.h,
 *	unwind_table(i)                    NULL when out of bounds
 *	unwind_region(i)
 *	unwind_chunk(i)
 *	unwind_cell(chunk, i)              cell i of the chunk
 *	unwind_original(s)                 see unwind_arrive()
 *
 * The caller of unwind_step() notes unwind_noted() before each step.  Registers
 * are x86-64's; another machine needs another unwind_apply().
 */
#ifndef COLLECTOR_BPF_UNWIND_STEP_H
#define COLLECTOR_BPF_UNWIND_STEP_H

#include "collector/bpf/unwind_find.h"

UNWIND_INLINE __u64 unwind_original(struct unwind_state *s);

/*
 * What is noted of frame i: of the leaf where it is, of others what lies behind
 * their calls.  What a signal interrupted has called nothing: the byte behind
 * its address stands for it, so that all callers are looked up alike.
 */
UNWIND_INLINE __u64
unwind_noted(const struct unwind_state *s, __u32 i)
{
	return s->ip + (i > 0 && !s->is_caller);
}

/* What follows a wrong guess is the guess's fault. */
UNWIND_INLINE int
unwind_fail(struct unwind_state *s, __u8 error)
{
	s->error = s->guessed != BROKEN_NOT ? s->guessed : error;
	return 1;
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
			return unwind_fail(s, BROKEN_TRAMPOLINE);
	}
	s->ip = ip;
	/* What tables lead to is the end of a stack that was made so. */
	return ip == 0 ? unwind_fail(s, BROKEN_NOT) : 0;
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
		return unwind_fail(s, BROKEN_TRAMPOLINE);
	s->ip = ip;
	s->sp += offset == 0 || offset >= 128 ? 0 : 24;
	return 0;
}

/*
 * Code in a gap of the table: whoever builds without tables (chromium does)
 * or in assembler mostly keeps frame pointers.  Or code whose rows are too
 * many: it mostly keeps none.
 */
UNWIND_INLINE int unwind_by_pointer(struct unwind_state *s);
UNWIND_INLINE int
unwind_guess(struct unwind_state *s, __u8 why)
{
	if (s->guessed == BROKEN_NOT)
		s->guessed = why;
	return unwind_by_pointer(s);
}

/* Notes the first code whose rows are not there. */
UNWIND_INLINE void
unwind_lack(struct unwind_state *s)
{
	if (s->pending)
		return;
	s->pending = 1;
	s->lacking.sp = s->sp;
	s->lacking.bp = s->bp;
	s->lacking.di = s->di;
	s->lacking.bx = s->bx;
	s->lacking.table = s->place.which;
	s->lacking.offset = (__u32)(s->ip - s->is_caller - s->place.bias);
	s->lacking.frame = s->depth > 0 ? s->depth - 1 : 0;
	s->lacking.is_caller = s->is_caller;
}

/*
 * The frame as a function leaves it that begins with push %rbp; mov
 * %rsp,%rbp.  A thread begins where a caller's bp is 0, in code of a file
 * that may keep frame pointers.  No return address is 0 there: such a pair of
 * words is no frame, and bp no frame pointer.
 */
UNWIND_INLINE int
unwind_follow_pointer(struct unwind_state *s)
{
	__u64 pair[2]; /* caller's bp, return address */

	if (unwind_read_user(pair, sizeof(pair), s->bp) != 0)
		return unwind_fail(s, BROKEN_UNREADABLE);
	if (pair[1] == 0)
		return unwind_fail(s, BROKEN_NO_ROW);
	s->sp = s->bp + 16;
	s->bp = pair[0];
	return unwind_arrive(s, pair[1]);
}

UNWIND_INLINE int
unwind_by_pointer(struct unwind_state *s)
{
	if (s->place.state == UNWIND_TABLE_PENDING)
		unwind_lack(s);
	if (s->bp == 0 && s->is_caller &&
	    s->place.state != UNWIND_TABLE_NO_FILE &&
	    s->guessed != BROKEN_TOO_LARGE)
		return 1; /* the convention's end */
	if (s->bp == 0) /* a leaf's, or a JIT's: a register like others */
		return unwind_fail(s, BROKEN_NO_ROW);
	if (s->bp < s->sp)
		return unwind_fail(s, BROKEN_BAD_STACK);
	return unwind_follow_pointer(s);
}

/*
 * Go's callers have frame pointers in all of its code.  Where the runtime
 * leaves a goroutine's stack for its thread's, for a garbage collection or to
 * ask the vDSO for the time, bp is that of the goroutine still: its stack lies
 * anywhere.
 */
UNWIND_INLINE int
unwind_go(struct unwind_state *s)
{
	if (s->bp == 0)
		return s->is_caller ? 1 : unwind_fail(s, BROKEN_NO_ROW);
	return unwind_follow_pointer(s);
}

/* What was interrupted is a leaf as the first one, of other registers. */
UNWIND_INLINE void
unwind_interrupted(struct unwind_state *s)
{
	s->bottom = s->sp;
	s->r10 = 0;
	s->di = 0;
	s->is_caller = 0;
}

/* struct ucontext at sp, as the kernel pushed it: rbp, rbx, rdx, rax, rcx,
 * rsp, rip from 120 on. */
UNWIND_INLINE int
unwind_signal(struct unwind_state *s)
{
	__u64 regs[7];

	if (unwind_read_user(regs, sizeof(regs), s->sp + 120) != 0)
		return unwind_fail(s, BROKEN_UNREADABLE);
	s->bp = regs[0];
	s->bx = regs[1];
	s->sp = regs[5];
	s->ip = regs[6];
	unwind_interrupted(s);
	return 0;
}

/* Go's asyncPreempt(), which saves bp right below the address, if it has. */
UNWIND_INLINE int
unwind_pushed(struct unwind_state *s, struct unwind_rule rule)
{
	__u64 pair[2]; /* bp, the address */

	s->sp += 8 * (__u64)rule.cfa;
	if (unwind_read_user(pair, sizeof(pair), s->sp - 16) != 0)
		return unwind_fail(s, BROKEN_UNREADABLE);
	if (rule.bp != UNWIND_BP_SAME)
		s->bp = pair[0];
	s->ip = pair[1];
	unwind_interrupted(s);
	return 0;
}

/*
 * The GNU C library's loader keeps its CFA in rbx while it binds a symbol, for
 * it aligns the stack to save vector registers there.  What it has called saves
 * rbx at one place, as soon as it has pushed so far.  0 with the error set when
 * there is none.
 */
UNWIND_INLINE __u64
unwind_cfa_by_bx(struct unwind_state *s, struct unwind_rule rule)
{
	__u64 at = s->sp - 8 * (__u64)rule.bp, bx = s->bx;

	if (s->is_caller && rule.bp == 0)
		unwind_fail(s, BROKEN_UNSUPPORTED);
	else if (s->is_caller && at >= s->bottom &&
	    unwind_read_user(&bx, sizeof(bx), at) != 0)
		unwind_fail(s, BROKEN_UNREADABLE);
	else if (bx < s->sp || bx - s->sp > UNWIND_BX_MAX)
		unwind_fail(s, BROKEN_BAD_STACK);
	return s->error == BROKEN_NOT ? bx + 8 * (__u64)rule.cfa : 0;
}

/* The CFA of a rule; 0 with the error set when there is none. */
UNWIND_INLINE __u64
unwind_cfa(struct unwind_state *s, __u32 kind, __u64 n)
{
	__u64 at, cfa = 0;

	if (kind == UNWIND_SP || kind == UNWIND_GO)
		return s->sp + 8 * n;
	if (kind == UNWIND_SP_FAR)
		return s->sp + 8 * (n + UNWIND_CFA_FAR);
	if (kind == UNWIND_BP)
		return s->bp + 8 * n;
	if (kind == UNWIND_R10 && !s->is_caller && s->r10 != 0)
		return s->r10 + 8 * n;
	if (kind == UNWIND_PLT)
		return s->sp + 8 + ((s->ip & 15) >= n ? 8 : 0);
	if (kind == UNWIND_AT_SP || kind == UNWIND_AT_BP) {
		at = kind == UNWIND_AT_SP ? s->sp : s->bp;
		at += 8 * n - 8 * (__u64)UNWIND_CFA_ZERO;
		if (unwind_read_user(&cfa, sizeof(cfa), at) == 0)
			return cfa;
		unwind_fail(s, BROKEN_UNREADABLE);
		return 0;
	}
	unwind_fail(s, BROKEN_UNSUPPORTED);
	return 0;
}

/* Goes to the caller, whose registers lie below the CFA.  Mostly bp is saved
 * near the return address: one reading serves both. */
UNWIND_INLINE int
unwind_return(struct unwind_state *s, __u64 cfa, __u32 bp)
{
	__u32 n = bp >= 2 && bp <= UNWIND_WORDS ? bp : 1;

	if (cfa <= s->sp)
		return unwind_fail(s, BROKEN_BAD_STACK);
	if (unwind_read_user(s->words, 8 * n, cfa - 8 * n) != 0)
		return unwind_fail(s, BROKEN_UNREADABLE);
	if (n > 1)
		s->bp = s->words[0];
	else if (bp != UNWIND_BP_SAME && unwind_read_user(&s->bp, 8,
	    bp == UNWIND_BP_AT_BP ? s->bp : cfa - 8 * bp) != 0)
		return unwind_fail(s, BROKEN_UNREADABLE);
	s->sp = cfa;
	return unwind_arrive(s, s->words[(n - 1) & (UNWIND_WORDS - 1)]);
}

UNWIND_INLINE int
unwind_by_di(struct unwind_state *s, __u64 n)
{
	if (s->is_caller || s->di == 0)
		return unwind_fail(s, BROKEN_UNSUPPORTED);
	s->sp += 8 * n;
	return unwind_arrive(s, s->di);
}

/* Does the rule go by bp?  Callers have a frame, and so have leaves whose depth
 * is not known. */
UNWIND_INLINE bool
unwind_is_by_frame(const struct unwind_state *s, struct unwind_rule rule)
{
	return rule.kind == UNWIND_GO && (s->is_caller || rule.cfa == 0);
}

UNWIND_INLINE int
unwind_apply(struct unwind_state *s, struct unwind_rule rule)
{
	__u64 cfa;

	if (rule.kind == UNWIND_STOP)
		return 1;
	if (rule.kind == UNWIND_ELSEWHERE)
		return unwind_fail(s, BROKEN_ELSEWHERE);
	if (rule.kind == UNWIND_SIGNAL)
		return unwind_signal(s);
	if (rule.kind == UNWIND_PUSHED)
		return unwind_pushed(s, rule);
	if (unwind_is_by_frame(s, rule))
		return unwind_go(s);
	if (rule.kind == UNWIND_DI)
		return unwind_by_di(s, rule.cfa);
	if (rule.kind == UNWIND_BX) {
		cfa = unwind_cfa_by_bx(s, rule);
		rule.bp = UNWIND_BP_SAME;
	} else {
		cfa = unwind_cfa(s, rule.kind, rule.cfa);
	}
	if (s->error != BROKEN_NOT)
		return 1;
	/* The frame is there, whatever has made it. */
	if (rule.kind == UNWIND_GO && s->bp == cfa - 16)
		rule.bp = 2;
	return unwind_return(s, cfa, rule.bp);
}

/* Code in no known mapping.  A thread does run where its leaf is: in a
 * library that has just been mapped, whose table is still to come; but a call
 * of a null pointer was interrupted by what it led to. */
UNWIND_INLINE int
unwind_in_nothing(struct unwind_state *s, __u64 pc)
{
	if (s->trampoline != 0 && (pc & ~0xfffULL) == s->trampoline)
		return unwind_fail(s, BROKEN_TRAMPOLINE);
	if (s->is_caller || pc == 0)
		return unwind_fail(s, BROKEN_NO_MAPPING);
	s->place.start = s->place.end = 0;
	s->place.which = UNWIND_NO_TABLE;
	s->place.state = UNWIND_TABLE_PENDING;
	return unwind_by_pointer(s);
}

/* The rule from the tables.  False when there is none: the step was made by
 * frame pointers, or failed; *end is its result. */
UNWIND_INLINE bool
unwind_search(struct unwind_state *s, struct unwind_rule *rule, int *end)
{
	__u64 pc = s->ip - s->is_caller, offset;
	const struct unwind_row *row = 0, *next = 0;

	if (!unwind_find_mapping(s, pc)) {
		*end = unwind_in_nothing(s, pc);
		return 0;
	}
	offset = pc - s->place.bias;
	if (unwind_find_region(s, offset)) {
		if (s->place.state == UNWIND_TABLE_TOO_LARGE) {
			*end = unwind_guess(s, BROKEN_TOO_LARGE);
			return 0;
		}
		if (s->place.state != UNWIND_TABLE_READY) {
			*end = unwind_by_pointer(s);
			return 0;
		}
		row = unwind_find_row(s, (__u32)offset, &next);
	}
	if (row == 0 || row->kind == UNWIND_NONE) {
		*end = unwind_guess(s, BROKEN_NO_ROW);
		return 0;
	}
	*rule = (struct unwind_rule){row->cfa, row->kind, row->bp};
	if (!s->is_caller)
		unwind_keep_leaf(s, *rule, row->pc, next);
	return 1;
}

/* From the frame to its caller; nonzero: the walk is over, and s->error says
 * whether it came to the thread's beginning. */
UNWIND_INLINE int
unwind_step(struct unwind_state *s)
{
	struct unwind_rule rule;
	int end;

	if (!unwind_recall(s, &rule) && !unwind_search(s, &rule, &end))
		return end;
	unwind_keep(s, rule);
	return unwind_apply(s, rule);
}

#endif
