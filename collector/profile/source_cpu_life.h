/*
 * What the CPU profiler makes of the life of processes (process_events.h):
 *
 *	exec, code mapped ──► a moment later, when the mappings are there:
 *	                      services and the stack walker read /proc anew
 *	fork, exit        ──► counters of each service
 *	exec, exit        ──► marks of processes that lived for a while
 *
 * All is bounded: so many readings a second (what is over is counted, and
 * found when it is sampled), so many marks a slot, a list of so many
 * processes.  In a storm the rings are looked at a few times a second.
 *
 *	memlens_threads_started_total{service}, _exited_total
 *	memlens_processes_started_total{service}, _exited_total, _execs_total
 *	memlens_life_records_lost_total, memlens_life_skipped_total,
 *	memlens_life_marks_dropped_total
 *
 * The first thread of a process counts as a thread too.  A process begins
 * under the service of its parent; one that was gone before it was looked at
 * ends there.
 *
 * FACT_MARK "exec" and "exit": text PID ' ' COMM '\t' SERVICE.
 */
#ifndef COLLECTOR_SOURCE_CPU_LIFE_H
#define COLLECTOR_SOURCE_CPU_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct batch;
struct cpu_life;
struct err;
struct process_event;
struct lineage_origin;
struct maps;
struct services;
struct unwind_processes;

struct cpu_life_parts {
	struct services *services;
	struct maps *maps;
	struct unwind_processes *processes; /* NULL: no stack walker */
};

/* All parts are borrowed.  `epoll` gets two descriptors, which make it
 * readable when cpu_life_poll() has something to do.  `rings` is false in
 * tests: events come from cpu_life_event() alone. */
const struct err *cpu_life_new(struct cpu_life **out,
    const struct cpu_life_parts *parts, int epoll, bool rings);
void cpu_life_free(struct cpu_life *c);

/* Takes the records that wait, and does what is due. */
void cpu_life_poll(struct cpu_life *c, int64_t now_ns);

/* Whose tables follow what is mapped, from now on; NULL: nobody's. */
void cpu_life_serve(struct cpu_life *c, struct unwind_processes *processes);

/* Takes the records, and does nothing else. */
void cpu_life_drain(struct cpu_life *c, int64_t now_ns);

/* The same, if that was not done since time_ns (CLOCK_MONOTONIC). */
void cpu_life_until(struct cpu_life *c, int64_t time_ns, int64_t now_ns);

/* Where a process comes from, as it was at time_ns (lineage.h); false: nobody
 * knows. */
bool cpu_life_origin(const struct cpu_life *c, int32_t pid, int64_t time_ns,
    struct lineage_origin *out);

/* One event, as the rings bring it. */
void cpu_life_event(struct cpu_life *c, const struct process_event *e,
    int64_t now_ns);

/* Looks at the processes whose moment has come; part of a poll. */
void cpu_life_do_due(struct cpu_life *c, int64_t now_ns);

/* Adds counters and marks of the slot.  start_ns: wall time at which the slot
 * begins; last_ns: the time of the counters. */
void cpu_life_close_slot(struct cpu_life *c, uint64_t slot, struct batch *b,
    int64_t start_ns, int64_t last_ns);

/* Processes that wait for their moment. */
size_t cpu_life_waiting(const struct cpu_life *c);

#endif
