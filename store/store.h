/*
 * The store: a directory of sealed, immutable, checksummed files, a journal
 * of what is not sealed yet, and a manifest that names both.  This header is
 * all that programs need.
 *
 * CAVEATS
 * - One writer: a second one is refused (a lock file).  Any number of
 *   readers; a reader needs only read permission and can be killed at any
 *   time.
 * - A directory has one slot length, set when it is made.
 * - Readers cache; call store_refresh() at the start of each request, and
 *   everything of one request is answered from one state.
 * - Pointers that a reader hands to a callback live until it returns;
 *   results are the caller's until freed, and outlive a refresh.
 * - Not for network file systems.
 *
 * TIME  int64 nanoseconds since 1970 UTC; ranges are half-open.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"
#include "store/batch/batch.h"
#include "store/batch/purge_request.h"
#include "store/model/series.h"

struct err;

/* ---- writing ---- */

struct store_writer;

struct store_options {
	int64_t slot_ns;        /* for a new directory; 0: 10 s */
	int64_t retain_fine_ns; /* age at which slot files go; 0: never */
	int64_t retain_ns;      /* age at which everything goes; 0: never */
	int64_t max_bytes;      /* hard cap on the directory; 0: none */
	int64_t reserve_bytes;  /* free space to leave on the file system */
	size_t seal_bytes;      /* tests: names and values that one piece of a
	                         * journal is sealed from; 0: 12 MiB */
	size_t merge_bytes;     /* the same: names of files that are merged;
	                         * 0: 16 MiB */
	uint64_t short_bytes;   /* tests: journals with so many in their first
	                         * 16 slots are sealed then; 0: 2 MiB */
	bool no_thread;         /* tests: background work inside tick() */
};

enum store_state {
	STORE_OK = 0,
	STORE_DISK_FULL,  /* under the reserve: batches are refused */
	STORE_FAILED      /* the last write failed; retried */
};

struct store_writer_stats {
	enum store_state state;
	char why[200];
	uint64_t batches, duplicates, refused; /* since open */
	uint64_t bytes, files;                 /* on disk now */
	uint64_t open_bytes;   /* of journals: what is not sealed yet, */
	uint64_t sealing_bytes; /* and of those that wait for nothing else */
	int64_t open_until_ns; /* when the present one is over; 0: none */
	uint64_t damaged_records;              /* skipped at sealing */
	uint64_t late_blocks;
	uint64_t lost_slots; /* that the cap took and the summary lacks */
	uint64_t next_slot; /* first slot that no batch has covered yet */
	uint64_t nodes;     /* of call trees, that were new in the journal */
	uint64_t removed;   /* files that age or the cap has taken, and the */
	uint64_t removed_until; /* end of the newest slot of one of them */
	uint64_t thinned; /* times that store_retain_unwatched() has taken */
	uint64_t thinned_until; /* something out of a file; as above */
	int64_t held_ns; /* data is old enough to go, but the clock has
	                  * jumped by so much, and must be steady first;
	                  * 0: nothing is held */
};

/*
 * Opens `dir` (made if it is missing) for writing, takes its lock, and
 * begins a new journal.  Errors: ERR_LIMIT when another writer has it.
 */
const struct err *store_writer_open(struct store_writer **out, const char *dir,
    const struct store_options *options);

/*
 * Appends a batch to the journal: one write(2), synced by a thread at once,
 * or 50 ms after its last sync.  Visible to readers at once.  A batch whose
 * id was taken in the last 24 h is counted and dropped, successfully.
 * Errors: ERR_LIMIT code 507 when the disk is full, ERR_FORMAT for another
 * slot length.
 */
const struct err *store_append(struct store_writer *w, struct batch *b);

/*
 * Several batches, of which all are taken or, after an error, none: no reader
 * sees some of them, whatever dies on the way.  `get` gives batch i, which
 * `done` is handed when its record is written, with how many nodes of call
 * trees that brought; it may be NULL.  Both are called with the writer locked.
 * The batches are finished, their slots as long as the store's.
 */
struct store_parts {
	size_t n;
	const uint8_t *id; /* 16 bytes: that of the first, and of all */
	uint64_t until; /* end of the newest slot of all; 0: they have none */
	const struct err *(*get)(void *arg, size_t i, struct batch **b);
	void (*done)(void *arg, struct batch *b, uint64_t nodes);
	void *arg;
};
const struct err *store_append_parts(struct store_writer *w,
    const struct store_parts *parts);
/* The end of its newest slot; 0: it has no blocks. */
uint64_t store_batch_until(const struct batch *b);

