/*
 * Why a thread waits, from the system call that it is in: its number and its
 * first arguments are in the registers with which it entered the kernel.
 *
 *	futex           by its operation: a plain wait is a lock's (mutexes),
 *	                one with a bit set a condition's (and, in glibc, of
 *	                reader/writer locks, semaphores and threads that are
 *	                joined)
 *	read, write...  by the file: a disk's, a socket, a pipe
 *	others          by their number, below
 *	restart_syscall what the call waited for that a stop has interrupted
 *	none            a page fault, as are calls that bring pages in
 *
 * A worker of io_uring is in no call: by how it waits.
 *
 * What is in no row is "other": wait4, pause, terminals, event descriptors,
 * and all calls of 32-bit code, which has other numbers.
 *
 * Names say more than numbers: what of this is mended by the frames of a stack
 * is in engine/waits_reason.c.
 */
#ifndef COLLECTOR_BPF_WAIT_REASON_H
#define COLLECTOR_BPF_WAIT_REASON_H

#include "collector/bpf/wait.h"

/* A reason, or that more is to be looked at. */
enum wait_rule {
	WAIT_RULE_OTHER = 0,
	WAIT_RULE_LOCK = WAIT_LOCK,
	WAIT_RULE_DISK = WAIT_DISK,
	WAIT_RULE_NETWORK = WAIT_NETWORK,
	WAIT_RULE_PIPE = WAIT_PIPE,
	WAIT_RULE_TIMER = WAIT_TIMER,
	WAIT_RULE_POLL = WAIT_POLL,
	WAIT_RULE_FAULT = WAIT_FAULT,
	WAIT_RULE_FILE = WAIT_STATES,
	WAIT_RULE_FUTEX,
	WAIT_RULE_RESTART
};

/* Number on x86-64, name, rule. */
#define WAIT_CALLS(X) \
	X(0, read, FILE) X(1, write, FILE) X(17, pread64, FILE) \
	X(18, pwrite64, FILE) X(19, readv, FILE) X(20, writev, FILE) \
	X(40, sendfile, FILE) X(295, preadv, FILE) X(296, pwritev, FILE) \
	X(327, preadv2, FILE) X(328, pwritev2, FILE) \
	X(2, open, DISK) X(4, stat, DISK) X(5, fstat, DISK) \
	X(6, lstat, DISK) X(21, access, DISK) X(26, msync, DISK) \
	X(74, fsync, DISK) X(75, fdatasync, DISK) X(76, truncate, DISK) \
	X(77, ftruncate, DISK) X(78, getdents, DISK) X(82, rename, DISK) \
	X(83, mkdir, DISK) X(84, rmdir, DISK) X(85, creat, DISK) \
	X(86, link, DISK) X(87, unlink, DISK) X(88, symlink, DISK) \
	X(89, readlink, DISK) X(162, sync, DISK) X(187, readahead, DISK) \
	X(208, io_getevents, DISK) X(209, io_submit, DISK) \
	X(217, getdents64, DISK) X(221, fadvise64, DISK) \
	X(257, openat, DISK) X(258, mkdirat, DISK) X(262, newfstatat, DISK) \
	X(263, unlinkat, DISK) X(264, renameat, DISK) X(265, linkat, DISK) \
	X(277, sync_file_range, DISK) X(285, fallocate, DISK) \
	X(306, syncfs, DISK) X(316, renameat2, DISK) \
	X(326, copy_file_range, DISK) X(332, statx, DISK) \
	X(42, connect, NETWORK) X(43, accept, NETWORK) \
	X(44, sendto, NETWORK) X(45, recvfrom, NETWORK) \
	X(46, sendmsg, NETWORK) X(47, recvmsg, NETWORK) \
	X(48, shutdown, NETWORK) X(288, accept4, NETWORK) \
	X(299, recvmmsg, NETWORK) X(307, sendmmsg, NETWORK) \
	X(7, poll, POLL) X(23, select, POLL) X(232, epoll_wait, POLL) \
	X(270, pselect6, POLL) X(271, ppoll, POLL) \
	X(281, epoll_pwait, POLL) X(426, io_uring_enter, POLL) \
	X(441, epoll_pwait2, POLL) \
	X(35, nanosleep, TIMER) X(230, clock_nanosleep, TIMER) \
	X(65, semop, LOCK) X(72, fcntl, LOCK) X(73, flock, LOCK) \
	X(220, semtimedop, LOCK) X(449, futex_waitv, LOCK) \
	X(455, futex_wait, LOCK) \
	X(69, msgsnd, PIPE) X(70, msgrcv, PIPE) X(242, mq_timedsend, PIPE) \
	X(243, mq_timedreceive, PIPE) X(275, splice, PIPE) \
	X(276, tee, PIPE) X(278, vmsplice, PIPE) \
	X(9, mmap, FAULT) X(28, madvise, FAULT) X(149, mlock, FAULT) \
	X(151, mlockall, FAULT) X(325, mlock2, FAULT) \
	X(202, futex, FUTEX) X(219, restart_syscall, RESTART)

#define WAIT_CALLS_MAX 512
#define WAIT_NO_CALL (~0ULL) /* of a thread that is in none */

#define WAIT_CALL(number, name, rule) [number] = WAIT_RULE_##rule,
static const __u8 wait_calls[WAIT_CALLS_MAX] = {WAIT_CALLS(WAIT_CALL)};

static inline __u8
wait_rule(__u64 call)
{
	return call < WAIT_CALLS_MAX ? wait_calls[call] : WAIT_RULE_OTHER;
}

/* What FUTEX_WAIT and FUTEX_LOCK_PI wait for, and those with a bit set. */
static inline __u8
wait_futex_reason(__u64 operation)
{
	switch (operation & 127) {
	case 9:  /* FUTEX_WAIT_BITSET */
	case 11: /* FUTEX_WAIT_REQUEUE_PI */
		return WAIT_CONDITION;
	default:
		return WAIT_LOCK;
	}
}

/* By the type in a file's mode. */
static inline __u8
wait_file_reason(__u32 mode)
{
	switch (mode & 0170000) {
	case 0140000: /* S_IFSOCK */
		return WAIT_NETWORK;
	case 0010000: /* S_IFIFO */
		return WAIT_PIPE;
	case 0100000: /* S_IFREG */
	case 0060000: /* S_IFBLK */
	case 0040000: /* S_IFDIR */
		return WAIT_DISK;
	default:
		return WAIT_OTHER;
	}
}

#define WAIT_INTERRUPTIBLE 1   /* task_struct.__state: till a signal comes, */
#define WAIT_UNINTERRUPTIBLE 2 /* or not, */
#define WAIT_NO_LOAD 0x400     /* which counts as idle all the same */

/* Of a worker of io_uring: for work it waits as for a signal. */
static inline __u8
wait_worker_reason(__u32 task_state, bool in_iowait)
{
	if (in_iowait || (task_state & (WAIT_UNINTERRUPTIBLE |
	    WAIT_NO_LOAD)) == WAIT_UNINTERRUPTIBLE)
		return WAIT_DISK;
	return (task_state & WAIT_INTERRUPTIBLE) != 0 ? WAIT_POLL : WAIT_OTHER;
}

/* Where the number alone tells it. */
static inline __u8
wait_rule_reason(__u8 rule)
{
	return rule == WAIT_RULE_OTHER ? WAIT_OTHER : rule;
}

#endif
