/*
 * Sampled memory in the engine: an object that was taken is a stack of the type
 * alloc_space and lives in objects.h until it is given back.  Five series:
 *
 *	alloc_space    bytes    \  what the slot's stacks asked for,
 *	alloc_objects  objects  /
 *	short_space    bytes       and what of it did not outlive the slot;
 *	inuse_space    bytes    \  what lives at its end, whenever it was
 *	inuse_objects  objects  /  asked for
 *
 * The library's own frames are left out; the leaf is the call and the size.
 */
#ifndef COLLECTOR_ALLOCS_H
#define COLLECTOR_ALLOCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/bpf/stride.h"
#include "collector/objects/objects.h"
#include "collector/objects/objects_table.h"
#include "collector/objects/observed.h"

struct engine;
struct err;
struct objects;
struct process;
struct sample_event;

enum allocs_series {
	ALLOCS_NOT, /* a series of another kind */
	ALLOCS_SPACE,
	ALLOCS_OBJECTS,
	ALLOCS_SHORT,
	ALLOCS_IN_USE,
	ALLOCS_IN_USE_OBJECTS,
	ALLOCS_SERIES
};

struct allocs {
	struct objects *objects; /* NULL: nobody takes any */
	uint8_t types[ALLOCS_SERIES]; /* of profile, by number */
	struct objects_library library;
	int64_t began_boot_ns; /* when the probes were attached */
	uint64_t lost; /* events that we were not told of */
	uint64_t lost_slot; /* what came until some were new is of it at most */
	int64_t end_ns;      /* of the slot that is made: CLOCK_MONOTONIC, */
	int64_t end_boot_ns; /* and by the other clock, if it is over */
	int64_t checked_boot_ns; /* of the one before, when it was looked at, */
	int64_t lost_boot_ns;    /* and when some were new; 0: never */
	bool lacks; /* what is in use lacks something that may be found */
	struct observed observed; /* at the end of the slot */
};

/* Has a type of profile be one of them; the first one is ALLOCS_SPACE, with
 * which the probes are attached: then all are there. */
const struct err *allocs_attach(struct engine *s, size_t type,
    enum allocs_series series);

/* Is the library the file that it was? */
bool allocs_are_same(const struct engine *s);

/* Is it a type of these? */
bool allocs_has_type(const struct engine *s, size_t type);

/* What an object stands for beyond its own bytes, at each step of these, for
 * the probe, which weighs those that are lost (stride.h). */
void allocs_fill_more(uint32_t more[WEIGH_STEPS + 1]);

/* What an event of an object that was taken stands for; of others nothing. */
struct objects_weight allocs_weigh(const struct sample_event *e);

/* An event that there was no room for: what is in use may lack it, until it is
 * looked for. */
void allocs_lacks(struct engine *s, const struct sample_event *e);

/* An event is seen for the first time, of the process p or of one that is
 * gone; true: it says no more. */
bool allocs_see(struct engine *s, const struct sample_event *e,
    struct process *p);

/* Is a file of this path the library? */
bool allocs_is_library(const char *path);

/* The leaf of an event's stack: "[malloc of 1 KiB to 2 KiB]". */
#define ALLOCS_LEAF_MAX 64
void allocs_leaf(const struct sample_event *e, char leaf[ALLOCS_LEAF_MAX]);

/* Takes over what lives in processes that were there before us. */
void allocs_take_over(struct engine *s);

/* The end of a slot, which was at end_ns of CLOCK_MONOTONIC: before its blocks
 * are made; and when all stacks of it are, those that go on are kept. */
void allocs_sweep(struct engine *s, int64_t end_ns);
void allocs_settle(struct engine *s);

#endif
