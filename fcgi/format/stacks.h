/*
 * Stacks as a foreign file or push has them, in memory: what every parser
 * of this folder fills and every consumer (batches for the daemon, a profile
 * to draw) takes.
 *
 *	types    samples/count  cpu/nanoseconds        what a column counts
 *	nodes    0 root ─ 1 {region=eu} ─ 2 main ─ 3 read
 *	                └ 4 main ─ 5 write
 *	values   of each type, by node: its own, not its callees'
 *
 * A child of the root is a label set or, where a sample has no labels, a
 * frame; every other edge is a frame.  Values are whole, not negative, in
 * units of the type's period, and add up without a limit below 2^63.
 *
 * Bounds come with stacks_new(); the first one that is passed, or the first
 * failed allocation, makes the object `failed`: puts return 0 from then on
 * and stacks_error() says which.  Numbers stay valid; nothing is ever taken
 * out.
 */
#ifndef FCGI_FORMAT_STACKS_H
#define FCGI_FORMAT_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/model/series.h"

struct err;
struct profile;
struct stacks;

struct stacks_limits {
	size_t nodes;   /* of the call tree; at most 2^31 */
	size_t bytes;   /* of names, label names and label values */
	size_t depth;   /* frames of a stack */
	size_t labels;  /* different label sets */
};

/* What a worker takes of one request, and what a person's own file may be. */
extern const struct stacks_limits stacks_limits_push, stacks_limits_file;

#define STACKS_TYPES_MAX 64
#define STACKS_LABELS_MAX 64 /* of one set */

struct stacks_type {
	const char *name;   /* "cpu", "inuse_space" */
	const char *unit;   /* what a period counts: "nanoseconds", "bytes" */
	int64_t period;     /* units a count; at least 1 */
	enum series_kind kind; /* flow or stock */
};

/* NULL when out of memory. */
struct stacks *stacks_new(const struct stacks_limits *limits);
void stacks_free(struct stacks *s); /* NULL is fine */

/* NULL, or why puts have failed: ERR_REQUEST 413 for a bound, ENOMEM; or
 * gone_check()'s error: who reads many stacks asks often. */
const struct err *stacks_error(const struct stacks *s);

/* The number of a type, new or old (told apart by all fields). */
uint32_t stacks_type(struct stacks *s, const struct stacks_type *type);

/* Says what a type that is there is: its values stay.  It must be the only
 * one. */
void stacks_retype(struct stacks *s, uint32_t number,
    const struct stacks_type *type);

/* The number of a frame; its strings are copied.  `name` with a length, any
 * bytes; an empty one becomes "[unknown]". */
uint32_t stacks_frame(struct stacks *s, const struct frame *f);
uint32_t stacks_frame_named(struct stacks *s, enum frame_kind kind,
    const char *name, size_t n);

/* The child of the root for a label set (any order; of two with one name
 * the later wins); 0, the root itself, for an empty one. */
uint32_t stacks_labels(struct stacks *s, const struct label *labels, size_t n);

/* The child of `parent` by a frame. */
uint32_t stacks_child(struct stacks *s, uint32_t parent, uint32_t frame);

/* Adds to a node's own value of a type. */
void stacks_add(struct stacks *s, uint32_t node, uint32_t type, int64_t value);

/*
 * Where a frame's function was written, as the input says it; `file` is
 * copied.  `seen`: the line is no definition's but the first of those that
 * samples were on, 0 where there is none.  What is over the bounds is left
 * away: a profile is one without places.
 */
struct stacks_place {
	uint32_t frame;
	const char *file;
	int64_t line;
	bool seen;
};
void stacks_put_place(struct stacks *s, const struct stacks_place *place);

/*
 * Brings all types to the units that profiles are kept in (store/model/unit.h),
 * their values and periods with them; again it changes nothing.  Errors:
 * ERR_REQUEST 422 where one is more than 64 bits hold then.
 */
const struct err *stacks_settle_units(struct stacks *s);

/* When the profile was taken, where the file says it; 0, 0: it does not. */
void stacks_set_range(struct stacks *s, int64_t from_ns, int64_t until_ns);
void stacks_range(const struct stacks *s, int64_t *from_ns, int64_t *until_ns);

/* Bytes between two samples of a heap, where the file says it: 1 where all is
 * counted; 0: it does not. */
void stacks_set_mean(struct stacks *s, uint64_t bytes);
uint64_t stacks_mean(const struct stacks *s);

/* Records that a part of the input was left out, and why: shown, never
 * silent.  `why` is a constant. */
void stacks_skip(struct stacks *s, const char *why, uint64_t n);

struct stacks_skipped {
	const char *why;
	uint64_t n;
};

/*
 * Stacks that outlive what they are for: names, frames and nodes stay known,
 * values go.  Text that comes again is then known by the line (folded.h).
 * stacks_keep() before anything is put, stacks_clear() between two uses:
 * types, values and what was skipped are forgotten, and limits begin again.
 */
bool stacks_keep(struct stacks *s); /* false: no random bytes */
void stacks_clear(struct stacks *s);
/* Of kept ones: the nodes that have a value of a type, each once, valid
 * until the next put. */
const uint32_t *stacks_touched(const struct stacks *s, uint32_t type,
    size_t *n);

/* ---- reading ---- */

struct stacks_node {
	uint32_t parent; /* < own number */
	uint32_t edge;   /* a label set's number if .labels, else a frame's */
	bool labels;
};

size_t stacks_n_types(const struct stacks *s);
size_t stacks_n_nodes(const struct stacks *s); /* the root included */
size_t stacks_n_frames(const struct stacks *s);
size_t stacks_n_skipped(const struct stacks *s);
/* Strings of what these return live as long as `s`, unchanged. */
void stacks_get_type(const struct stacks *s, uint32_t i,
    struct stacks_type *type);
void stacks_get_node(const struct stacks *s, uint32_t i,
    struct stacks_node *node);
void stacks_get_frame(const struct stacks *s, uint32_t i, struct frame *f);
/* Fills labels[], sorted by name; returns how many there are. */
size_t stacks_get_labels(const struct stacks *s, uint32_t i,
    struct label labels[STACKS_LABELS_MAX]);
int64_t stacks_value(const struct stacks *s, uint32_t node, uint32_t type);
/* The sum of a type over all nodes. */
int64_t stacks_total(const struct stacks *s, uint32_t type);
/* Frames from the root, or from the label set, to a node. */
uint32_t stacks_depth(const struct stacks *s, uint32_t node);
size_t stacks_n_places(const struct stacks *s);
void stacks_get_place(const struct stacks *s, size_t i,
    struct stacks_place *place);
void stacks_get_skipped(const struct stacks *s, size_t i,
    struct stacks_skipped *skipped);

/* One type as a call tree to draw (store.h), in its unit; label sets are left
 * out, what is below them is added.  Trees of all types of the same stacks
 * have the same nodes.  The profile owns its strings. */
const struct err *stacks_profile(const struct stacks *s, uint32_t type,
    struct profile **out);

#endif
