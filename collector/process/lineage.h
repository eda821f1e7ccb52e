/*
 * Where processes come from, as the kernel tells it (process_events.h): for
 * samples of those that were gone before anybody looked at them.  A child of a
 * fork is what its parent is until it executes a program.
 *
 *	4711 ── fork ──► 4712 ── fork ──► 4713 ── exec "sh" ──► gone
 *	known            gone              ?
 *
 *	lineage_find(4712): {.root = 4711}: its mappings and its service
 *	lineage_find(4713): {.root = 4711, .exec_ns, .comm = "sh"}
 *
 * Remembers LINEAGE_MAX processes, the younger ones; a table of its own, since
 * a storm forks thousands a second that no entry (process.h) is worth, and the
 * kernel tells of them by pid alone, without their start time.
 */
#ifndef COLLECTOR_LINEAGE_H
#define COLLECTOR_LINEAGE_H

#include <stdbool.h>
#include <stdint.h>

#define LINEAGE_MAX 4096 /* several seconds of a storm */
#define LINEAGE_DEPTH 8  /* forks one behind the other, none looked at */

struct process_event;
struct lineage;

struct lineage_entry {
	int32_t pid, parent;
	int64_t fork_ns;  /* CLOCK_MONOTONIC; 0: only its exec was seen */
	int64_t first_ns; /* of its execs; 0: it has its parent's code */
	int64_t exec_ns;  /* the last one */
	char comm[16];    /* of that program */
};

/* What is known of a process that nobody looked at. */
struct lineage_origin {
	int32_t root;    /* an ancestor that somebody knows; 0: none */
	int32_t program; /* whose image it executes: itself or an ancestor that
	                  * is no known one, or 0: the root's */
	int64_t exec_ns; /* when it began to */
	char comm[16];   /* of that program; "": not known, or the root's */
};

/* NULL when out of memory. */
struct lineage *lineage_new(void);
void lineage_free(struct lineage *l);

/* Takes forks of processes and executions, in any order; other events are
 * ignored. */
void lineage_event(struct lineage *l, const struct process_event *e);

/* Is the process known otherwise? */
typedef bool lineage_known_fn(void *arg, int32_t pid);

/* The origin of a process as it was at time_ns; false when nothing was told of
 * it. */
bool lineage_find(const struct lineage *l, int32_t pid, int64_t time_ns,
    lineage_known_fn *known, void *arg, struct lineage_origin *out);

/* When the process that had that number at time_ns executed the next program
 * that is remembered; 0: it has not. */
int64_t lineage_next_exec(const struct lineage *l, int32_t pid,
    int64_t time_ns);

#endif
