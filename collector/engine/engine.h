/*
 * The engine of the profiler: one ring, one border between slots, one way of
 * resolving, for all types of profiles.  A type brings a row (profile.h).
 *
 *	ring ─► border ─► resolve ─► aggregate ─► emit ─► batch
 *	        which     whose,     sums of      blocks
 *	        slot      where      the slot
 *
 * Beside that: account.c (what became of each run), pace.c (how often),
 * process_watch.c (processes that come and go).
 */
#ifndef COLLECTOR_ENGINE_H
#define COLLECTOR_ENGINE_H

#include "collector/base/aggregate.h"
#include "collector/base/governor.h"
#include "collector/base/source.h"
#include "collector/engine/account.h"
#include "collector/engine/border.h"
#include "collector/engine/locks.h"
#include "collector/engine/pace.h"
#include "collector/engine/profile.h"
#include "collector/engine/second.h"
#include "collector/engine/waits.h"
#include "collector/engine/waits_pace.h"
#include "collector/maps/maps.h"
#include "collector/probe/sampler.h"
#include "collector/symbols/symbols.h"

/* One type of profile, as it runs. */
struct engine_profile {
	const struct profile *row; /* NULL: switched off */
	const struct type *type;   /* of its series */
	struct sampler_clock clock; /* as configured */
	struct waits_options waits; /* where the row has no clock */
	struct allocs_options allocs; /* likewise */
	enum source_state state;
	char why[320];
	char slow[200]; /* why it is sampled less often; "": it is not */
	bool unset;     /* its clock could not be set anew: slow says why */
	struct service_faults *faults;
	int64_t clocked_ns; /* its clock ticks since then: CLOCK_MONOTONIC; 0:
	                     * it has none */
	int64_t watched_ns; /* in all slots, together */
	struct account_profile now, told;
};

struct unwind_kernel;

struct engine {
	const struct config *config;
	struct services *services;
	struct sampler *sampler; /* NULL: not attached */
	int64_t sampler_ns;      /* of its thread's CPU time, accounted for */
	struct symbols *symbols;
	struct maps *maps;
	struct jits *jits;
	const struct unwind_kernel *kernel; /* the walker's maps, */
	struct unwind_tables *tables;       /* NULL: frame pointers */
	struct unwind_processes *processes;
	struct process_watch *watch; /* NULL: samples find processes */
	struct aggregate *aggregate;
	int epoll;
	bool stopped; /* samples no more, for good */
	struct governor governor;
	struct pace pace;
	struct border border;
	struct second second;
	int64_t began_ns; /* monotonic, of the first poll */
	struct waits *waits; /* NULL: nobody takes any */
	struct waits_pace waits_pace;
	struct locks *locks; /* NULL: likewise, of waits for locks */
	struct thread_entries *entries; /* of threads that nobody named */
	struct allocs allocs;
	int64_t now_ns;  /* monotonic, of this poll */
	int64_t boot_ns; /* the same moment since the boot */
	struct account_shared now, told;
	struct engine_profile profiles[PROFILES_MAX]; /* by their number */
	size_t n_profiles;
};

/* A source (source.h) of n profiles; *out is NULL when all are off. */
const struct err *engine_open(void **out, const struct config *config,
    struct services *services, const struct profile *const *rows, size_t n);
/* Goes on as it is where nothing of its sections is another one, and nothing of
 * it lacks anything that may be there by now. */
bool engine_reload(void *source, const struct config *config,
    const struct profile *const *rows, size_t n);
int engine_fd(const void *source);
const struct err *engine_poll(void *source, int64_t now_ns);
const struct err *engine_close_slot(void *source, uint64_t slot,
    struct batch *b, bool first);
enum source_state engine_state(const void *source, size_t part,
    const char **why);
void engine_stop(void *source);
void engine_close(void *source);

/* An event of the ring, `size` bytes: into the open slot, or held when it is of
 * a later one.  `arg` is the engine. */
void engine_event(void *arg, const struct sample_event *e, size_t size);

/* engine_open.c's, too: reads the clocks; tells waits of the open slot. */
void engine_set_clock(struct engine *s);
void engine_begin_waits(struct engine *s);

#endif
