/*
 * The probe of waits: loads its BPF programs beside the sampler's, whose ring,
 * counters and stack walker they use, and reads all threads when asked.
 */
#ifndef COLLECTOR_SAMPLER_WAITS_H
#define COLLECTOR_SAMPLER_WAITS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/bpf/wait_sweep.h"

struct bpf_object;
struct err;
struct sampler_waits;

enum waits_stacks {
	WAITS_AUTO,      /* the first of these that the kernel can do: */
	WAITS_INTERRUPT, /* as they come back, in an interrupt, */
	WAITS_BACK,      /* by sched_exit_tp, */
	WAITS_SCHEDULE,  /* as they return from schedule() */
	WAITS_LEAVE      /* some of those that leave */
};

struct waits_options {
	int64_t slot_ns;
	int64_t threshold_ns; /* of waits whose stacks are taken, */
	int64_t idle_ns;      /* and of wait_is_idle(); not less */
	enum waits_stacks stacks;
	bool kernel, eh_frame; /* as the sampler has them */
};

/* Loads and attaches them as the type of that number; `maps` is the sampler's
 * object, borrowed.  Errors: ERR_BPF with the cause in words. */
const struct err *sampler_waits_open(struct sampler_waits **out, size_t type,
    const struct waits_options *o, const struct bpf_object *maps);
void sampler_waits_close(struct sampler_waits *w);

/* Its maps, for the probe of wakers. */
const struct bpf_object *sampler_waits_object(const struct sampler_waits *w);

/* No more events; threads can still be swept. */
void sampler_waits_stop(struct sampler_waits *w);

/* May long waits, too, have no stack? */
bool sampler_waits_lack(const struct sampler_waits *w);

void sampler_waits_set_threshold(struct sampler_waits *w, int64_t ns,
    int64_t idle_ns);

/* Where both ways are there, takes the cheaper one for so many switches and
 * long waits. */
void sampler_waits_choose(struct sampler_waits *w, uint64_t switches,
    uint64_t stacks);

/* The open slot begins there, in CLOCK_MONOTONIC.  What was measured of the
 * scheduler's clock in the last one is in force from now on. */
void sampler_waits_set_begin(struct sampler_waits *w, int64_t begin_ns);

/* The end of a thread; borrowed for the call. */
typedef void waits_end_fn(void *arg, const struct sample_event *e,
    size_t size);

/* Hands over the ends for which the ring had no room. */
void sampler_waits_ends(struct sampler_waits *w, waits_end_fn *fn, void *arg);

/* A thread as it is now; borrowed for the call. */
typedef void waits_sweep_fn(void *arg, const struct wait_swept *r);

/* Hands over each thread of the host that is not the kernel's, with the stacks
 * of those whose wait began before end_ns and is long. */
const struct err *sampler_waits_sweep(struct sampler_waits *w, int64_t end_ns,
    waits_sweep_fn *fn, void *arg);

#endif
