/*
 * The waits of threads: what the probe sends of each, cut at the borders of
 * slots, and what is left without a stack of its own.
 *
 *	ring ──► a wait and its stack ──► its part of the open slot ──► resolve
 *	sweep ─► each thread's sums   ──► - what had a stack = below threshold
 *	                              ──► thread_time.h, by service and state
 *
 * A thread's sums are exact and grow from its first moment to its last; in
 * each slot its states add up to the time that it lived.  What has a stack is
 * a part of that.  A wait that goes on as a slot ends is in that slot with the
 * stack that the sweep takes, once.
 */
#ifndef COLLECTOR_WAITS_H
#define COLLECTOR_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct batch;
struct engine;
struct sample_event;
struct thread_time;
struct waits;
struct wait_swept;

#define WAITS_THREADS_MAX 65536

/* NULL when out of memory. */
struct waits *waits_new(int64_t slot_ns);
void waits_free(struct waits *w);

/* One event of the ring with EVENT_WAIT. */
void waits_event(struct engine *s, const struct sample_event *e, size_t size);

/* A slot begins where the last one ended; its own end is about end_ns, in
 * CLOCK_MONOTONIC. */
void waits_begin(struct waits *w, int64_t end_ns, int64_t now_ns);
/* It is another slot that ends, about then. */
void waits_end(struct waits *w, int64_t end_ns);
/* All threads are known to the probe since then, which may be in the slot. */
void waits_watch(struct waits *w, int64_t now_ns);
/* Threads are as they were then, from now on. */
void waits_stop(struct waits *w, int64_t now_ns);
int64_t waits_end_ns(const struct waits *w);

/* A thread, as the sweep at the end of the slot found it. */
void waits_swept(struct engine *s, const struct wait_swept *r);

/* The slot is over, its sweep and its events are taken: adds what had no
 * stack, and the metrics of each service. */
void waits_close_slot(struct engine *s, uint64_t slot, struct batch *b);

/* Where the frames of a slot's stacks, which are of the type that takes waits,
 * say better what is waited for: moves the stacks, and the services' time. */
void waits_mend_reasons(struct engine *s, uint8_t type);

size_t waits_threads(const struct waits *w);

/* What it has told of the open slot, or will. */
struct thread_time *waits_time(struct waits *w);

#endif
