/*
 * Sampled objects that live, as the allocator's library tells of them, and the
 * stacks that took them, for longer than a slot.
 *
 *	process ──► holder ──► objects {address, weight, stack}
 *	                │                                  │
 *	                └─ goes with the process,          ├─ of the open slot:
 *	                   or when that executes           │  the aggregate's
 *	                   another program                 └─ kept: names
 *
 * An object of n bytes that was asked for stands for
 * 1 / (1 - exp(-n / mean)) like it.  One that is given back in the slot
 * that took it, or whose process ends in it, is short-lived: a slot's
 * allocations are its short-lived ones and those in use at its end.
 *
 * All is bounded; what finds no room is refused, and the caller counts it.
 */
#ifndef COLLECTOR_OBJECTS_H
#define COLLECTOR_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/alloc/alloc.h"

struct frame;
struct objects;
struct process;
struct processes;

#define OBJECTS_MAX 262144 /* that live, of all processes: 128 GiB of heaps */
#define OBJECTS_UNIT 1024  /* what one whole object counts in sums */
#define OBJECTS_NONE UINT32_MAX

/* What an object stands for, or a sum of such. */
struct objects_weight {
	int64_t bytes;
	int64_t objects; /* in 1 / OBJECTS_UNIT */
};

static inline void
objects_add(struct objects_weight *sum, struct objects_weight w)
{
	sum->bytes += w.bytes;
	sum->objects += w.objects;
}

/* Of a picked request of that size (alloc_size.h), 0 for none, one of so many
 * picked. */
struct objects_weight objects_weigh(uint64_t size, uint64_t times);

/* Of a sum, in whole objects, to the nearest. */
int64_t objects_whole(int64_t objects);

/* The same of one stack among many: up or down by a number of its own, as often
 * as what is over says.  Each of them rounded to the nearest errs to the same
 * side: where one sample stands for 1.49 objects a third was missing. */
int64_t objects_drawn(int64_t objects, uint64_t number);

/* The table is borrowed.  NULL when out of memory. */
struct objects *objects_new(struct processes *table);
void objects_free(struct objects *o);

/* The process has the library, and perhaps nothing in use.  False: no
 * memory. */
bool objects_holds(struct objects *o, struct process *p);

/* An object of that size is taken of it (alloc_size.h); and the largest mean of
 * intervals, in bytes, that those had since this was asked last. */
void objects_sampled(struct objects *o, struct process *p, uint64_t size);
uint64_t objects_mean(struct process *p);

/* Has it executed another program since this was asked last, as /proc says? */
bool objects_renewed(struct process *p);

/* An object was taken at time_ns, by a stack that is told later; one that was
 * at its address is given back.  Of a program that the process has left since
 * it has ended with it.  exec_id 0: it is the one that the process executes.
 * False: there is no room. */
bool objects_take(struct objects *o, struct process *p, uint32_t exec_id,
    uint64_t address, struct objects_weight w, uint64_t time_ns);

/* The stack that took it, by its number in the slot, with its weight; p NULL:
 * of a process that is gone. */
bool objects_placed(struct objects *o, struct process *p, uint64_t address,
    struct objects_weight w, uint64_t time_ns, uint32_t stack);

/* It was given back; false: it is not known. */
bool objects_give(struct objects *o, struct process *p, uint32_t exec_id,
    uint64_t address);

/* It may move, has done so, or stays; not one that was taken at its address
 * meanwhile. */
void objects_move(struct objects *o, struct process *p, uint32_t exec_id,
    uint64_t address, enum alloc_end how);

/* It lives, as the library's table says, and was taken before we began or,
 * where `lost`, when we were not told.  One that is known already keeps its
 * stack, and stands for itself alone from here on: those that it stood for are
 * found, too.  False: there is no room. */
bool objects_found(struct objects *o, struct process *p, uint64_t address,
    uint64_t size, bool lost);

/* Calls fn for each object of a process; it may give it back. */
typedef void objects_fn(void *arg, struct process *p, uint64_t address);
void objects_each(struct objects *o, struct process *p, objects_fn *fn,
    void *arg);

/* ---- at the end of a slot, in this order ---- */

/* Drops what belonged to processes that are gone, or that run another
 * program. */
void objects_sweep(struct objects *o);

/* What a stack of the slot has allocated (objects, since the aggregate has the
 * bytes), and what of it was short-lived (bytes). */
struct objects_slot {
	int64_t objects, short_bytes;
	uint32_t live; /* objects that live */
};
struct objects_slot objects_slot(const struct objects *o, uint32_t stack);

/* The names of a stack of the slot that has objects that live: begun with its
 * thread pool, then called with each of its frames, root first. */
void objects_keep(struct objects *o, uint32_t stack, const char *pool);
void objects_keep_frame(struct objects *o, uint32_t stack,
    const struct frame *f);

/* All objects go over from the slot's stacks to the kept ones; the slot's
 * numbers are void.  Calls fn for each that has to be given up, for want of
 * room. */
typedef void objects_lost_fn(void *arg, const struct process *p,
    struct objects_weight w);
void objects_settle(struct objects *o, objects_lost_fn *fn, void *arg);

/* What is in use: each kept stack with its process, pool and sums; p NULL: it
 * has none any more. */
struct objects_kept {
	const struct process *p;
	const char *pool;
	struct objects_weight sum;
	uint32_t n; /* frames */
};
size_t objects_kept_count(const struct objects *o);
struct objects_kept objects_kept_get(const struct objects *o, size_t i);
/* Frame k of it, root first; strings are valid until names are kept again. */
struct frame objects_kept_frame(const struct objects *o, size_t i, uint32_t k);

/* Each process that has the library; the function may drop what it has. */
typedef void objects_holder_fn(void *arg, struct process *p);
void objects_holders(const struct objects *o, objects_holder_fn *fn,
    void *arg);

struct objects_stats {
	size_t live, kept, holders;
	uint64_t unknown; /* given back without being known, since the start */
};
void objects_stats(const struct objects *o, struct objects_stats *out);

#endif
