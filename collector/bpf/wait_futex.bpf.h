/*
 * Tells of a wait which futex it is for.
 */
#ifndef COLLECTOR_BPF_WAIT_FUTEX_BPF_H
#define COLLECTOR_BPF_WAIT_FUTEX_BPF_H

#include <bpf/bpf_helpers.h>

#include "collector/bpf/event.h"
#include "collector/bpf/wait_futex.h"

/* `regs` are those of the thread that waits, or has just come back. */
static __always_inline void
fill_futex(struct wait_event *w, const struct pt_regs *regs)
{
	bool is = regs->orig_ax == FUTEX_CALL &&
	    (w->reason == WAIT_LOCK || w->reason == WAIT_CONDITION) &&
	    regs->cs != USER32_CS;

	w->address = is ? regs->di : 0;
	w->operation = is ? (__u8)regs->si : 0;
}

#endif
