/*
 * What the engine makes of the life of processes (process_events.h):
 *
 *	exec, code mapped ──► a moment later, when the mappings are there:
 *	                      services and the stack walker read /proc anew
 *	fork, exit        ──► counters of each service
 *	exec, exit        ──► marks of processes that lived for a while
 *	BPF programs      ──► names of kernel code
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
 * FACT_MARK "exec" and "exit": text PID ' ' COMM '\t' SERVICE.  The same text
 * of a program that a rule names, whose parent is of another service: "began";
 * and, in place of "exit", "ended", or "fewer" while others go on that have its
 * service and name.  Replicas are told apart: COMM is COMM " :" PORT of one
 * that listens, and others are those of its port; COMM " #" NUMBER of one that
 * does not; and both in "began", and in "listens" of one that does so later.
 * Where it is known how it ended, " (signal N)" or " (status N)" stands behind
 * COMM, and in place of "ended" of one that ended with status 0, or since
 * somebody asked it to, "stopped".
 */
#ifndef COLLECTOR_PROCESS_WATCH_H
#define COLLECTOR_PROCESS_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct batch;
struct process_watch;
struct err;
struct process_event;
struct lineage_origin;
struct maps;
struct services;
struct symbols;
struct unwind_processes;

struct process_watch_parts {
	struct services *services;
	struct maps *maps;
	struct unwind_processes *processes; /* NULL: no stack walker */
	struct symbols *symbols; /* NULL: nobody's, in tests */
};

/* All parts are borrowed; it tells `services` of origins as long as it lives.
 * `epoll` gets two descriptors, which make it
 * readable when process_watch_poll() has something to do.  `rings` is false in
 * tests: events come from process_watch_event() alone. */
const struct err *process_watch_new(struct process_watch **out,
    const struct process_watch_parts *parts, int epoll, bool rings);
void process_watch_free(struct process_watch *c);

/* What has begun until now gets no mark of it: rules are new. */
void process_watch_begin(struct process_watch *c);

/* Takes the records that wait, and does what is due. */
void process_watch_poll(struct process_watch *c, int64_t now_ns);

/* Whose tables follow what is mapped, from now on; NULL: nobody's. */
void process_watch_serve(
    struct process_watch *c, struct unwind_processes *processes);

/* Takes the records, and does nothing else. */
void process_watch_drain(struct process_watch *c, int64_t now_ns);

/* The same, if that was not done since time_ns (CLOCK_MONOTONIC). */
void process_watch_until(
    struct process_watch *c, int64_t time_ns, int64_t now_ns);

/* Where a process comes from, as it was at time_ns (lineage.h); false: nobody
 * knows. */
bool process_watch_origin(const struct process_watch *c, int32_t pid,
    int64_t time_ns, struct lineage_origin *out);

/* When it executed the next program, as of time_ns (lineage.h); 0: nobody was
 * told that it has. */
int64_t process_watch_next_exec(const struct process_watch *c, int32_t pid,
    int64_t time_ns);

/* The service of a process with that origin and name. */
void process_watch_name(const struct process_watch *c,
    const struct lineage_origin *origin, const char *comm, char *out,
    size_t size);

/* One event, as the rings bring it. */
void process_watch_event(struct process_watch *c, const struct process_event *e,
    int64_t now_ns);

/* Looks at the processes whose moment has come; part of a poll. */
void process_watch_do_due(struct process_watch *c, int64_t now_ns);

/* Adds counters and marks of the slot; last_ns: the time of the counters. */
void process_watch_close_slot(struct process_watch *c, uint64_t slot,
    struct batch *b, int64_t last_ns);

/* Processes that wait for their moment. */
size_t process_watch_waiting(const struct process_watch *c);

#endif