/* Rotates the journal when its 64 or 16 slots are over and gives the background
 * thread its work.  Call at least once a slot.  `now_ns` is the data's clock
 * (a recording's in replay). */
const struct err *store_tick(struct store_writer *w, int64_t now_ns);

void store_writer_stats(struct store_writer *w, struct store_writer_stats *s);

/*
 * What series with a label `service` that is none of `names` hold goes at an
 * age of `age_ns`, 0: never: out of sealed files that are all older, at once
 * and every 4,096 slots or age_ns.  It goes as all does by its age: not while
 * the clock may be wrong, and only so much at a time.  Facts stay.  The last
 * call counts.
 */
const struct err *store_retain_unwatched(struct store_writer *w,
    const char *const *names, size_t n, int64_t age_ns);

/*
 * Readers are told (store_extent) why batches are refused, why the work does
 * not go on, and that old data is held.  This adds what the caller knows:
 * why something else goes wrong, "" that nothing does.
 */
void store_say_trouble(struct store_writer *w, const char *why);

/* Syncs, waits for the background work, releases the lock.  NULL is fine. */
const struct err *store_writer_close(struct store_writer *w);

struct purge_query {
	const struct selector *selector;
	int64_t from_ns, until_ns; /* go to whole slots, outwards */
	/* Told how far it is, 0 to 1; may be NULL. */
	void (*progress)(void *arg, double share);
	/* For store_purge_begin(): called once at the end; e is NULL when all
	 * went well, and lives until it returns. */
	void (*done)(void *arg, const struct err *e,
	    const struct purge_report *report);
	void *arg;
};

/*
 * Takes matching data out of the range: every file that is touched is
 * written anew, symbols included, and the disk is free afterwards.  A
 * selector with service="x" takes the facts about it too.  For a writer
 * without a thread.
 */
const struct err *store_purge(struct store_writer *w,
    const struct purge_query *q, struct purge_report *report);

/*
 * The same beside a running writer: its background thread does it and calls
 * q->done (a writer without a thread: before this returns).  *q and what it
 * points to live until then, at the latest until store_writer_close() has
 * returned.  What is appended meanwhile stays.  ERR_LIMIT 429: one purge at a
 * time.
 */
const struct err *store_purge_begin(struct store_writer *w,
    const struct purge_query *q);

/* ---- reading ---- */

struct store;

struct store_extent {
	int64_t slot_ns;
	int64_t from_ns;  /* start of the oldest slot; 0 when empty */
	int64_t until_ns; /* end of the newest slot; 0 when empty */
	uint64_t bytes;   /* on disk */
	uint64_t slots; /* of files and journals, without those between */
	uint64_t files, journals, damaged;
	uint64_t generation; /* of the manifest */
	bool writer; /* somebody has the store open for writing */
	int64_t idle_ns; /* since that one has taken a batch, by a clock that
	                  * nobody sets; -1: it does not say */
	enum store_state state; /* what that one says of it, */
	char why[200];          /* and why, also of STORE_OK; or "" */
};

/* Bounds the nodes of call trees that one question may name, of all series and
 * label sets; every node takes memory.  More are ERR_REQUEST 413. */
void store_bound_nodes(struct store *s, uint32_t most);

/* Opens a directory for reading; `cache_bytes` bounds what is kept of symbols
 * and of sealed files between requests (0: 256 MiB); where one question alone
 * needs more names, it keeps those, and its files up to 24 MiB.  The index of
 * what is not sealed yet comes beside it.  A directory without a manifest is
 * "not yet": ERR_ERRNO with ENOENT. */
const struct err *store_open(struct store **out, const char *dir,
    size_t cache_bytes);
void store_close(struct store *s);

/* One more of the same directory, which knows of stacks nothing but their
 * label sets: for store_query_totals() of `sets` alone, which then takes no
 * memory for stacks, however many there are. */
const struct err *store_open_labels(struct store **out,
    const struct store *like);

/* Takes up what the writer has done since. */
const struct err *store_refresh(struct store *s);
/* Between requests: forgets what was decoded of sealed files, and all names;
 * the next store_refresh() begins with none. */
void store_forget(struct store *s);
/* A question has been answered: forgets the same where it is much more than
 * the next one should find.  True: there is memory to give back. */
bool store_rest(struct store *s);
/* The memory that a reader keeps, about. */
size_t store_bytes(const struct store *s);
void store_extent(const struct store *s, struct store_extent *e);
/* Another number, but by a rare chance, when anything was written between two
 * calls of store_refresh(). */
uint64_t store_written(const struct store *s);

