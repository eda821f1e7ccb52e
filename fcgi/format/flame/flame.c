/*
 * From a profile to frames: three passes over its nodes in pre-order (names
 * and matches, kept totals from the leaves up, frames), no recursion, so
 * that a stack of any depth is laid out.
 */
#include "fcgi/format/flame/flame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/flame/flame_lay.h"
#include "fcgi/format/flame/flame_names.h"
#include "fcgi/format/flame/flame_shape.h"
#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/base/kth.h"

#define NONE UINT32_MAX

/*
 * The frames of a profile are made where its nodes are known, without another
 * array: until flame_frames() there is one for each node, in its order.
 *
 *	self, total  as focus and ignore leave them
 *	node         itself where it is kept, else what it is gathered at
 *	x, n_cut     the total of its children that are not kept, and how many
 *	             nodes those are with all below them
 */
struct flame_work {
	const struct profile *p;
	struct flame_names names;
	struct flame_open *open; /* by level */
};

/* A frame that is not closed yet. */
struct flame_open {
	int128 next_x; /* where its next child begins */
	int128 cut;
	uint32_t n_cut;
};

const char *
flame_kind_name(enum flame_kind kind)
{
	static const char *const names[] = {"user", "library", "kernel", "jit",
	    "unknown"};

	return names[kind];
}

static bool
flame_is_library(const char *module)
{
	const char *so = strstr(module, ".so");

	return so != NULL && (so[3] == '\0' || so[3] == '.');
}

enum flame_kind
flame_kind_of(enum frame_kind kind, const char *module)
{
	switch (kind) {
	case FRAME_KERNEL:
	case FRAME_BPF:
		return FLAME_KERNEL;
	case FRAME_JIT:
		return FLAME_JIT;
	case FRAME_NATIVE:
	case FRAME_INLINED:
		return flame_is_library(module) ? FLAME_LIBRARY : FLAME_USER;
	case FRAME_ADDRESS:
		return flame_is_library(module) ? FLAME_LIBRARY
						: FLAME_UNKNOWN;
	case FRAME_MANAGED:
		return FLAME_USER;
	default:
		return FLAME_UNKNOWN;
	}
}

static const struct err *
flame_fill(struct flame *f, struct flame_work *w,
    const struct flame_options *o)
{
	const struct profile *p = w->p;
	bool *taken = NULL;
	const struct err *e = flame_filter(&taken, p, o);

	if (e != NULL)
		return e;
	for (size_t i = 0; i < p->n_nodes; i++) {
		int128 self = o->self != NULL ? o->self[i]
		    : taken == NULL || taken[i] ? p->nodes[i].self : 0;

		f->frames[i] = (struct flame_frame){
		    .name = i == 0
		        ? flame_names_put(&w->names, "total", FLAME_UNKNOWN,
		              false)
		        : flame_names_of(&w->names, &p->nodes[i],
		              o->merge_inlined),
		    .level = p->nodes[i].depth,
		    .self = self,
		    .total = self};
	}
	for (size_t i = p->n_nodes - 1; i > 0; i--)
		f->frames[p->nodes[i].parent].total += f->frames[i].total;
	free(taken);
	return NULL;
}

/* Does the profile have it cut already? */
static bool
flame_is_cut(const struct profile *p, size_t i)
{
	return p->cut != NULL && p->cut[i] != 0;
}

/* By what a node is kept, mostly its total. */
static int128
flame_rank(const struct flame *f, const struct profile *p,
    const int128 *rank, size_t i)
{
	return flame_is_cut(p, i) ? 0
	    : rank != NULL ? rank[i] : f->frames[i].total;
}

/*
 * Marks the max_nodes largest nodes by rank; of equals, those that come
 * first.  A parent comes before its children and is never smaller, so what
 * is kept is a tree.  Nodes without anything are never kept, save the root.
 */
static const struct err *
flame_select(struct flame *f, const struct profile *p,
    const struct flame_options *o)
{
	size_t n = p->n_nodes, left = 0;
	int128 least = 0;

	if (o->max_nodes >= 0 && (size_t)o->max_nodes < n) {
		int128 *ranks = malloc(n * sizeof(*ranks));

		if (ranks == NULL)
			return err_nomem();
		for (size_t i = 0; i < n; i++)
			ranks[i] = flame_rank(f, p, o->rank, i);
		left = o->max_nodes > 0 ? (size_t)o->max_nodes : 1;
		least = kth_largest(ranks, n, left);
		for (size_t i = 0; i < n; i++)
			left -= ranks[i] > least;
		free(ranks);
	}
	for (size_t i = 0; i < n; i++) {
		int128 rank = flame_rank(f, p, o->rank, i);
		bool equal = rank == least && least > 0 && left > 0;

		left -= equal;
		f->frames[i].node = rank > least || equal ? (uint32_t)i : NONE;
	}
	return NULL;
}

int128
flame_least(int128 total, double min_share)
{
	return (int128)ceil(min_share * (double)total);
}

/* Drops what is smaller than the share, and gathers all that is not kept at
 * the nearest node above it that is. */
