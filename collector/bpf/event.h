/*
 * What crosses the border between the BPF programs and the daemon.
 * Fixed-width types only; included by both sides.
 */
#ifndef COLLECTOR_BPF_EVENT_H
#define COLLECTOR_BPF_EVENT_H

#include "collector/bpf/wait.h"
#include "store/model/broken.h"

#define EVENT_TYPES 16 /* of profiles, at most; a power of two */
#define EVENT_MAX_KERNEL 127 /* frames */
#define EVENT_MAX_USER 127
/* Of deeper stacks the leaf's part is kept and the root's, which is written
 * in a circle. */
#define EVENT_LEAF 95
#define EVENT_ROOT 32 /* a power of two */
#define EVENT_DEPTH 512 /* where a walk ends */
#define EVENT_COMM 16

enum event_flag {
	EVENT_IN_KERNEL = 1,   /* interrupted in kernel mode */
	EVENT_KTHREAD = 2,     /* a kernel thread: no user stack exists */
	EVENT_EH_FRAME = 4,    /* user frames by .eh_frame, not by %rbp */
	EVENT_TRUNCATED = 8,   /* the walk ended before the root */
	EVENT_PENDING = 16,    /* frame pointers, since a table is not made */
	EVENT_COPY = 32,       /* with a struct event_copy, */
	EVENT_CALLER = 64,     /* of a frame that called: not interrupted */
	EVENT_WAIT = 128       /* of a thread that did not run: see `wait` */
};

/* What a page is of that a fault touched. */
enum event_memory {
	MEMORY_NOT,       /* the event is no fault */
	MEMORY_ANONYMOUS, /* heaps, stacks */
	MEMORY_FILE,      /* a mapped file, read or copied */
	MEMORY_SHARED,    /* shared between processes, of no file on a disk */
	MEMORY_UNKNOWN,   /* the process's mappings were being changed */
	MEMORY_KINDS
};

/* What the allocator's library has told (collector/alloc/alloc.h). */
enum event_object {
	OBJECT_NOT,
	OBJECT_TOOK,
	OBJECT_GAVE
};

struct object_event {
	__u64 address; /* 0: it is in no table, and will not be given back */
	__u64 size;    /* collector/alloc/alloc_size.h */
	__u32 call;    /* enum alloc_call, or alloc_end */
	__u32 zero;
};

#define EVENT_COPY_WORDS 1024 /* at most, but for deep ones */
/* bytes of it before them */
#define EVENT_COPY_HEAD __builtin_offsetof(struct event_copy, words)

/* The stack from the frame `lacks` on, in words behind the frames. */
struct event_copy {
	__u64 sp; /* where it begins: the frame's stack pointer */
	__u64 bp; /* the frame's frame pointer */
	__u64 di; /* and these, as of the leaf or what a signal interrupted */
	__u64 bx;
	__u64 words[EVENT_COPY_WORDS + 1]; /* up to the event's end; one more
	                                    * for the verifier's bounds */
};

/*
 * One sample.  `frames` holds n_kernel kernel addresses, leaf first, then
 * n_user user addresses, leaf first; only the used ones are sent.  All but
 * the leaves' are a byte or more behind what ran: see unwind_noted().
 */
struct sample_event {
	__u64 time_ns;    /* CLOCK_MONOTONIC */
	__u64 cgroup;     /* id of the task's cgroup (v2), 0 if unknown */
	__u64 start_ns;   /* start of the process, boot time: guards reuse */
	__u64 value;      /* periods: 1, or ns of a wait that ends at time_ns,
	                   * or objects that one stands for */
	__u32 pid, tid;   /* thread group and thread, initial namespace */
	__u16 cpu;
	__u16 depth;      /* frames that were walked, n_user of them kept */
	__u16 n_kernel, n_user;
	__u8 flags;       /* enum event_flag */
	__u8 error;       /* enum broken: why the walk ended before the root */
	__u8 type;        /* of profile: its number, see profiles.c */
	__u8 lacks;       /* EVENT_PENDING: the first frame without rows, */
	__u32 exec_id;    /* changes when the process executes a file */
	__u32 table, offset; /* its table and offset in the file; table
	                      * UNWIND_NO_TABLE: code in no known mapping */
	__u64 period;     /* that the sample stands for, in the type's unit */
	__u8 memory;      /* enum event_memory */
	__u8 of_object;   /* enum event_object */
	__u8 kernel_cut;  /* the callers of the kernel's frames are missing */
	__u8 zero[5];
	union {
		struct wait_event wait;
		struct object_event object;
	};
	char comm[EVENT_COMM]; /* of the thread */
	__u64 frames[EVENT_MAX_KERNEL + EVENT_MAX_USER];
	struct event_copy copy; /* or the room of one */
};

/* Where frame i of a walk, from the leaf on, is kept. */
static inline __u32
event_place(__u32 i)
{
	return i < EVENT_LEAF ? i :
	    EVENT_LEAF + ((i - EVENT_LEAF) & (EVENT_ROOT - 1));
}

/* The user frame that is kept at i < n_user, in the order of the walk; a gap
 * is behind EVENT_LEAF - 1 where there were more. */
static inline __u64
event_frame(const struct sample_event *e, __u32 i)
{
	if (i >= EVENT_LEAF && e->depth > EVENT_MAX_USER)
		i = event_place(e->depth - EVENT_MAX_USER + i);
	return e->frames[e->n_kernel + i];
}

/* Counters per CPU, read by the daemon; see account.c for their names. */
enum event_counter {
	COUNT_RUNS,    /* the program ran */
	COUNT_SENT,    /* an event was put into the ring */
	COUNT_IDLE,    /* pid 0 */
	COUNT_RING_FULL,
	COUNT_KTHREAD,
	COUNT_NO_STACK, /* bpf_get_stack failed for the user part */
	COUNT_NS,       /* time in the program; of waits, to take stacks */
	COUNT_SWITCHES, /* of waits: switches of threads, to whole 64s, */
	COUNT_SWITCH_NS, /* and about the time that summing them took */
	COUNT_IDLE_NS,   /* of COUNT_NS, what stacks of idle waits took */
	COUNT_LOST_BYTES,   /* of objects that COUNT_RING_FULL has: what they */
	COUNT_LOST_OBJECTS, /* stand for; objects in 1 / WEIGH_OBJECT */
	COUNT_COUNTERS = 16
};

struct sample_counts {
	__u64 n[COUNT_COUNTERS];
};

#endif
