/*
 * Tells of a wait which futex it is for.
 */
#ifndef COLLECTOR_BPF_WAIT_FUTEX_BPF_H
#define COLLECTOR_BPF_WAIT_FUTEX_BPF_H

#include <bpf/bpf_helpers.h>

#include "collector/bpf/event.h"
#include "collector/bpf/wait_futex.h"

/* Is a thread that waits for a lock or a condition in futex?  Of a call that
 * was interrupted the other registers are as they were. */
static __always_inline bool
futex_is_in(const struct pt_regs *regs)
{
	return (regs->orig_ax == FUTEX_CALL ||
	    regs->orig_ax == RESTART_CALL) && regs->cs != USER32_CS;
}

/* `regs` are those of the thread that waits, or has just come back. */
static __always_inline void
fill_futex(struct wait_event *w, const struct pt_regs *regs)
{
	bool is = futex_is_in(regs) &&
	    (w->reason == WAIT_LOCK || w->reason == WAIT_CONDITION);

	w->address = is ? regs->di : 0;
	w->operation = is ? (__u8)regs->si : 0;
}

#endif
