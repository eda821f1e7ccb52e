/*
 * What one slot has seen: (group, stack) -> sum of values.
 *
 * A group is who ran, and how it was seen: service, label set (process, pool,
 * cgroup, reason), type and period.  A stack is a list of frame numbers, whose
 * meaning is the caller's.  All is bounded; what does not fit is refused, and
 * the caller counts it.
 *
 *	groups   hash of strings ──► {service, process, pool, cgroup, reason}
 *	stacks   hash of (group, numbers) ──► {first, n, value, samples}
 *	numbers  one array, stacks behind each other
 */
#ifndef COLLECTOR_AGGREGATE_H
#define COLLECTOR_AGGREGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AGGREGATE_NONE UINT32_MAX

struct aggregate;

struct aggregate_limits {
	uint32_t groups, stacks, numbers;
};

struct aggregate_group {
	const char *service, *process, *pool, *cgroup; /* "" where unknown */
	const char *reason; /* of a wait or a fault, else "" */
	const char *instance; /* of a service that a rule names, else "" */
	uint64_t period; /* what a sample counts for; 0 where that is unknown */
	uint8_t type;    /* of profile, by its number */
	bool by_entry; /* the thread's entry function shall name the pool */
};

struct aggregate_stack {
	uint32_t group;
	uint32_t n;
	const uint32_t *frames; /* borrowed until the next add or clear */
	int64_t value;
	uint64_t samples; /* stacks that were sent; of a clock, its ticks */
};

/* NULL when out of memory. */
struct aggregate *aggregate_new(const struct aggregate_limits *limits);
void aggregate_free(struct aggregate *a);

/* Forgets everything, keeps the memory of a usual slot. */
void aggregate_clear(struct aggregate *a);

/* The number of a group, made when new; AGGREGATE_NONE when there is no room.
 * Strings are copied. */
uint32_t aggregate_group(struct aggregate *a, const struct aggregate_group *g);

/* Adds value and samples of `what` to a stack of its n frames (any order, n
 * may be 0).  False when there is no room for a new stack. */
bool aggregate_add(struct aggregate *a, const struct aggregate_stack *what);
/* The same; returns the stack's number, or AGGREGATE_NONE. */
uint32_t aggregate_add_to(struct aggregate *a,
    const struct aggregate_stack *what);

/* Moves a stack to the group that differs in the reason alone; where that has
 * the same stack there are two then, and what is added later makes a third.
 * False when there is no room. */
bool aggregate_set_reason(struct aggregate *a, size_t i, const char *reason);

size_t aggregate_groups(const struct aggregate *a);
size_t aggregate_stacks(const struct aggregate *a);

/* Group and stack by number; strings borrowed until the next call that adds
 * or clears. */
struct aggregate_group aggregate_get_group(const struct aggregate *a,
    size_t i);
struct aggregate_stack aggregate_get_stack(const struct aggregate *a,
    size_t i);

/* The pool of a thread: its name with each run of digits as one '*', so that
 * worker-1 and worker-12 are worker-*.  Writes at most `size` bytes with NUL;
 * control characters and bytes that are not UTF-8 become '?'. */
void aggregate_fold_digits(char *out, size_t size, const char *name);

#endif