static void
flame_gather(struct flame_frame *frames, const struct profile *p,
    double min_share)
{
	int128 least = flame_least(frames[0].total, min_share);

	frames[0].node = 0;
	for (uint32_t i = 1; i < p->n_nodes; i++) {
		struct flame_frame *a = &frames[i];
		uint32_t parent = p->nodes[i].parent;

		if (a->node == i && a->total >= least)
			continue;
		a->node = frames[parent].node;
		frames[a->node].n_cut +=
		    flame_is_cut(p, i) ? p->cut[i] : a->total != 0;
		if (a->node == parent)
			frames[parent].x += a->total;
	}
}

static void
flame_put(struct flame *f, struct flame_open *open, struct flame_frame frame)
{
	uint32_t level = frame.level;

	frame.x = level > 0 ? open[level - 1].next_x : 0;
	f->frames[f->n_frames++] = frame;
	if (level > 0)
		open[level - 1].next_x += frame.total;
	open[level].next_x = frame.x + frame.self;
	if (level + 1 > f->n_levels)
		f->n_levels = level + 1;
	if (frame.self > f->max_self)
		f->max_self = frame.self;
}

/* Closes the open nodes from `level` down: what was cut of each comes
 * last. */
static void
flame_close(struct flame *f, struct flame_work *w, uint32_t depth,
    uint32_t level, const char *other)
{
	while (depth > level) {
		const struct flame_open *o = &w->open[--depth];

		if (o->cut <= 0)
			continue;
		flame_put(f, w->open, (struct flame_frame){
		    .name = flame_names_put(&w->names, other, FLAME_UNKNOWN,
		        false),
		    .level = depth + 1,
		    .node = FLAME_NO_NODE,
		    .n_cut = o->n_cut,
		    .total = o->cut,
		    .self = o->cut});
	}
}

/* Moves what is kept to the front.  There is an "(other)" only for a node
 * that is not, and behind it: none is written over before it is read. */
static void
flame_frames(struct flame *f, struct flame_work *w, const char *other)
{
	uint32_t depth = 0; /* nodes that are open */

	for (uint32_t i = 0; i < w->p->n_nodes; i++) {
		struct flame_frame frame = f->frames[i];

		if (frame.node != i)
			continue;
		flame_close(f, w, depth, frame.level, other);
		depth = frame.level + 1;
		w->open[frame.level].cut = frame.x;
		w->open[frame.level].n_cut = frame.n_cut;
		frame.n_cut = 0;
		flame_put(f, w->open, frame);
	}
	flame_close(f, w, depth, 0, other);
}

/* Forgets the names of what was cut; the others keep their order. */
static const struct err *
flame_take_names(struct flame *f, struct flame_names *from)
{
	uint32_t *number = calloc(from->n + 1, sizeof(*number));
	struct flame_name *names = from->names;

	if (from->failed || number == NULL) {
		free(number);
		return err_nomem();
	}
	number[0] = 1;
	for (size_t i = 0; i < f->n_frames; i++)
		number[f->frames[i].name] = 1;
	for (size_t i = 0; i < from->n; i++) {
		if (number[i] == 0)
			continue;
		names[f->n_names] = names[i];
		number[i] = (uint32_t)f->n_names++;
	}
	for (size_t i = 0; i < f->n_frames; i++)
		f->frames[i].name = number[f->frames[i].name];
	f->names = names;
	from->names = NULL;
	free(number);
	return NULL;
}

/* Samples by node as focus and ignore leave them, for frames of several
 * periods. */
static struct profile_samples *
flame_sum_samples(const struct flame *f, const struct profile *p)
{
	struct profile_samples *s = calloc(p->n_nodes, sizeof(*s));

	for (size_t i = 0; s != NULL && i < p->n_nodes; i++) {
		const struct profile_samples *n = &p->samples[i];

		if (f->frames[i].self != 0)
			s[i] = (struct profile_samples){n->self,
			    n->self_unknown, n->self, n->self_unknown};
	}
	for (size_t i = p->n_nodes; s != NULL && i-- > 1;) {
		struct profile_samples *up = &s[p->nodes[i].parent];

		up->total += s[i].total;
		up->total_unknown += s[i].total_unknown;
	}
	return s;
}

void *
flame_spread(const struct flame *f, const void *by_node, size_t n)
{
	const int128 *node, *of = by_node;
	int128 *frames = malloc(f->n_frames * 2 * n * sizeof(*frames));
	/* by level: what is left of the frame that is open above it */
	int128 *rest = calloc(((size_t)f->n_levels + 1) * n, sizeof(*rest));

	if (frames == NULL || rest == NULL) {
		free(frames);
		free(rest);
		return NULL;
	}
	for (size_t i = 0; i < f->n_frames; i++) {
		const struct flame_frame *a = &f->frames[i];
		int128 *to = frames + i * 2 * n, *up = rest + a->level * n;

		node = a->node == FLAME_NO_NODE ? NULL : of + a->node * 2 * n;
		for (size_t k = 0; k < n; k++) {
			to[k] = node != NULL ? node[k] : up[k];
			to[n + k] = node != NULL ? node[n + k] : up[k];
			up[k] -= to[n + k];
			up[n + k] = to[n + k] - to[k];
		}
	}
	free(rest);
	return frames;
}

