/*
 * Why a thread waits (wait_reason.h), read of the thread.
 */
#ifndef COLLECTOR_BPF_WAIT_REASON_BPF_H
#define COLLECTOR_BPF_WAIT_REASON_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "collector/bpf/wait_reason.h"

/* Since 6.2: reads are loads then, where each call of bpf_probe_read_kernel()
 * takes some 12 ns of the hundred that a switch may cost. */
extern void *bpf_rdonly_cast(const void *p, __u32 type) __ksym __weak;
const volatile bool wait_casts = 0; /* it is there */

/* The entry of a table, as if it were the first one of that in the struct. */
static __always_inline struct file *
file_at(struct file **entry)
{
	const struct files_struct *files;
	struct file *file = 0;

	if (!wait_casts) {
		bpf_probe_read_kernel(&file, sizeof(file), entry);
		return file;
	}
	files = bpf_rdonly_cast((char *)entry -
	    bpf_core_field_offset(struct files_struct, fd_array),
	    bpf_core_type_id_kernel(struct files_struct));
	return files->fd_array[0];
}

static __always_inline __u8
reason_of_file(struct task_struct *task, __u64 fd)
{
	struct files_struct *files = task->files;
	struct fdtable *table;
	struct file *file;

	if (files == 0)
		return WAIT_OTHER;
	table = files->fdt;
	if (table == 0 || fd >= table->max_fds ||
	    (file = file_at(table->fd + fd)) == 0)
		return WAIT_OTHER;
	return wait_file_reason(wait_casts ? file->f_inode->i_mode :
	    BPF_CORE_READ(file, f_inode, i_mode));
}

/* Of the call that a thread is in; `before` is that of the call before it. */
static __always_inline __u8
reason_of_call(struct task_struct *task, __u8 before)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs((void *)task);
	__u64 call = regs->orig_ax;
	__u8 rule;

	if (regs->cs == USER32_CS ||
	    (task->thread_info.status & TS_COMPAT) != 0)
		return WAIT_OTHER;
	if (call == WAIT_NO_CALL)
		return WAIT_FAULT;
	rule = wait_rule(call);
	if (rule < WAIT_STATES)
		return wait_rule_reason(rule);
	if (rule == WAIT_RULE_FUTEX)
		return wait_futex_reason(regs->si);
	return rule == WAIT_RULE_FILE ?
	    reason_of_file(task, (__u32)regs->di) : before;
}

/* It never was in user mode: its registers are a copy of those of who made it,
 * in a call that it is not in. */
static __always_inline __u8
reason_of_worker(struct task_struct *task, unsigned int task_state)
{
	return wait_worker_reason(task_state,
	    BPF_CORE_READ_BITFIELD(task, in_iowait));
}

/* Remembers the call, which may go on after the thread was stopped. */
static __always_inline __u8
reason_of(struct wait_thread *t, struct task_struct *task,
    unsigned int task_state)
{
	__u8 reason = (task->flags & PF_IO_WORKER) != 0 ?
	    reason_of_worker(task, task_state) :
	    reason_of_call(task, t->called);

	if (reason != WAIT_FAULT)
		t->called = reason;
	return (task_state & TASK_STOPS) != 0 ? WAIT_OTHER : reason;
}

#endif