/*
 * What answers lack.  Damage does not make a query fail: it is answered from
 * the rest, and what was left out within the range that was asked for is
 * noted here until store_missing_forget().  Whoever shows an answer shows
 * this with it.
 */
#define STORE_MISSING_MAX 64

struct store_missing {
	int64_t from_ns, until_ns; /* whole slots; the last may tell of many */
	char why[112];             /* "late-0-12-7.mdb is damaged" */
};

/* In the order of time; valid until the next query. */
const struct store_missing *store_missing(struct store *s, size_t *n);
void store_missing_forget(struct store *s);
/* What an answer of another reader lacks is lacking here, too. */
void store_missing_take(struct store *s, const struct store *from);
/* Off for questions beside the one that is answered, then on again. */
void store_missing_watch(struct store *s, bool on);
/* Rises when damage is found: what was read before then may have been read
 * from what was left out since. */
uint64_t store_breaks(const struct store *s);

/* Series that have a block in [from, until), in the order of their bytes.
 * `last_ns` is the end of the newest slot known to hold one.  A callback
 * that returns false ends the walk. */
typedef bool store_series_fn(void *arg, const struct series_desc *d,
    int64_t last_ns);
const struct err *store_each_series(struct store *s,
    const struct selector *selector, int64_t from_ns, int64_t until_ns,
    store_series_fn *fn, void *arg);

/* The same of profiles alone. */
const struct err *store_each_profile(struct store *s, int64_t from_ns,
    int64_t until_ns, store_series_fn *fn, void *arg);
/* A service, and its profiles' types as their series are named, each once, in
 * the order of series; equal ones have the same address. */
struct store_service {
	const char *name;
	int64_t last_ns; /* as of its series */
	const char *const *profiles;
	size_t n_profiles;
};
/* Values of the label `service` of series in the range, in the order of their
 * bytes, each once. */
typedef bool store_service_fn(void *arg, const struct store_service *x);
const struct err *store_each_service(struct store *s, int64_t from_ns,
    int64_t until_ns, store_service_fn *fn, void *arg);
/* Names and units of all profiles there are, once or more often. */
typedef void store_type_fn(void *arg, enum series_kind kind,
    const char *name, const char *unit);
const struct err *store_each_type(struct store *s, store_type_fn *fn,
    void *arg);

/* Facts of one kind with from <= time < until, in no order. */
typedef bool store_fact_fn(void *arg, int64_t time_ns, const char *subject,
    const void *data, size_t n);
const struct err *store_each_fact(struct store *s, enum fact_kind kind,
    int64_t from_ns, int64_t until_ns, store_fact_fn *fn, void *arg);

/*
 * A profile: one call tree in pre-order, children sorted by name.  Frames
 * that look the same (kind and name) are one node.  Node 0 is the root;
 * where the query asked to split, depth 1 holds values or label sets.
 *
 * Amounts are in the unit, whatever the periods, files and slots that they
 * come from; how many samples they are of stands beside (profile_samples()).
 * A stock's are means over its observations, those of slots that were seen in
 * part weighed by that (store/model/brief.h), rounded so that each node is less
 * than a unit from its mean, and the root, which is that of all, half of one at
 * most.
 */
struct profile_node {
	const char *name;   /* NUL-terminated, any bytes; owned by profile */
	const char *module; /* of one of the frames, or "" */
	enum frame_kind kind;
	uint32_t depth, parent;
	uint32_t build;     /* profile_build_id() */
	int128 self, total; /* units */
};

/* Counts of samples; and, in units, the amounts beside them of which nobody
 * has said how many samples they are: there are at least so many.  A node's
 * own before those of all below it, as in everything that is kept by node. */
struct profile_samples {
	int128 self, self_unknown;
	int128 total, total_unknown;
};

struct profile {
	struct profile_node *nodes;
	size_t n_nodes;
	uint32_t *cut; /* NULL, or by node, 0: a frame; else so many descendants
	                * of its parent, which are not shown one by one, and
	                * what they have; see store_query_profile_largest() */
	int64_t from_ns, until_ns; /* what it really covers */
	int64_t period; /* units a sample; 0: several, or nothing is sampled */
	struct profile_samples *samples; /* by node, of several periods of
	                                  * which one is known; else NULL */
	char unit[32];
	bool sets;                 /* depth 1 holds label sets */
	enum series_kind kind;
	uint64_t slots;   /* with an observation of any series */
	bool slots_about; /* that is an estimate (seen.h) */
	int64_t seen_ns;  /* their time within the range */
	/* NULL, or the types that it is made of, the first of which has data
	 * in so many of the slots (types.h); samples are those of the others,
	 * and what nobody has said to be samples is the first one's */
	const char *const *parts;
	uint64_t whole_slots;
	uint64_t series;  /* matched, with data */
	uint64_t blocks;  /* read */
	uint64_t stacks;  /* that were seen; a stock of one may round to 0 */
	struct buf strings; /* private */
};

