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

/* Does it wake those who wait at its own address alone? */
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

/* Is it this call that ends that wait?  What happens to run on the CPU where
 * a timer or a signal ends one is no waker.  A lock between processes may have
 * another address in each. */
static inline __u8
futex_wakes(__u64 operation, __u64 address, __u64 wait_operation,
    __u64 wait_address)
{
	if (futex_waits(operation) || !futex_waits(wait_operation))
		return 0;
	return address == wait_address ||
	    (operation & FUTEX_PRIVATE) == 0 ||
	    !futex_wakes_one_address(operation);
}

#endif
