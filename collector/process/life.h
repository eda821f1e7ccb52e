/*
 * The life of processes, as the kernel tells it: threads that begin and end,
 * programs that are executed, code that is mapped.  Comes from one dummy
 * event of perf on each CPU, whose ring holds these records and no samples;
 * needs CAP_PERFMON, no BPF and no tracefs.
 *
 * Records of one CPU come in order, those of different CPUs nearly so.
 */
#ifndef COLLECTOR_LIFE_H
#define COLLECTOR_LIFE_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct life;

enum life_kind {
	LIFE_FORK, /* a thread began; pid != parent: the first of a process */
	LIFE_EXIT, /* a thread ended; pid == tid: the first one */
	LIFE_EXEC, /* pid executes another program */
	LIFE_MAP,  /* pid has mapped code at [start, end), from a file */
	LIFE_KINDS
};

struct life_event {
	enum life_kind kind;
	int32_t pid, tid;  /* of the thread; tid 0 for LIFE_MAP */
	int32_t parent;    /* process, for LIFE_FORK and LIFE_EXIT */
	uint64_t start, end;
	uint64_t offset, ino; /* in the file; 0 for memory without one */
	uint64_t dev;         /* as in stat */
	const char *path;     /* of the file, for LIFE_MAP, or NULL: borrowed
	                       * for the call */
	int64_t time_ns;      /* CLOCK_MONOTONIC */
	char comm[16];        /* of the program, for LIFE_EXEC; else "" */
};

typedef void life_fn(void *arg, const struct life_event *e);

struct life_stats {
	uint64_t events[LIFE_KINDS];
	uint64_t lost;  /* records that found a ring full, as the kernel says */
	uint64_t bytes; /* memory of the rings */
};

/* Errors: ERR_BPF with the cause in words.  Succeeds when at least one CPU
 * is watched. */
const struct err *life_open(struct life **out, life_fn *fn, void *arg);
void life_close(struct life *l);

/* Readable when there is something new; belongs to the life. */
int life_fd(const struct life *l);

/* Hands over what there is; returns the number of records. */
size_t life_drain(struct life *l);

void life_stats(const struct life *l, struct life_stats *out);

/*
 * One record of perf, `size` bytes with its header.  False when it is none
 * of the kinds above, or too short; *lost grows by what the kernel dropped.
 */
_Bool life_parse(const void *record, size_t size, struct life_event *out,
    uint64_t *lost);

#endif