/* The build id of a node's module, hexadecimal; "" where it is not known, or
 * where nodes were not asked for by module. */
static inline const char *
profile_build_id(const struct profile *p, const struct profile_node *n)
{
	return n->build == 0 ? "" : (const char *)p->strings.data +
	    n->build - 1;
}

/* The samples of an amount of one period. */
static inline int128
samples_of(int128 amount, int64_t period)
{
	uint64_t v = (uint64_t)amount;

	return (int128)v == amount ? (int128)(v / (uint64_t)period)
				   : amount / period;
}

/* How many samples a node's amounts are of; false where nothing of that is
 * known: bytes, means, and what was pushed without a period are of none. */
static inline bool
profile_samples(const struct profile *p, size_t node,
    struct profile_samples *out)
{
	*out = (struct profile_samples){0};
	if (p->samples != NULL)
		*out = p->samples[node];
	else if (p->period > 0)
		*out = (struct profile_samples){
		    .self = samples_of(p->nodes[node].self, p->period),
		    .total = samples_of(p->nodes[node].total, p->period)};
	return p->samples != NULL || p->period > 0;
}

struct profile_query {
	const struct selector *selector; /* profiles only */
	int64_t from_ns, until_ns;
	/* NULL; or a stack label to show at depth 1; or "": label sets as
	 * "name\1value\1name\1value", that without labels as "". */
	const char *split;
	bool by_module; /* frames of several modules, and of several builds of
	                 * one, are several nodes */
};

/*
 * The exact sum over a range.  A slot that the range cuts is cut by
 * telescoping floors of counts (see format.h), so that partitions add up; of
 * a stock it is observed as a whole.  No data gives a profile with one node
 * and slots 0.  Several units in one answer are an error (ERR_REQUEST 422).
 */
const struct err *store_query_profile(struct store *s,
    const struct profile_query *q, struct profile **out);
/* How much of a tree is wanted; all zero: every node. */
struct profile_limit {
	size_t max_nodes; /* the largest; of equals, those that come first */
	double min_share; /* of the total, 0 to 1: what has at least as much */
};

/*
 * The same for who shows a part of the tree: the nodes within both limits,
 * each with its exact numbers; what is below becomes the last child of its
 * parent, told by `cut`.  A query that splits gives all nodes.
 */
const struct err *store_query_profile_largest(struct store *s,
    const struct profile_query *q, const struct profile_limit *limit,
    struct profile **out);
void profile_free(struct profile *p);

/*
 * The tree of a flow node by node, for who keeps none of it: a node comes
 * before what is below it, the children of one in no order.  take() is given
 * the same number for the same name, below that of begin(); names and modules
 * live until the next call with the store.  False: out of memory.  *out has
 * the root alone, and all is its own.  Of a stock, whose means are rounded by
 * the tree, nothing is given, and *out is the tree.  A split says nothing
 * here.
 */
struct profile_each {
	bool (*begin)(void *arg, uint32_t n_names);
	bool (*take)(void *arg, const struct profile_node *node, uint32_t name,
	    const struct profile_samples *samples); /* NULL: as of *out */
	void *arg;
};

const struct err *store_query_each(struct store *s,
    const struct profile_query *q, const struct profile_each *each,
    struct profile **out);

/*
 * What one function has of a profile, as a tree of it would add up to, without
 * the tree: `self` of the stacks that end in a frame of its name, `total` of
 * those that have one anywhere.  Of a flow: means are rounded by the tree
 * (ERR_REQUEST 422).  A split says nothing here.
 */
struct function_sum {
	int128 self, total; /* units */
	uint64_t slots;     /* 0: no data, the rest is 0 */
};

const struct err *store_query_function(struct store *s,
    const struct profile_query *q, const char *name,
    struct function_sum *out);

/*
 * Sums of profiles over consecutive steps, without their stacks: split by
 * labels of stacks or series, or by every (series, label set).
 */
struct totals_query {
	const struct selector *selector; /* profiles only */
	int64_t from_ns, until_ns;       /* multiples of slots */
	int64_t step_ns;                 /* a multiple of the slot */
	const char *const *split;        /* labels */
	size_t n_split;
	bool sets;                       /* by series and label set instead */
};

#define TOTALS_CELLS_MAX (1u << 20) /* groups times steps: ERR_REQUEST 413 */

struct totals_step {
	int128 sum;      /* units; a stock's mean, rounded to the nearest */
	uint64_t count;  /* observations of the widest series; 0: no data */
};

