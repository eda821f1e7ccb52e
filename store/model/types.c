/*
 * The table of types.  Of two rows that a client's word fits the first is
 * meant: contentions alone are those of mutexes.
 */
#include "store/model/types.h"

#include <string.h>

#include "store/model/unit.h"

#define FLOW SERIES_FLOW
#define STOCK SERIES_STOCK
#define PUSHED .source = TYPE_PUSHED
#define TAKEN .source = TYPE_PROFILED
#define MEMORY .group = "memory", .period_type = "space", .period_unit = "bytes"
#define WAITS .period_type = "contentions", .period_unit = "count"
#define LOCKS                                                                  \
	.group = "mutex", .threshold = true, .records = "offcpu", WAITS

/*
 * Who waits for work: in a call that waits for any of several, in a sleep, in
 * accept(), for signals, in a wait for a condition that gives up after a time,
 * and in one of the threads that LevelDB, RocksDB, redis and memcached have for
 * what is done beside; not where there is a mark, since anything may be behind
 * it, but for polls that are below the threshold, as servers at work have them.
 * None of it where a statement is under way, which so waits for the locks of
 * rows and tables, for a client that takes its result, for a replica: those of
 * MariaDB and MySQL, and of PostgreSQL.  Nor in a call of a database that is in
 * its program, which sleeps to slow a writer down (LevelDB, RocksDB) or until
 * another has written (SQLite).  Who runs, or wants a CPU, waits for no work.
 */
#define IDLE                                                                   \
	.idle_reasons = "poll", .lost_frames = "^[[](?!below threshold)",      \
	.idle_certain_reasons = "timer",                                       \
	.idle_other_reasons = "condition|network|other",                       \
	.idle_frames = "^(accept4?$|inet_csk_accept|do_sigtimedwait|"          \
	               "pthread_cond_(timed|clock)wait|"                       \
	               "leveldb::[(]anonymous namespace[)]::PosixEnv::"        \
	               "BackgroundThread|"                                     \
	               "rocksdb::ThreadPoolImpl::Impl::BGThread|"              \
	               "bioProcessBackgroundJobs$|"                            \
	               "(assoc_maintenance|item_crawler|slab_rebalance|"       \
	               "logger)_thread$)",                                     \
	.doubt_frames = "^[[]",                                                \
	.busy_frames = "^(dispatch_command|mysql_execute_command|"             \
	               "Rows_log_event::|exec_simple_query$|PortalRun$|"       \
	               "CommitTransaction(Command)?$|secure_write$|"           \
	               "ParallelQueryMain$|GetCachedPlan$|pg_plan_query$|"     \
	               "parse_analyze_|"                                       \
	               "(leveldb|rocksdb)::DB(Impl)?::|libleveldb[.]so|"       \
	               "rocksdb::PessimisticTransaction::|"                    \
	               "sqlite3_(?!sleep$))"

static const char *const wall_parts[] = {"offcpu", "cpu", NULL};

