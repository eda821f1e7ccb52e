/*
 * What crosses the border between the BPF programs and the daemon.
 * Fixed-width types only; included by both sides.
 */
#ifndef COLLECTOR_BPF_EVENT_H
#define COLLECTOR_BPF_EVENT_H

#include "store/model/broken.h"

#define EVENT_MAX_KERNEL 127 /* frames */
#define EVENT_MAX_USER 127
#define EVENT_COMM 16

enum event_flag {
	EVENT_IN_KERNEL = 1,   /* interrupted in kernel mode */
	EVENT_KTHREAD = 2,     /* a kernel thread: no user stack exists */
	EVENT_EH_FRAME = 4,    /* user frames by .eh_frame, not by %rbp */
	EVENT_TRUNCATED = 8,   /* more user frames than EVENT_MAX_USER */
	EVENT_PENDING = 16,    /* frame pointers, since a table is not made */
	EVENT_COPY = 32        /* with a copy of the stack: struct event_copy */
};

#define EVENT_COPY_WORDS 1024 /* at most */

/* The stack from the frame `lacks` on, in words behind the frames. */
struct event_copy {
	__u64 sp; /* where it begins */
	__u64 words[EVENT_COPY_WORDS + 1]; /* up to the event's end; one more
	                                    * for the verifier's bounds */
};

/*
 * One sample.  `frames` holds n_kernel kernel addresses, leaf first, then
 * n_user user addresses, leaf first; only the used ones are sent.
 */
struct sample_event {
	__u64 time_ns;    /* CLOCK_MONOTONIC */
	__u64 cgroup;     /* id of the task's cgroup (v2), 0 if unknown */
	__u64 start_ns;   /* start of the process, boot time: guards reuse */
	__u64 value;      /* periods: 1 */
	__u32 pid, tid;   /* thread group and thread, initial namespace */
	__u32 cpu;
	__u16 n_kernel, n_user;
	__u8 flags;       /* enum event_flag */
	__u8 error;       /* enum broken: why the walk ended before the root */
	__u8 type;        /* of profile: its number, see profiles.c */
	__u8 lacks;       /* EVENT_PENDING: the first user frame without rows, */
	__u32 exec_id;    /* changes when the process executes a file */
	__u32 table, offset; /* its table and offset in the file; table
	                      * UNWIND_NO_TABLE: code in no known mapping */
	__u64 period;     /* that the sample stands for, in the type's unit */
	char comm[EVENT_COMM]; /* of the thread */
	__u64 frames[EVENT_MAX_KERNEL + EVENT_MAX_USER];
	struct event_copy copy; /* or the room of one */
};

/* Counters per CPU, read by the daemon; see account.c for their names. */
enum event_counter {
	COUNT_RUNS,    /* the program ran */
	COUNT_SENT,    /* an event was put into the ring */
	COUNT_IDLE,    /* pid 0 */
	COUNT_RING_FULL,
	COUNT_KTHREAD,
	COUNT_NO_STACK, /* bpf_get_stack failed for the user part */
	COUNT_NS,       /* time in the program */
	COUNT_COUNTERS = 16
};

struct sample_counts {
	__u64 n[COUNT_COUNTERS];
};

#endif
