/*
 * Waits for locks: those waits for a futex, or a latch, whose user frames are a
 * mutex, a reader/writer lock, a semaphore or a database's lock, by a table of
 * names (locks_names.c).
 * Three series, all of them parts of the waits that the probe sends anyway:
 *
 *	lock         ns that threads wait  \  main  worker  pthread_mutex_lock
 *	lock_waits   how many waits ended  /    mutex accounts
 *	lock_holder  ns that others waited    main  worker  transfer
 *	             until it woke them         pthread_mutex_unlock
 *	                                        mutex accounts
 *
 * A condition is no lock, but who signals it is what others wait for: that is
 * in the last one, too.  Those who wait for it with a time limit alone may wait
 * for work.
 *
 * The leaf is the lock's identity, by the address of its futex: a symbol of
 * data where it has one, else a number in its process with the function that
 * was first seen to wait for it.  What is in the aggregate is the number of
 * the lock behind the frames: names are known only when the slot is over.
 */
#ifndef COLLECTOR_LOCKS_H
#define COLLECTOR_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aggregate_stack;
struct engine;
struct locks;
struct sample_event;

enum lock_series {
	LOCK_TIME,
	LOCK_COUNT,
	LOCK_HOLDER,
	LOCK_SERIES
};

/* That stay known from slot to slot: those that were waited for last, of
 * processes that live.  As many again may be new in a slot. */
#define LOCKS_MAX 16384
#define LOCKS_FULL UINT32_MAX /* no number: there is no room for one more */
#define LOCK_LEAF_MAX 640

/* NULL when out of memory. */
struct locks *locks_new(void);
void locks_free(struct locks *l); /* NULL is fine */

/* Which type of profile, by its number, is which series. */
void locks_set_type(struct locks *l, enum lock_series series, uint8_t type);
uint8_t locks_type(const struct locks *l, enum lock_series series);

/* May a wait for a latch with these user frames be one for a lock?  Not where
 * each function that could say so has another name. */
bool locks_may_be(const struct engine *s, const uint32_t *refs, size_t n);

/* The number of the lock that an event's wait is for, to be the last of its
 * stack's numbers; valid until the next slot.  Or LOCKS_FULL: a wait for it is
 * told without its name; who ended that wait cannot be told. */
uint32_t locks_number(struct engine *s, const struct sample_event *e);

/* What is told of a stack when names are known. */
struct locks_told {
	const char *reason; /* "mutex", "reader", "writer", "semaphore",
	                     * "database"; of holders "rwlock" for two of
	                     * them, and "condition" or "timed condition" */
	uint32_t n;         /* frames of it that are shown */
	char leaf[LOCK_LEAF_MAX];
};

/* Looks at a stack of the type LOCK_TIME, at the end of the slot: all of them
 * before any is told. */
void locks_judge(struct engine *s, const struct aggregate_stack *stack);

/* Of a stack of LOCK_TIME or LOCK_HOLDER; false: it waits for no lock. */
bool locks_tell(struct engine *s, const struct aggregate_stack *stack,
    bool holder, struct locks_told *out);

/* Everything that was numbered in the slot is void after this. */
void locks_begin_slot(struct engine *s);

#endif
