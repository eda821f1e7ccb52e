/*
 * The table of processes.  A process is one (pid, start time); what is known
 * of it lies with its entry, and goes with it.
 *
 *	(pid, start) ──► struct process
 *	                  ├─ read          names, stat, instance: services.c
 *	                  ├─ PROCESS_CODE  where its code lies: maps.c
 *	                  ├─ PROCESS_JIT   its JIT's map of names: jit.c
 *	                  ├─ PROCESS_WALK  what the stack walker has: unwind/
 *	                  └─ PROCESS_OBJECTS  sampled memory in use: objects/
 *
 * Here it is decided what a pid stands for:
 *
 *	reuse  another start time under the same pid is another process; the
 *	       one before has ended.  Start times are compared in the 10 ms
 *	       steps of /proc/PID/stat, which samples know exactly.
 *	exit   an entry stays for a slot after the process has gone, for samples
 *	       that are resolved later; the walker's part goes at once, since
 *	       the kernel keeps it by pid.
 *	exec   samples carry a number that grows with it, and come late: what
 *	       waited is told behind what came after it.  So an older number
 *	       says nothing new.  Parts compare `image` with the one they were
 *	       made for.
 */
#ifndef COLLECTOR_PROCESS_H
#define COLLECTOR_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/process/pidstat.h"

#define PROCESSES_MAX 32768
#define PROCESS_STEP_NS 10000000u /* USER_HZ is 100 wherever we run */

enum process_part {
	PROCESS_CODE,
	PROCESS_JIT,
	PROCESS_WALK,
	PROCESS_OBJECTS,
	PROCESS_PARTS
};

/* What it was called before it executed its program. */
struct process_before {
	int64_t until_ns; /* monotonic; 0: nothing is known */
	int64_t named_ns; /* when it was read */
	char service[64];
	char comm[16];
};

/* What /proc said of it, for services.c. */
struct process_read {
	uint64_t serial;      /* never given to another process */
	char service[64];
	char comm[16];
	int64_t named_ns;     /* monotonic: when these were read */
	char command[256];    /* comm and executable path, or the arguments */
	char cgroup[128];     /* path, "" for the root */
	struct process_before before;
	char instance[16];    /* of a service that a rule names (instances.h);
	                       * "": none, or not known before the sweep */
	bool ruled;           /* a rule names its service */
	bool young;           /* its service is its parent's for now */
	bool alone;           /* its own service, however young */
	uint32_t run_asked;   /* image + 1: looked for what says so */
	bool follows;         /* its instance is its parent's */
	uint16_t port;        /* by which its instance is named; 0: by none */
	uint8_t number;       /* that it had before it listened (instances.h);
	                       * 0: none */
	bool ended;           /* process_count.c's: that was told */
	bool zombie;          /* dead, and nobody has waited for it yet */
	bool kernel_thread;
	bool told;            /* of its names, in a fact */
	uint32_t sweeps;      /* since it was classified; stays at 2^16 */
	uint32_t still;       /* readings in a row that found it as it was */
	uint64_t seen;        /* the last sweep that found it */
	int fd;               /* its /proc/PID/stat, or -1 */
	struct pidstat stat;  /* as of the last sweep */
	/* procfs_allocator.c's: of which image it is, and how often that was
	 * read. */
	uint8_t allocator, allocator_tries;
	uint32_t allocator_image;
	/* self.c's: MemLens's own; 1 yes, 0 not known, -1 no. */
	int8_t own;
	/* process_count.c's: a program of a service that a rule names, not a
	 * worker or helper of one; 1 yes, 0 not known, -1 no; and the port
	 * that was told of it. */
	int8_t watched;
	uint16_t told_port;
};

struct process {
	struct process *next; /* in its bucket, older ones behind younger */
	int32_t pid;
	uint64_t start_ns;    /* boot time, in steps of 10 ms */
	bool gone;
	int64_t gone_ns;      /* wall time */
	uint32_t exec_id;     /* the youngest that a sample had; 0: none yet */
	bool renewed;         /* a younger one is no news */
	int64_t executed_ns;  /* monotonic: since when it has executed what
	                       * `read` does not say yet; 0: nothing */
	int64_t exit_ns;      /* monotonic: of the last thread that ended, as
	                       * far as was told; 0: none */
	uint32_t image;       /* counts the programs it was seen to execute */
	void *part[PROCESS_PARTS]; /* NULL: none */
	/* NULL: nobody could look at it, it is known by the kernel's word
	 * alone.  Most of the short-lived are, so they cost nothing more. */
	struct process_read *read;
	/* process_watch.c's: when it may be read again for a new mapping. */
	int64_t again_ns, again_wait_ns;
};

struct processes;

/* NULL when out of memory. */
struct processes *processes_new(void);
void processes_free(struct processes *t);

/* The function gives a part back; `arg` is its own.  NULL: gives back all that
 * there are, and nobody makes such parts any more. */
typedef void process_part_fn(void *arg, void *part);
void processes_serve(struct processes *t, enum process_part which,
    process_part_fn *fn, void *arg);

/* A new entry, living; NULL when there are PROCESSES_MAX or no memory.  The
 * caller knows that there is none for that start, and none that lives. */
struct process *process_add(struct processes *t, int32_t pid,
    uint64_t start_ns);

/* The process of that start, gone or not; 0: the one that lives, as far as we
 * know. */
struct process *process_find(const struct processes *t, int32_t pid,
    uint64_t start_ns);

/* The youngest, gone or not. */
struct process *process_last(const struct processes *t, int32_t pid);

/* Is it of a later program of a process than the other one?  0: not known. */
static inline bool
process_is_later(uint32_t exec_id, uint32_t than)
{
	return exec_id != 0 && than != 0 && (int32_t)(exec_id - than) > 0;
}

/* A sample has come from that image of the process; 0: it is not known which.
 * After process_renew(), that is when what there is now was read, the next one
 * to come is no news; unless the process has executed a program since. */
void process_executes(struct process *p, uint32_t exec_id);
void process_renew(struct process *p);

/* The kernel has told that it executed a program; perhaps late, and what was
 * read since says so already. */
void process_executed(struct process *p, int64_t time_ns);

/* It has ended. */
void process_end(struct processes *t, struct process *p, int64_t now_ns);

/* Takes a part away, or the entry with all its parts. */
void process_drop(struct processes *t, struct process *p,
    enum process_part which);
void process_forget(struct processes *t, struct process *p);

/* All entries, one after the other: NULL stands before the first one and
 * behind the last.  The next one is asked for before one is forgotten. */
struct process *processes_next(const struct processes *t,
    const struct process *p);

bool processes_full(const struct processes *t);

#endif
