/*
 * Which processes the stack walker knows, and where their code lies: keeps
 * the kernel's list of mappings of each process that was seen running.
 *
 *	event "no process", "no mapping"
 *	   └─► wanted ─► read /proc ─► tables of the files ─► kernel
 *
 * Work is done in the background within a budget.  A process that stays
 * unreadable, or whose mappings stay what they were, is looked at again after
 * a time that doubles.  Children of a fork use their parent's entry until
 * they need one of their own (bpf/unwind.bpf.h).  When a process ends, the
 * kernel forgets it, since another one may come under its pid.
 */
#ifndef COLLECTOR_UNWIND_PROCESS_H
#define COLLECTOR_UNWIND_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/unwind/unwind_kernel.h"

struct err;
struct maps;
struct process;
struct processes;
struct unwind_processes;
struct unwind_tables;

struct unwind_processes_stats {
	uint32_t processes, mappings; /* known to the kernel */
	uint32_t waiting;
	uint64_t built, evicted, failed;
};

/* Gives a descriptor of the vdso's bytes, or -1; it stays the giver's. */
typedef int unwind_vdso_fn(void *arg);

/* All parts are borrowed; `proc` is "/proc", or another directory in
 * tests. */
const struct err *unwind_processes_new(struct unwind_processes **out,
    const struct unwind_kernel *kernel, struct unwind_tables *tables,
    struct processes *table, struct maps *maps, const char *proc);
void unwind_processes_free(struct unwind_processes *u);

void unwind_processes_set_vdso(struct unwind_processes *u,
    unwind_vdso_fn *fn, void *arg);

/* The process was seen without what its stacks need, at event_ns. */
void unwind_processes_want(struct unwind_processes *u, struct process *of,
    int64_t event_ns);

/* The process has executed another program or mapped code: what is known of
 * it is to be made anew, when its turn comes. */
void unwind_processes_renew(struct unwind_processes *u, struct process *of);

/* Does some of the waiting work. */
void unwind_processes_pump(struct unwind_processes *u, int64_t now_ns);

/* Has the processes in use looked at again. */
void unwind_processes_sweep(struct unwind_processes *u, int64_t now_ns);

void unwind_processes_stats(const struct unwind_processes *u,
    struct unwind_processes_stats *out);

#endif
