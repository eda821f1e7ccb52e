/*
 * The types of profiles: the one table that the profiler, what is pushed,
 * answers and pages read.  A new type is a row here, and a probe where our
 * own profiler measures it.
 *
 *	name          title          unit         kind   group    sample
 *	cpu           CPU time       nanoseconds  flow   process_cpu  cpu
 *	inuse_space   Memory in use  bytes        stock  memory   inuse_space
 *
 * What strangers push under names of their own has no row: types_other()
 * makes one from its name and unit.  How a name and a unit become the name
 * that is kept: type.h.  Ids in Pyroscope's terms: typeid.h.
 */
#ifndef STORE_TYPES_H
#define STORE_TYPES_H

#include <stdbool.h>
#include <stddef.h>

#include "store/model/series.h"

enum type_source {
	TYPE_PUSHED,   /* by agents and imports alone */
	TYPE_PROFILED, /* by our own profiler, and pushed */
};

/* The gauge beside a heap's profiles, by service and maybe instance, where
 * their source says it: so many bytes lie between two samples; 1: all is
 * counted. */
#define TYPES_SAMPLING "memlens_heap_sampling_bytes"

/* Gauges of a service some of whose processes have our library (memlens run),
 * by `library`, "yes" or "no", and maybe instance: how many processes, and what
 * is resident in them. */
#define TYPES_LIBRARY_PROCESSES "memlens_heap_processes"
#define TYPES_LIBRARY_RESIDENT "memlens_heap_resident_bytes"

/* What of an allocation's life a type counts. */
enum type_life {
	TYPE_LIFE_NONE,
	TYPE_LIFE_ALLOCATED, /* all bytes, */
	TYPE_LIFE_SHORT,     /* those that did not outlive their slot, */
	TYPE_LIFE_OBJECTS,   /* and how many objects all were */
	TYPE_LIVES
};

struct type {
	const char *name;  /* "cpu": in selectors, after an application's dot */
	const char *title; /* "CPU time": for people */
	const char *unit;  /* what text of it counts, in a word of unit.h */
	enum series_kind kind;
	enum type_source source;
	/* Pyroscope's "memory", pprof's "inuse_space", and their period:
	 * "space" in "bytes".  NULL: the name; of the period: sample and
	 * unit. */
	const char *group, *sample, *period_type, *period_unit;
	const char *alias; /* another of pprof's names, or NULL */
	const char *units; /* that tell it where text has no name, or NULL */
	enum type_life life;
	bool library;      /* ours is our library's (memlens run): what that
	                    * has lost is known in bytes and objects, and says
	                    * nothing of what others give */
	bool from_start;   /* programs tell it since they began: pulled, it is
	                    * what is more than at the pull before */
	bool timed;        /* text of it counts samples of 1 / rate s */
	bool threshold;    /* our profiler takes what lasts for some time */
	const char *records; /* NULL, or the type from whose records ours is
	                      * made: what of them is lost may have been of
	                      * this, too, and none seen is no zero then */
	/* NULL, or the types that add up to it, ended by NULL: what nobody
	 * has pushed is their sum, where the first of them is there. */
	const char *const *parts;
	/* NULL, or which stacks wait for work, as regular expressions: for
	 * what they wait, with no frame that says that some are not known; or
	 * for what else, with none that may hide what it is; or with one of
	 * these frames and none of those; none of all these with one of
	 * somebody who is at work. */
	const char *idle_reasons, *lost_frames, *idle_certain_reasons;
	const char *idle_other_reasons, *idle_frames, *doubt_frames;
	const char *busy_frames;
};

extern const struct type types[];
extern const size_t n_types;

/* The row of a name, or NULL. */
const struct type *types_find(const char *name);
/* That of Pyroscope's group and pprof's sample type, or NULL. */
const struct type *types_of_group(const char *group, const char *sample);
/* That of pprof's sample type alone, or NULL. */
const struct type *types_of_sample(const char *sample);
/* The one that counts this of allocations. */
const struct type *types_of_life(enum type_life life);
/* That which units of text tell: "samples", "lock_nanoseconds", "kB"; or
 * NULL. */
const struct type *types_of_units(const char *units);

/* The type that is there where the one of this name is, or NULL. */
const struct type *types_made_with(const char *name);

/* How a name counts that may have no row: what is in use averages. */
enum series_kind types_kind(const char *name);

/* The row of a series that may have none; it borrows both. */
struct type types_other(const char *name, const char *unit,
    enum series_kind kind);

/* "profiler", "pushed". */
const char *types_source_name(enum type_source source);

#endif
