/*
 * The kernel's half of the CPU profiler: loads the BPF program, sets a clock
 * on every CPU, drains the ring.  Knows nothing of processes or names.
 */
#ifndef COLLECTOR_SAMPLER_H
#define COLLECTOR_SAMPLER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/bpf/event.h"

struct err;
struct sampler;
struct unwind_kernel;

/* One event of `size` bytes, borrowed for the call; its counts of frames are
 * within `size`. */
typedef void sampler_fn(void *arg, const struct sample_event *e, size_t size);

struct sampler_options {
	int64_t hz;
	bool kernel;    /* take kernel stacks too */
	uint32_t cells; /* of unwind rows; 0: walk by frame pointers */
};

/*
 * Loads and attaches on every CPU that is online.  Errors: ERR_BPF with the
 * cause in words (no BTF, missing capabilities, no perf events).
 */
const struct err *sampler_open(struct sampler **out,
    const struct sampler_options *o, sampler_fn *fn, void *arg);
void sampler_close(struct sampler *s);

/* The maps of the stack walker; NULL without one. */
const struct unwind_kernel *sampler_unwind(const struct sampler *s);

/* Readable when the ring is filling up; belongs to the sampler. */
int sampler_fd(const struct sampler *s);

/* Hands all waiting events to the function. */
const struct err *sampler_drain(struct sampler *s);

/* Samples at another rate from now on.  On an error some CPUs may not be
 * sampled any more; sampler_cpus() tells. */
const struct err *sampler_set_rate(struct sampler *s, int64_t hz);

/* Ends the sampling; what is in the ring can still be drained. */
void sampler_stop(struct sampler *s);

/* Sums the counters of all CPUs, by enum event_counter. */
void sampler_counts(const struct sampler *s, uint64_t counts[COUNT_COUNTERS]);

/* Events that were too short for what they said of themselves. */
uint64_t sampler_malformed(const struct sampler *s);

/* Kernel memory of the maps, as the kernel accounts it. */
uint64_t sampler_map_bytes(const struct sampler *s);

/* Ticks at which the kernel did not run the program, since the CPU was in
 * another BPF program. */
uint64_t sampler_skipped(const struct sampler *s);

/* CPUs that are online, and those of them that are sampled. */
void sampler_cpus(const struct sampler *s, unsigned *online,
    unsigned *sampled);

#endif
