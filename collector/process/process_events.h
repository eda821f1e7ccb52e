/*
 * The life of processes, as the kernel tells it: threads that begin and end,
 * programs that are executed, code that is mapped; and where the kernel puts
 * the code of BPF programs.  Comes from one dummy
 * event of perf on each CPU, whose ring holds these records and no samples;
 * needs CAP_PERFMON, no BPF and no tracefs.
 *
 * Records of one CPU come in order, those of different CPUs nearly so.
 */
#ifndef COLLECTOR_PROCESS_EVENTS_H
#define COLLECTOR_PROCESS_EVENTS_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct process_events;

enum process_event_kind {
	PROCESS_FORK, /* a thread began; of a process if pid != parent */
	PROCESS_EXIT, /* a thread ended; pid == tid: the first one */
	PROCESS_EXEC, /* pid executes another program */
	PROCESS_MAP,  /* pid has mapped code at [start, end), from a file */
	PROCESS_LOADED, /* nobody's: a BPF program, or a trampoline, is at
	                 * [start, end), or */
	PROCESS_UNLOADED, /* will soon be there no more */
	PROCESS_LOST, /* what came from since_ns to time_ns may be missing */
	PROCESS_EVENT_KINDS
};

struct process_event {
	enum process_event_kind kind;
	int32_t pid, tid;  /* of the thread; tid 0 for PROCESS_MAP, both for
	                    * BPF programs */
	int32_t parent;    /* process, for PROCESS_FORK and PROCESS_EXIT */
	uint64_t start, end;
	uint64_t offset, ino; /* in the file; 0 for memory without one */
	uint64_t dev;         /* as in stat */
	const char *path;     /* of the file, for PROCESS_MAP, or NULL; the
	                       * program's name: borrowed for the call */
	int64_t time_ns;      /* CLOCK_MONOTONIC */
	int64_t since_ns;     /* the same; for PROCESS_LOST */
	char comm[16];        /* of the program, for PROCESS_EXEC; else "" */
};

typedef void process_event_fn(void *arg, const struct process_event *e);

struct process_events_stats {
	uint64_t events[PROCESS_EVENT_KINDS];
	uint64_t lost;  /* records that found a ring full, as the kernel says */
	uint64_t bytes; /* memory of the rings */
};

/* Errors: ERR_BPF with the cause in words.  Succeeds when at least one CPU
 * is watched. */
const struct err *process_events_open(
    struct process_events **out, process_event_fn *fn, void *arg);
void process_events_close(struct process_events *l);

/* Readable when there is something new; belongs to the life. */
int process_events_fd(const struct process_events *l);

/* Hands over what there is; returns the number of records. */
size_t process_events_drain(struct process_events *l);

void process_events_stats(
    const struct process_events *l, struct process_events_stats *out);

/*
 * One record of perf, `size` bytes with its header.  False when it is none
 * of the kinds above, or too short; *lost grows by what the kernel dropped.
 */
_Bool process_events_parse(
    const void *record, size_t size, struct process_event *out, uint64_t *lost);

#endif
