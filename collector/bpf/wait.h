/*
 * Where a thread's time goes: what it does, from its first moment to its
 * last, is one of these states.  Shared by the BPF programs that keep the time
 * (wait.bpf.c) and the daemon.
 *
 *	on CPU ──► leaves ──► blocked, for a reason ──► woken ──► on CPU
 *	              └──────────► run queue (preempted) ──────────┘
 *
 * A wait is the time between leaving and coming back; its last part is on the
 * run queue.
 */
#ifndef COLLECTOR_BPF_WAIT_H
#define COLLECTOR_BPF_WAIT_H

#ifndef __bpf__ /* those have kernel.h */
#include <linux/types.h>
#endif

enum wait_state {
	WAIT_ON_CPU,
	WAIT_RUN_QUEUE, /* preempted, or woken and not running yet */
	WAIT_LOCK,
	WAIT_CONDITION,
	WAIT_DISK,
	WAIT_NETWORK,
	WAIT_PIPE,
	WAIT_TIMER,
	WAIT_POLL,
	WAIT_FAULT,
	WAIT_OTHER,
	WAIT_STATES,
	WAIT_GONE = 15  /* the thread has ended */
};
#define WAIT_ROOM 16 /* a power of two */
#define WAIT_NO_OFFSET (1LL << 62) /* between clocks: none was measured */

/* Does a thread that waits so want nothing but work, time or a CPU?  Not one
 * that polls until another's signal, as a database's backends do for locks. */
static inline __u8
wait_is_idle(__u32 state, __u8 latched)
{
	return state == WAIT_TIMER || state == WAIT_RUN_QUEUE ||
	    (state == WAIT_POLL && !latched);
}

/* The time of a thread, in ns since it was set up, by state. */
struct wait_sums {
	__u64 born_ns;        /* 0: it was there before us */
	__u64 at_ns;          /* the last border between slots, */
	__u64 at[WAIT_ROOM];  /* until there, */
	__u64 sum[WAIT_ROOM]; /* and until now */
};

/*
 * What is kept of a thread, in its task storage.  Written by the CPU on which
 * it leaves; whoever reads it elsewhere compares `version` before and
 * after.  How much of a wait was on the run queue, the scheduler has summed
 * when the thread runs again: a wait is put into the sums after it.
 */
struct wait_thread {
	__u32 version;   /* odd while it is being written */
	__u8 state;      /* enum wait_state, since: */
	__u8 reason;     /* of the wait before, if that is not in the sums */
	__u8 told;       /* its stack was sent as it left */
	__u8 swept;      /* times that its stack was sent while it waits */
	__u8 called;     /* what its last system call waits for */
	__u8 latched;    /* a signal has ended the wait that it is in, or was
	                  * in last, in which it polls: wake.bpf.c */
	__u8 latches;    /* it has ended one before */
	__u8 zero[5];
	__u64 task;      /* whose place it is: wait_thread.bpf.h; 0: none's */
	__u64 number;    /* never given to another thread; 0: not set up yet */
	__u64 since_ns;
	__u64 left_ns;   /* when that wait began; 0: it is in the sums */
	__u64 swept_ns;  /* the since_ns of the wait that `swept` is of */
	__u64 run_delay; /* the scheduler's sum, when it left, */
	__u64 arrival;   /* and its clock as it had come before that: another
	                  * one is of a thread that has come since */
	__u64 border_ns; /* the next border between slots */
	struct wait_sums sums;
};

enum wait_part {
	WAIT_WHOLE, /* a stack, and how long it was left for */
	WAIT_BEGUN, /* a stack, of a wait that begins */
	WAIT_ENDED, /* how long, of the stack that was sent as it began */
	WAIT_GOING, /* a stack, of a wait that goes on: struct wait_swept */
	WAIT_DIED,  /* the thread's struct wait_sums, in `frames` */
	WAIT_NAMED, /* the same, of one that gives itself another name now; it
	             * has the old one yet */
	WAIT_WOKEN  /* the stack of who ended a wait: wake.bpf.c */
};

/* Of an event with EVENT_WAIT. */
struct wait_event {
	__u64 thread;    /* its number */
	__u64 queued_ns; /* the last part of the wait, on the run queue;
	                  * WAIT_WOKEN: start_ns of the process `pid` */
	__u64 address;   /* of the futex that it is for, LATCH_ADDRESS; 0: of
	                  * none */
	__u32 pid;       /* WAIT_WOKEN: the process of the one that waited */
	__u8 part;       /* enum wait_part */
	__u8 reason;     /* enum wait_state: of the part before */
	__u8 operation;  /* of the futex; WAIT_POLL: has a signal ended it? */
	__u8 ended;      /* the daemon's: this part was its last */
};

#endif
