/*
 * The kernel's half of the profiler: loads a BPF program for each type of
 * profile, sets its clock on every CPU, drains the ring that all share.  Knows
 * nothing of processes or names.
 */
#ifndef COLLECTOR_SAMPLER_H
#define COLLECTOR_SAMPLER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/bpf/event.h"
#include "collector/bpf/unwind.h"

struct err;
struct allocs_options;
struct sampler;
struct sampler_waits;
struct unwind_kernel;
struct waits_options;

/* One event of `size` bytes, borrowed for the call; its counts of frames, and
 * the head of a copy, are within `size`. */
typedef void sampler_fn(void *arg, const struct sample_event *e, size_t size);

#define SAMPLER_TYPES_MAX EVENT_TYPES

/* A software event of perf: so many samples a second, or one every `period`
 * events. */
struct sampler_clock {
	uint64_t event; /* PERF_COUNT_SW_... */
	int64_t hz;     /* 0: by the period */
	int64_t period;
	int64_t unit;   /* what an event counts for; 0: as 1 */
	int64_t sample_ns; /* a sample of a CPU in this time at most, on the
	                    * whole: it counts for those before it, too;
	                    * 0: all */
};

struct sampler_options {
	bool kernel;    /* take kernel stacks too */
	uint32_t chunks; /* of unwind rows, at most (bpf/unwind.h); 0: walk by
	                  * frame pointers */
	struct unwind_orc orc;
};

/* Loads nothing yet. */
const struct err *sampler_open(struct sampler **out,
    const struct sampler_options *o, sampler_fn *fn, void *arg);
void sampler_close(struct sampler *s);

/*
 * Samples a type by a clock from now on, on every CPU that is online; loads
 * its program when it is the first time.  Errors: ERR_BPF with the cause in
 * words (no BTF, missing capabilities, no perf events).  Then some CPUs may
 * not be sampled any more; sampler_cpus() tells.
 */
const struct err *sampler_set(struct sampler *s, size_t type,
    const struct sampler_clock *clock);

/* Sets the clocks' periods anew, if a second has passed, so that no program
 * walks in step with one (jitter.h). */
void sampler_stir(struct sampler *s, int64_t now_ns);

/* Has a type take the waits of threads instead (sampler_waits.h). */
const struct err *sampler_set_waits(struct sampler *s, size_t type,
    const struct waits_options *o);
/* NULL: no type does. */
struct sampler_waits *sampler_waits(const struct sampler *s);

/* Has another type take the stacks of those who end such waits
 * (sampler_wakes.h); behind sampler_set_waits(). */
const struct err *sampler_set_wakes(struct sampler *s, size_t type,
    const struct waits_options *o);
/* Has two types take what the allocator's library tells (sampler_allocs.h). */
const struct err *sampler_set_allocs(struct sampler *s, size_t took,
    size_t gave, const struct allocs_options *o);

/* From which on waits have stacks, their own and of who ended them. */
void sampler_set_threshold(struct sampler *s, int64_t ns, int64_t idle_ns);

/* The maps of the stack walker; NULL without one. */
const struct unwind_kernel *sampler_unwind(const struct sampler *s);

/* Readable when much waits; belongs to the sampler. */
int sampler_fd(const struct sampler *s);

/* Hands all waiting events to the function.  Until it is called again they are
 * taken from the ring by a thread (keeper.h), whatever takes so long. */
const struct err *sampler_drain(struct sampler *s);

/* CPU time of that thread since it began. */
int64_t sampler_cpu_ns(const struct sampler *s);

/* Ends the sampling; what is in the ring can still be drained. */
void sampler_stop(struct sampler *s);

/* Sums a type's counters of all CPUs, by enum event_counter. */
void sampler_counts(const struct sampler *s, size_t type,
    uint64_t counts[COUNT_COUNTERS]);

/* Events that were too short for what they said of themselves. */
uint64_t sampler_malformed(const struct sampler *s, size_t type);

/* Kernel memory of the maps, as the kernel accounts it. */
uint64_t sampler_map_bytes(const struct sampler *s);

/* Ticks at which the kernel did not run the type's program, since the CPU was
 * in another BPF program. */
uint64_t sampler_skipped(const struct sampler *s, size_t type);

/* CPUs that are online, and those of them that are sampled. */
void sampler_cpus(const struct sampler *s, size_t type, unsigned *online,
    unsigned *sampled);

#endif
