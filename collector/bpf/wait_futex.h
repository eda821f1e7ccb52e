/*
 * What a thread waits for in the system call futex, and who wakes it: by the
 * registers with which each entered the kernel.  Or for its latch: the locks of
 * a database whose workers are processes end so, by a signal that one of them
 * sends to another, which polls for it.
 */
#ifndef COLLECTOR_BPF_WAIT_FUTEX_H
#define COLLECTOR_BPF_WAIT_FUTEX_H

#include "collector/bpf/wait.h"

#define FUTEX_CALL 202    /* its number on x86-64, */
#define RESTART_CALL 219  /* and that of any that was interrupted */
#define KILL_CALL 62
#define LATCH_ADDRESS 1   /* in place of a futex's: of a process's latch */
#define FUTEX_OPERATION 127
#define FUTEX_PRIVATE 128 /* both threads are of one process */
#define FUTEX_IN_PAGE 4095
#define FUTEX_STACK (16 << 10) /* the kernel's, of each task */

/* Does the operation wait? */
static inline __u8
futex_waits(__u64 operation)
{
	switch (operation & FUTEX_OPERATION) {
	case 0:  /* FUTEX_WAIT */
	case 6:  /* FUTEX_LOCK_PI */
	case 9:  /* FUTEX_WAIT_BITSET */
	case 11: /* FUTEX_WAIT_REQUEUE_PI */
	case 13: /* FUTEX_LOCK_PI2 */
		return 1;
	default:
		return 0;
	}
}

/* Does it wake those who wait at its own address alone?  Others know a second
 * one, and move those who wait. */
static inline __u8
futex_wakes_one_address(__u64 operation)
{
	switch (operation & FUTEX_OPERATION) {
	case 1:  /* FUTEX_WAKE */
	case 7:  /* FUTEX_UNLOCK_PI */
	case 10: /* FUTEX_WAKE_BITSET */
		return 1;
	default:
		return 0;
	}
}

/*
 * Is it this call that ends that wait?  The kernel looks for those who wait at
 * an address of a memory, or at a place in a page that is shared: the other
 * process's address of that may be another one, but not in its page.
 */
static inline __u8
futex_wakes(__u64 operation, __u64 address, __u64 wait_operation,
    __u64 wait_address, __u8 one_memory)
{
	__u64 differs = address ^ wait_address;

	if (futex_waits(operation) || !futex_waits(wait_operation) ||
	    ((operation ^ wait_operation) & FUTEX_PRIVATE) != 0 ||
	    ((operation & FUTEX_PRIVATE) != 0 && !one_memory))
		return 0;
	return !futex_wakes_one_address(operation) ||
	    (one_memory ? differs : differs & FUTEX_IN_PAGE) == 0;
}

/* An interrupt's work is not that of the task that it came to, whatever call
 * that is in.  It has a stack of its own: a task's is this far down from the
 * registers with which it entered the kernel. */
static inline __u8
futex_is_interrupted(__u64 registers, __u64 here)
{
	return registers - here > FUTEX_STACK;
}

#endif
