/*
 * Why a stack is not whole: the one table of reasons.  A BPF program sends a
 * number of it, the profiler shows the mark and counts the reason, the worker
 * explains it.
 *
 *	BROKEN_NO_TABLES   "no tables yet"   "[no unwind table yet]"   ...
 *	number (BPF)       of counters       mark at the stack's root  health
 *
 * Numbers are not stored: reasons are, as the label `reason` of
 * memlens_profile_stacks_broken_total.
 */
#ifndef STORE_BROKEN_H
#define STORE_BROKEN_H

enum broken {
	BROKEN_NOT = 0,     /* it begins where its thread began */
	BROKEN_NO_TABLES,   /* frame pointers stood in: tables come later */
	BROKEN_NO_MAPPING,  /* led to an address that is no known code */
	BROKEN_NO_ROW,      /* code that .eh_frame does not describe */
	BROKEN_UNSUPPORTED, /* described by a rule that is not done */
	BROKEN_UNREADABLE,  /* the stack's memory was not there */
	BROKEN_BAD_STACK,   /* led down the stack */
	BROKEN_TRAMPOLINE,  /* in the code of a uretprobe */
	BROKEN_32BIT,
	BROKEN_NO_MEMORY,   /* the thread ends, or executes another program */
	BROKEN_NO_STACK,    /* no user frame at all */
	BROKEN_ONE_FRAME,   /* no frame pointer to follow */
	BROKEN_TRUNCATED,   /* deeper than is recorded, or than a copy of it */
	BROKEN_TOO_LARGE,   /* the code's rows do not fit into the memory */
	BROKEN_NO_PROCESS,  /* gone, and nothing is known of its code */
	BROKEN_NEW_CODE,    /* as BROKEN_NO_TABLES, for some seconds yet */
	BROKEN_KERNEL,      /* of the kernel's part only the leaf is known */
	BROKEN_ELSEWHERE,   /* callers are on another stack, which one is not
	                     * known */
	BROKEN_REASONS
};

struct broken_reason {
	const char *reason; /* of counters */
	const char *mark;   /* the frame at the stack's root, or where callers
	                     * are missing */
	const char *why;    /* for health: "... of the stacks: WHY", with what
	                     * would mend it */
	_Bool natural;      /* how things are: no reason to worry */
};

/* By enum broken; that of BROKEN_NOT is empty. */
extern const struct broken_reason broken_reasons[BROKEN_REASONS];

/* The row of a counter's reason, or NULL: another version's. */
const struct broken_reason *broken_find(const char *reason);

/* The reason whose mark this is, or BROKEN_NOT. */
enum broken broken_of_mark(const char *mark);

#endif
