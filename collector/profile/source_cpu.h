/*
 * The CPU profiler's parts among themselves: source_cpu.c (life, ring,
 * slots), source_cpu_stack.c (from an event to a stack), source_cpu_slot.c
 * (from a slot to blocks), source_cpu_metrics.c, source_cpu_govern.c (the
 * rate).
 */
#ifndef COLLECTOR_SOURCE_CPU_H
#define COLLECTOR_SOURCE_CPU_H

#include "collector/engine/aggregate.h"
#include "collector/engine/governor.h"
#include "collector/process/maps.h"
#include "collector/probe/sampler.h"
#include "collector/base/source.h"
#include "store/base/buf.h"
#include "store/model/broken.h"
#include "collector/symbols/symbols.h"

#define CPU_STACK_MAX (EVENT_MAX_KERNEL + EVENT_MAX_USER + 1)
/* Where samples go whose process ended before it was looked at. */
#define CPU_SERVICE_EXITED "(exited)"

/* Of unwind_tables.h and unwind_process.h: counts since the start, and what
 * there is now. */
struct cpu_unwind_totals {
	uint64_t rows, bytes, max_bytes;
	uint64_t ready, waiting, without, failed; /* files now */
	uint64_t made, evicted, failures, refused;
	uint64_t processes, mappings;
	uint64_t built, processes_evicted, processes_failed;
};

/* All counts since the start. */
struct cpu_totals {
	uint64_t runs, idle, ring_full;  /* the BPF program's */
	uint64_t skipped_ticks;          /* ticks at which it did not run */
	uint64_t samples;                /* stored */
	uint64_t malformed, aggregate_full, held_full; /* lost */
	uint64_t late;                   /* stored one slot later */
	uint64_t frames, unsymbolised;   /* of the stored samples */
	uint64_t broken[BROKEN_REASONS];
	uint64_t other_services;         /* samples of the 257th service on */
	uint64_t run_ns;                 /* in the BPF program */
	uint64_t restarts, skipped, overflows; /* of the symbols */
	uint64_t map_bytes; /* now */
	struct cpu_unwind_totals unwind;
};

/* What the governor has been told, all in ns. */
struct cpu_usage {
	int64_t window_ns;       /* what is used is judged so often */
	int64_t at_ns;           /* monotonic */
	int64_t told_ns;         /* CPU, of everything that is ours */
	pid_t child;             /* the symbols child that was seen last, */
	int64_t child_ns;        /* its CPU, */
	int64_t children_ns;     /* and that of those before it */
	double ratio;            /* used of one CPU in the last span */
};

struct service_faults;

struct source {
	const struct config *config;
	struct services *services;
	struct sampler *sampler; /* NULL: not attached */
	struct symbols *symbols;
	struct maps *maps;
	struct jits *jits;
	struct unwind_tables *tables;       /* NULL: frame pointers */
	struct unwind_processes *processes;
	struct cpu_life *life; /* NULL: processes are found by samples */
	struct aggregate *aggregate;
	struct service_faults *faults;
	int epoll;
	enum source_state state;
	bool stopped; /* samples no more, for good */
	char why[320];
	struct governor governor;
	struct cpu_usage usage;
	char slow[200]; /* why the rate is lower; "": it is not */
	int64_t slot_ns;
	uint64_t open_slot;
	int64_t wall_offset_ns; /* wall - monotonic */
	int64_t now_ns;         /* monotonic, of this poll */
	int64_t boot_ns;        /* the same moment since the boot */
	struct buf held;        /* events of later slots, size before each */
	struct cpu_totals now, told;
};

/* An event of the ring, `size` bytes: into the open slot, or held when it is of
 * a later one.  `arg` is the source. */
void cpu_event(void *arg, const struct sample_event *e, size_t size);

/* Goes through what was held, which may be held again; as a slot begins. */
void cpu_release(struct source *s);

/* Adds one event to the open slot's aggregate. */
void cpu_take_event(struct source *s, const struct sample_event *e);

/* Adds the aggregate's blocks and the counters' to the batch. */
void cpu_put_profiles(struct source *s, uint64_t slot, struct batch *b);
void cpu_put_metrics(struct source *s, uint64_t slot, struct batch *b);

/* Adds where functions were written, of those that have not been told for a
 * while (FACT_PLACE); nothing unless inlined functions are shown. */
#define CPU_PLACES_MAX 512 /* a slot */
#define CPU_PLACES_AGAIN_NS (24 * INT64_C(3600000000000))
void cpu_put_places(struct source *s, uint64_t slot, struct batch *b);

/* The reading time of counters: the present, or the slot's last moment when
 * that is earlier. */
int64_t cpu_reading_time(const struct source *s, uint64_t slot);

/* Begins to measure what we use; then, at the end of each slot: measures,
 * stores it, and changes the rate of the next slots when need be. */
void cpu_govern_begin(struct source *s);
void cpu_govern(struct source *s, uint64_t slot, struct batch *b);

#endif
