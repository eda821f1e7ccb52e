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

#include "store/base/buf.h"
#include "store/store.h"

struct err;

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
};

struct flame_frame {
	uint32_t name; /* in names[] */
	uint32_t level;
	int128 x, total, self;
};

struct flame {
	struct flame_name *names; /* names[0] is "total" */
	size_t n_names;
	struct flame_frame *frames; /* frames[0] is the root */
	size_t n_frames;
	uint32_t n_levels;
	int128 total;  /* of what focus and ignore left */
	int128 before; /* of the whole profile */
	int128 max_self;
};

struct flame_options {
	int64_t max_nodes;  /* frames kept beside "(other)"; -1: all */
	const char *focus;  /* POSIX extended; keep stacks that have a match */
	const char *ignore; /* drop stacks that have a match */
	const char *other;  /* name for what was cut */
};

#define FLAME_PATTERN_MAX 1024 /* bytes of focus and ignore */

/*
 * Lays a profile out.  The result borrows the profile's strings: free it
 * first.  Errors: ERR_REQUEST 400 with field "focus" or "ignore" for an
 * expression that does not compile, ENOMEM.
 */
const struct err *flame_new(struct flame **out, const struct profile *p,
    const struct flame_options *options);
void flame_free(struct flame *f);

/* The frames' numbers level by level, from left to right within a level;
 * index[first[l]] to index[first[l + 1] - 1] are level l.  The caller frees
 * both arrays; false when out of memory. */
bool flame_by_level(const struct flame *f, uint32_t **index, uint32_t **first);

#endif