bool
flame_samples(const struct flame *f, size_t frame,
    struct profile_samples *out)
{
	*out = (struct profile_samples){0};
	if (f->samples != NULL)
		*out = f->samples[frame];
	else if (f->period > 0)
		*out = (struct profile_samples){
		    .self = samples_of(f->frames[frame].self, f->period),
		    .total = samples_of(f->frames[frame].total, f->period)};
	return f->samples != NULL || f->period > 0;
}

void
flame_cut(const struct flame *f, struct flame_cut *out)
{
	*out = (struct flame_cut){0};
	for (size_t i = 0; i < f->n_frames; i++) {
		struct profile_samples s;

		if (f->frames[i].node != FLAME_NO_NODE)
			continue;
		flame_samples(f, i, &s);
		out->total += f->frames[i].total;
		out->samples += s.total;
		out->unknown += s.total_unknown;
		out->n_nodes += f->frames[i].n_cut;
	}
}

uint32_t
flame_depth(const struct profile *p)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].depth > depth)
			depth = p->nodes[i].depth;
	return depth;
}

/* From nodes to frames. */
static const struct err *
flame_finish(struct flame *f, struct flame_work *w, const char *other)
{
	struct profile_samples *samples = NULL;
	struct flame_frame *shorter;
	const struct err *e;

	if (w->p->samples != NULL &&
	    (samples = flame_sum_samples(f, w->p)) == NULL)
		return err_nomem();
	flame_frames(f, w, other);
	shorter = realloc(f->frames, f->n_frames * sizeof(*f->frames));
	if (shorter != NULL)
		f->frames = shorter;
	e = flame_take_names(f, &w->names);
	if (e == NULL && samples != NULL &&
	    (f->samples = flame_spread(f, samples, 2)) == NULL)
		e = err_nomem();
	free(samples);
	return e;
}

static const struct err *
flame_build(struct flame *f, struct flame_work *w,
    const struct flame_options *o)
{
	const struct profile *p = w->p;
	const struct err *e;

	w->open = malloc(((size_t)flame_depth(p) + 2) * sizeof(*w->open));
	f->frames = malloc(p->n_nodes * sizeof(*f->frames));
	if (w->open == NULL || f->frames == NULL ||
	    !flame_names_init(&w->names, p->n_nodes))
		return err_nomem();
	if ((e = flame_fill(f, w, o)) != NULL ||
	    (e = flame_select(f, p, o)) != NULL)
		return e;
	flame_gather(f->frames, p, o->min_share);
	f->total = f->frames[0].total;
	return flame_finish(f, w, o->other);
}

static const struct err *
flame_lay_out(struct flame *f, const struct profile *p,
    const struct flame_options *o)
{
	struct flame_options rest = *o;
	struct flame_work w = {.p = p};
	const struct err *e = NULL;

	f->before = p->nodes[0].total;
	f->period = p->period;
	if (flame_is_shaped(o)) {
		e = flame_shape(&f->shaped, p, o);
		w.p = f->shaped;
		rest.focus = rest.ignore = NULL;
		rest.idle = NULL;
	}
	if (e == NULL)
		e = flame_build(f, &w, &rest);
	flame_names_fini(&w.names);
	free(w.open);
	return e;
}

const struct err *
flame_new(struct flame **out, const struct profile *p,
    const struct flame_options *options)
{
	struct flame *f = calloc(1, sizeof(*f));
	const struct err *e = gone_check();

	*out = NULL;
	if (f == NULL)
		return err_nomem();
	if (e == NULL)
		e = flame_lay_out(f, p, options);
	if (e != NULL) {
		flame_free(f);
		return e;
	}
	*out = f;
	return NULL;
}

void
flame_free(struct flame *f)
{
	if (f == NULL)
		return;
	free(f->names);
	free(f->frames);
	free(f->samples);
	profile_free(f->shaped);
	lay_free(f->lay);
	free(f);
}

bool
flame_by_level(const struct flame *f, uint32_t **index, uint32_t **first)
{
	uint32_t *at = calloc((size_t)f->n_levels + 2, sizeof(*at));
	uint32_t *order = malloc(f->n_frames * sizeof(*order));

	if (at == NULL || order == NULL) {
		free(at);
		free(order);
		return false;
	}
	/* counting sort; at[l + 1] becomes the start of level l, and moves to
	 * its end, which is the start of the next, while level l is filled */
	for (size_t i = 0; i < f->n_frames; i++)
		at[f->frames[i].level + 2]++;
	for (uint32_t l = 1; l < f->n_levels + 1; l++)
		at[l + 1] += at[l];
	for (size_t i = 0; i < f->n_frames; i++)
		order[at[f->frames[i].level + 1]++] = (uint32_t)i;
	*index = order;
	*first = at;
	return true;
}