struct totals_group {
	struct series_desc desc;    /* of `sets`; else of the first series */
	struct label *labels;       /* of the set; else those of `split` that
	                             * are there */
	size_t n_labels;
	struct totals_step *steps;
};

struct totals {
	struct totals_group *groups; /* strings live as long as this object */
	size_t n_groups, n_steps;
	/* of the first series; without `sets`, two are a 422 */
	char unit[32];
	enum series_kind kind;
	struct buf strings; /* private */
};

const struct err *store_query_totals(struct store *s,
    const struct totals_query *q, struct totals **out);
void totals_free(struct totals *t); /* NULL is fine */

/*
 * Where retention has left whole spans of slots only, nobody knows what a part
 * of one has: widens a range to the spans that hold it.  False where nothing
 * moves: all slots that it touches are kept.  Queries of profiles do so by
 * themselves, and say in profile.from_ns and until_ns what they cover.
 */
bool store_kept_range(const struct store *s, int64_t *from_ns,
    int64_t *until_ns);

/* The same, and widens the step to whole spans, too, where the range begins
 * in one. */
bool store_kept_steps(const struct store *s, int64_t *from_ns,
    int64_t *until_ns, int64_t *step_ns);

/* One metric over consecutive steps.  `step_ns` is a multiple of the slot,
 * from and until multiples of slots.  points[i] covers from + i * step. */
struct metric_point {
	uint64_t count;   /* observations; 0: no data, the rest is 0 */
	int64_t min, max; /* gauge */
	int128 sum;       /* gauge */
	int128 increase;  /* counter */
	int64_t last;     /* gauge value or counter raw value */
	int64_t last_ns;  /* when */
	uint64_t slots;   /* that have data, for rates over gaps; exact where
	                   * none has more than one observation */
};

struct metric_series {
	struct series_desc desc; /* strings live as long as this object */
	struct metric_point *points;
	size_t n_points;
	struct label *labels; /* private: and all strings */
};

struct metric_query {
	const struct selector *selector; /* gauges and counters only */
	int64_t from_ns, until_ns, step_ns;
	size_t max_series; /* ERR_REQUEST 413 beyond */
	bool newest; /* `last` and `last_ns` of the last step with data are
	              * all that is asked for */
};

const struct err *store_query_metric(struct store *s,
    const struct metric_query *q, struct metric_series **out, size_t *n);
void metric_series_free(struct metric_series *series, size_t n);
/* Keeps those that `keep` says, in their order, and frees what the others have;
 * how many they are, as which all is freed at last. */
size_t metric_series_sift(struct metric_series *series, size_t n,
    bool (*keep)(const struct metric_series *series));

/*
 * One latency histogram over consecutive steps; the arguments are those of a
 * metric query.  values[k] is the histogram_permille[k] / 1000 quantile (the
 * smallest value that at least that share of the observations does not
 * exceed), off by at most half of 1/128; min and max are exact.
 */
#define HISTOGRAM_QUANTILES 5
extern const unsigned histogram_permille[HISTOGRAM_QUANTILES];

struct histogram_point {
	uint64_t count; /* observations; 0: no data, the rest is 0 */
	int64_t min, max, values[HISTOGRAM_QUANTILES];
	int128 sum;
	uint64_t slots; /* covered by blocks with data */
};

/* Observations of one bucket in one step: of a merged answer, in order. */
struct histogram_cell {
	uint32_t step, bucket;
	int128 count;
};

struct histogram_series {
	struct series_desc desc; /* strings live as long as this object */
	struct histogram_point *points;
	size_t n_points;
	struct histogram_cell *cells; /* merged: each bucket that is not 0 */
	size_t n_cells, n_merged;     /* of so many series */
	struct label *labels; /* private: and all strings */
};

struct histogram_query {
	const struct selector *selector; /* histograms only */
	int64_t from_ns, until_ns, step_ns;
	size_t max_series; /* ERR_REQUEST 413 beyond */
	bool merge; /* all series, however many, into one with the description
	             * of the first; ERR_REQUEST 400 where they have not one
	             * unit, 413 where there are too many cells */
};

const struct err *store_query_histogram(struct store *s,
    const struct histogram_query *q, struct histogram_series **out,
    size_t *n);
void histogram_series_free(struct histogram_series *series, size_t n);

/* A tag of all that an answer over [from, until) was read from: equal tags
 * mean equal answers.  *closed: nothing ordinary will still come. */
uint64_t store_tag(const struct store *s, int64_t from_ns, int64_t until_ns,
    bool *closed);

#endif
