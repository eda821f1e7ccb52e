/*
 * A profile as it is drawn: frames with a name, a place and two numbers, in
 * pre-order, after focus, ignore and truncation.  What flamebearer JSON, SVG
 * and other pictures of one call tree have in common.
 *
 *	x=0                                   total=8
 *	| total                                      |   level 0, frame 0
 *	| (self)| main                 | idle        |   level 1
 *	        | (self) | read | (other)|
 *
 * A frame's own samples are its left part, its children follow in the order
 * of the profile, "(other)" comes last.  Nothing is lost by truncation: the
 * totals of a frame's children and its self always add up to its total.
 */
#ifndef FCGI_FORMAT_FLAME_H
#define FCGI_FORMAT_FLAME_H

#include <stddef.h>
#include <stdint.h>

#include "fcgi/format/flame/flame_filter.h"
#include "store/base/buf.h"
#include "store/store.h"

struct err;
struct stacks;

/* What a reader wants to know of a frame by its colour. */
enum flame_kind {
	FLAME_USER,
	FLAME_LIBRARY,
	FLAME_KERNEL,
	FLAME_JIT,
	FLAME_UNKNOWN
};

/* "user", "library", "kernel", "jit", "unknown". */
const char *flame_kind_name(enum flame_kind kind);

/* That of a frame; a library's file is one of .so. */
enum flame_kind flame_kind_of(enum frame_kind kind, const char *module);

struct flame_name {
	const char *text; /* borrowed from the profile, or a constant */
	enum flame_kind kind;
	bool inlined;     /* into what is above it */
};

#define FLAME_NO_NODE UINT32_MAX

struct flame_frame {
	uint32_t name; /* in names[] */
	uint32_t level;
	uint32_t node; /* of the profile; FLAME_NO_NODE for "(other)" */
	uint32_t n_cut; /* how many nodes this "(other)" gathers; else 0 */
	int128 x, total, self;
};

struct flame {
	struct flame_name *names; /* names[0] is "total" */
	size_t n_names;
	struct flame_frame *frames; /* frames[0] is the root; NULL: see lay */
	size_t n_frames;
	uint32_t n_levels;
	int128 total;  /* of what focus and ignore left; units */
	int128 before; /* of the whole profile */
	int64_t period; /* units a sample, and, where several are mixed, the */
	struct profile_samples *samples; /* samples by frame: as store.h has
	                                  * them; else 0 and NULL */
	int128 max_self; /* 0 where frames is NULL */
	struct profile *shaped; /* private: what the names are borrowed from */
	struct lay *lay; /* private: frames are placed as they are walked */
};

/* All zero but max_nodes (-1) and `other` is the whole profile as it is. */
struct flame_options {
	int64_t max_nodes;  /* frames kept beside "(other)"; -1: all */
	double min_share;   /* of the total: smaller ones are cut; 0: none */
	const char *focus;  /* POSIX extended; keep stacks that have a match */
	const char *ignore; /* drop stacks that have a match */
	const struct type *idle; /* NULL; or drop stacks that wait for work, of
	                          * a profile that was split by reason, which
	                          * are no frames */
	const char *other;  /* name for what was cut */
	bool by_module;     /* consecutive frames of a module as one */
	bool reverse;       /* callers below what they call */
	size_t max_built;   /* nodes of a tree made by these two; 0: 2^20 */
	/* By node, for who draws several profiles as one; NULL: those of the
	 * profile, as focus and ignore leave them. */
	const int128 *self; /* amounts */
	const int128 *rank; /* the larger ones are kept, by max_nodes; of a
	                     * node it is at least that of each below */
	bool merge_inlined; /* the name of an inlined function is that of the
	                     * function elsewhere */
};

/*
 * Lays a profile out.  The result borrows the profile's strings: free it
 * first.  With by_module or reverse flame_frame.node is of no use.  Errors:
 * those of flame_filter() and flame_shape(), ENOMEM.
 */
const struct err *flame_new(struct flame **out, const struct profile *p,
    const struct flame_options *options);
void flame_free(struct flame *f);

/*
 * Lays one type of some stacks out, and borrows their frames.  Where all is
 * wanted as it is, there is no profile between and no frames[], and the tree
 * of the stacks becomes that of the picture: flame_walk_next() gives it, and
 * of the stacks frames and types alone are left.  Errors: those of
 * flame_new().
 */
const struct err *flame_new_stacks(struct flame **out,
    struct stacks *s, uint32_t type,
    const struct flame_options *options);

/* The frames of any flame one by one, in pre-order. */
struct flame_walk {
	const struct flame *f;
	size_t i; /* frames given so far */
	struct flame_frame frame; /* private, as all below */
	struct lay_open *open;
	uint32_t depth;
};

/*
 * From records by node to the same by frame: n numbers of the node's own,
 * then those n of all that is below it, too.  "(other)" has what the other
 * children of its frame leave.  The caller frees them; NULL when out of
 * memory.
 */
void *flame_spread(const struct flame *f, const void *by_node, size_t n);

/* As profile_samples(), of a frame of frames[]. */
bool flame_samples(const struct flame *f, size_t frame,
    struct profile_samples *out);

/* What "(other)" has of a flame: what is not shown frame by frame. */
struct flame_cut {
	int128 total, samples, unknown; /* as profile_samples has them; 0
	                                 * where they are not known */
	uint64_t n_nodes;
};

void flame_cut(const struct flame *f, struct flame_cut *out);

/* False when out of memory.  The flame outlives the walk. */
bool flame_walk_init(struct flame_walk *w, const struct flame *f);
void flame_walk_fini(struct flame_walk *w);
/* NULL at the end; else valid until the next call. */
const struct flame_frame *flame_walk_next(struct flame_walk *w);

/* Of the deepest node; the root is 0. */
uint32_t flame_depth(const struct profile *p);

/* The smallest total that a share of the whole leaves. */
int128 flame_least(int128 total, double min_share);

/* The frames' numbers level by level, from left to right within a level;
 * index[first[l]] to index[first[l + 1] - 1] are level l.  The caller frees
 * both arrays; false when out of memory. */
bool flame_by_level(const struct flame *f, uint32_t **index, uint32_t **first);

#endif