const struct type types[] = {
    {"cpu", "CPU time", "nanoseconds", FLOW, .source = TYPE_PROFILED,
        .group = "process_cpu", .units = "samples", .timed = true},
    {"offcpu", "Time off CPU", "nanoseconds", FLOW, .source = TYPE_PROFILED,
        .group = "off_cpu", .threshold = true, IDLE},
    {"lock", "Waiting for locks", "nanoseconds", FLOW, TAKEN, LOCKS},
    {"lock_waits", "Waits for locks", "count", FLOW, TAKEN, LOCKS},
    {"lock_holder", "Having others wait for locks", "nanoseconds", FLOW,
        TAKEN, LOCKS, .idle_reasons = "timed condition"},
    {"wall", "Wall time", "nanoseconds", FLOW, .source = TYPE_PROFILED,
        .group = "wall", .timed = true, .parts = wall_parts, IDLE},
    {"faults", "Memory touched anew", "bytes", FLOW, .source = TYPE_PROFILED,
        .group = "memory", .period_type = "faults", .period_unit = "bytes"},
    {"itimer", "CPU time by itimer", "nanoseconds", FLOW, PUSHED,
        .timed = true},
    {"inuse_objects", "Objects in use", "count", STOCK, TAKEN, MEMORY,
        .alias = "objects" /* of V8's heap */, .units = "objects",
        .library = true, .records = "inuse_space"},
    {"inuse_space", "Memory in use", "bytes", STOCK, TAKEN, MEMORY,
        .alias = "space", .units = "bytes", .library = true},
    {"alloc_objects", "Objects allocated", "count", FLOW, TAKEN, MEMORY,
        .life = TYPE_LIFE_OBJECTS, .from_start = true, .library = true,
        .records = "alloc_space"},
    {"alloc_space", "Memory allocated", "bytes", FLOW, TAKEN, MEMORY,
        .life = TYPE_LIFE_ALLOCATED, .from_start = true, .library = true,
        .records = "alloc_space"},
    {"short_space", "Short-lived memory", "bytes", FLOW, TAKEN, MEMORY,
        .life = TYPE_LIFE_SHORT, .library = true, .records = "alloc_space"},
    {"alloc_in_new_tlab_objects", "Objects allocated in new TLABs", "count",
        FLOW, PUSHED, MEMORY},
    {"alloc_in_new_tlab_bytes", "Memory allocated in new TLABs", "bytes",
        FLOW, PUSHED, MEMORY},
    {"alloc_outside_tlab_objects", "Objects allocated outside TLABs", "count",
        FLOW, PUSHED, MEMORY},
    {"alloc_outside_tlab_bytes", "Memory allocated outside TLABs", "bytes",
        FLOW, PUSHED, MEMORY},
    {"alloc_sample_objects", "Objects allocated, as samples", "count", FLOW,
        PUSHED, MEMORY},
    {"alloc_sample_bytes", "Memory allocated, by samples", "bytes", FLOW,
        PUSHED, MEMORY},
    {"live", "Live objects", "count", STOCK, PUSHED, .group = "memory",
        .period_type = "objects", .period_unit = "count"},
    {"goroutines", "Goroutines", "count", STOCK, PUSHED, .group = "goroutine",
        .sample = "goroutine", .period_type = "goroutine",
        .period_unit = "count", .units = "goroutines"},
    {"mutex_count", "Mutex contentions", "count", FLOW, PUSHED,
        .group = "mutex", .sample = "contentions", WAITS, .from_start = true},
    {"mutex_duration", "Time waiting for mutexes", "nanoseconds", FLOW, PUSHED,
        .group = "mutex", .sample = "delay", WAITS, .from_start = true},
    {"block_count", "Blocking events", "count", FLOW, PUSHED,
        .group = "block", .sample = "contentions", WAITS, .from_start = true},
    {"block_duration", "Time blocked", "nanoseconds", FLOW, PUSHED,
        .group = "block", .sample = "delay", WAITS, .from_start = true},
    {"lock_count", "Lock contentions", "count", FLOW, PUSHED,
        .units = "lock_samples"},
    {"lock_duration", "Time waiting for locks", "nanoseconds", FLOW, PUSHED,
        .units = "lock_nanoseconds"},
    {"exceptions", "Exceptions", "count", FLOW, PUSHED},
    {"samples", "Samples", "count", FLOW, PUSHED, .group = "process_cpu",
        .period_type = "cpu", .period_unit = "nanoseconds"},
    {"seconds", "Time, pushed in seconds", "seconds", FLOW, PUSHED},
    {"milliseconds", "Time, pushed in milliseconds", "milliseconds", FLOW,
        PUSHED},
    {"microseconds", "Time, pushed in microseconds", "microseconds", FLOW,
        PUSHED},
    {"nanoseconds", "Time, pushed in nanoseconds", "nanoseconds", FLOW, PUSHED,
        .units = "nanoseconds"},
    {"bytes", "Bytes", "bytes", FLOW, PUSHED},
};
const size_t n_types = sizeof(types) / sizeof(types[0]);

const struct type *
types_of_life(enum type_life life)
{
	const struct type *t = NULL;

	for (size_t i = 0; i < n_types; i++)
		if (types[i].life == life)
			t = &types[i];
	return t;
}

static bool
types_says(const char *word, const char *is)
{
	return word != NULL && strcmp(word, is) == 0;
}

/* pprof's word for a type. */
static const char *
types_sample(const struct type *t)
{
	return t->sample != NULL ? t->sample : t->name;
}

const struct type *
types_find(const char *name)
{
	for (size_t i = 0; i < n_types; i++)
		if (strcmp(types[i].name, name) == 0)
			return &types[i];
	return NULL;
}

const struct type *
types_of_group(const char *group, const char *sample)
{
	for (size_t i = 0; i < n_types; i++) {
		const struct type *t = &types[i];

		if (t->group != NULL && strcmp(types_sample(t), sample) == 0 &&
		    (strcmp(t->group, group) == 0 ||
		    strcmp(t->name, group) == 0))
			return t;
	}
	return NULL;
}

const struct type *
types_of_sample(const char *sample)
{
	for (size_t i = 0; i < n_types; i++)
		if (strcmp(types_sample(&types[i]), sample) == 0 ||
		    types_says(types[i].alias, sample))
			return &types[i];
	return types_find(sample);
}

const struct type *
types_of_units(const char *units)
{
	const char *tries[] = {units, unit_canonical(units, NULL)};

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < n_types; i++)
			if (types_says(types[i].units, tries[k]))
				return &types[i];
	return NULL;
}

const struct type *
types_made_with(const char *name)
{
	for (size_t i = 0; i < n_types; i++)
		if (types[i].parts != NULL && types_says(types[i].parts[0],
		        name))
			return &types[i];
	return NULL;
}

enum series_kind
types_kind(const char *name)
{
	const struct type *t = types_find(name);

	if (t != NULL)
		return t->kind;
	return strncmp(name, "inuse", 5) == 0 ? SERIES_STOCK : SERIES_FLOW;
}

struct type
types_other(const char *name, const char *unit, enum series_kind kind)
{
	return (struct type){.name = name, .title = name, .unit = unit,
	    .kind = kind, .source = TYPE_PUSHED};
}

const char *
types_source_name(enum type_source source)
{
	return source == TYPE_PROFILED ? "profiler" : "pushed";
}
