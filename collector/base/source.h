/*
 * Where samples come from.  A source is opened once, polled often, and asked
 * at the end of each slot for its blocks.  Live sources (BPF, /proc) and the
 * replay of a recording stand behind the same few functions, so that all
 * that follows them can be tested without root.
 *
 * Everything runs in the daemon's one main thread.
 */
#ifndef COLLECTOR_SOURCE_H
#define COLLECTOR_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/spent.h"

struct batch;
struct config;
struct err;
struct services;

enum source_state {
	SOURCE_OFF,          /* not configured */
	SOURCE_ATTACHED,     /* works; zero events is a true zero */
	SOURCE_NOT_ATTACHED, /* could not be opened: see why */
	SOURCE_DEGRADED      /* works in part: see why */
};

#define SOURCE_PARTS_MAX 16

struct source_ops {
	enum spent_on spends; /* its time, if it does not say otherwise */

	/* "cpu", "procfs", ...: of each part that has a state of its own, at
	 * most SOURCE_PARTS_MAX; NULL: there are no more. */
	const char *(*name)(size_t part);

	/* Makes what the other functions get as `source`; NULL when it is
	 * switched off.  Never fails for want of rights alone: then the
	 * state is SOURCE_NOT_ATTACHED with the reason, and the rest runs. */
	const struct err *(*open)(void **out, const struct config *config,
	    struct services *services);

	/* A descriptor that becomes readable when poll() has work, or -1. */
	int (*fd)(const void *source);

	/* Does what has become due; called when fd is readable and at least
	 * every 250 ms.  Must not block. */
	const struct err *(*poll)(void *source, int64_t now_ns);

	/* Adds the blocks and facts of slot [slot, slot+1) to the batch and
	 * begins the next slot.  `first` is true for the first slot after a
	 * start and every 64th slot: facts that hold on are said again. */
	const struct err *(*close_slot)(void *source, uint64_t slot,
	    struct batch *b, bool first);

	enum source_state (*state)(const void *source, size_t part,
	    const char **why);

	void (*close)(void *source);

	/* Takes nothing more: the next close_slot() is the last, and counts
	 * all that was taken.  May be NULL. */
	void (*stop)(void *source);

	/* Goes on with another configuration, and forgets the old one; nothing
	 * is lost meanwhile.  The names of services may change right after
	 * that.  False: it is stopped, closed and opened anew.  May be NULL. */
	bool (*reload)(void *source, const struct config *config);
};

extern const struct source_ops source_profiles; /* BPF, by the engine */
extern const struct source_ops source_procfs; /* /proc and /sys */
extern const struct source_ops source_self;   /* the daemon itself */

/* Time between two readings of /proc now; `source` is source_procfs'. */
int64_t procfs_interval_ns(const void *source);

#endif
