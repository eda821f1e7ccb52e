/*
 * From stacks to frames without a profile between: one pass over the totals
 * tells what is too narrow to be drawn, the rest is linked in the order of
 * names, and a frame is placed when the walk comes to it.  A picture may
 * have millions of frames, and stacks that are hardly drawn many more: what
 * is drawn moves to the front of the arrays that the stacks were in, so
 * that a node costs 24 bytes, and 12 more if it is drawn.
 *
 * This is right where equal frames are one frame and no label sets come
 * between; other stacks go through a profile.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/flame/flame.h"
#include "fcgi/format/flame/flame_lay.h"
#include "fcgi/format/flame/flame_shape.h"
#include "fcgi/format/stacks_private.h"
#include "store/base/err.h"

#define NONE UINT32_MAX

/* What a frame has of its own. */
struct lay_own {
	int64_t self;
	uint32_t n_cut; /* how many narrow ones are gathered at it */
} __attribute__((packed, aligned(4)));

struct lay {
	const struct stacks *s;
	uint32_t type;
	struct stacks_ranks ranks; /* a rank is at last its name's number */
	size_t n_frames;
	size_t n_nodes;            /* of the stacks; n_kept are drawn */
	uint32_t n_kept;
	int64_t least;             /* total of what is drawn, at least */
	int64_t period;            /* units of a count: frames are in units, */
	struct stacks_edge *nodes; /* all else is in counts */
	int64_t *totals;           /* by node: its own and its callees' */
	struct lay_own *own;
};

/* Of a node that is drawn: its children, by the ranks of their names. */
static uint32_t *
lay_first(const struct lay *l, uint32_t i)
{
	return &l->nodes[i].parent;
}

static uint32_t *
lay_following(const struct lay *l, uint32_t i)
{
	return &l->nodes[i].depth;
}

/* A frame whose callees have not all been walked over. */
struct lay_open {
	uint32_t node, next; /* itself, and the child to come */
	int64_t x, end;      /* where that begins, and where itself ends */
};

static bool
lay_is_kept(const struct lay *l, size_t i)
{
	return i == 0 || l->totals[i] >= l->least;
}

/* From the leaves up: totals, and the picture's size.  What is cut is counted
 * at the nearest node above it that is not. */
static void
lay_add_up(struct lay *l, struct flame *f, uint32_t *n_cut)
{
	uint32_t depth = 0;

	for (size_t i = l->n_nodes; i-- > 0;) {
		const struct stacks_edge *n = &l->nodes[i];
		uint32_t below = n_cut[i] > 0;

		if (i > 0)
			l->totals[n->parent] += l->totals[i];
		if (!lay_is_kept(l, i)) {
			n_cut[n->parent] += n_cut[i] + (l->totals[i] > 0);
			continue;
		}
		l->n_kept++;
		f->n_frames += 1 + below;
		if (n->depth + below > depth)
			depth = n->depth + below;
	}
	f->n_levels = depth + 1;
}

/* Node i is frame k. */
static void
lay_move(struct lay *l, size_t i, uint32_t k, uint32_t parent, uint32_t n_cut)
{
	l->own[k] = (struct lay_own){l->totals[i], n_cut};
	l->totals[k] = l->totals[i];
	l->nodes[k] = (struct stacks_edge){NONE, l->nodes[i].edge, NONE};
	if (i == 0)
		return;
	*lay_following(l, k) = *lay_first(l, parent);
	*lay_first(l, parent) = k;
}

/* From the root: what is kept moves to the front, behind what was kept before
 * it, and becomes its parent's child; `at` has the counts of what is cut
 * before, and where a node is then. */
static void
lay_compact(struct lay *l, uint32_t *at)
{
	uint32_t n = 0;

	for (size_t i = 0; i < l->n_nodes; i++) {
		uint32_t parent = i == 0 ? NONE : at[l->nodes[i].parent];
		int64_t total = l->totals[i];

		if (lay_is_kept(l, i)) {
			lay_move(l, i, n, parent, at[i]);
			at[i] = n++;
		} else {
			at[i] = NONE;
		}
		if (parent != NONE)
			l->own[parent].self -= total;
	}
}

/* Gives back what is behind the n items that are drawn. */
static void *
lay_shrink(void *array, size_t n, size_t size)
{
	void *less = realloc(array, n * size);

	return less == NULL ? array : less;
}

static const struct err *
lay_gather(struct lay *l, struct flame *f, double min_share)
{
	uint32_t *at = calloc(l->n_nodes, sizeof(*at));

	if (at == NULL)
		return err_nomem();
	l->least = (int64_t)flame_least(stacks_total(l->s, l->type),
	    min_share);
	if (l->least < 1)
		l->least = 1;
	lay_add_up(l, f, at);
	l->own = malloc(l->n_kept * sizeof(*l->own));
	if (l->own != NULL)
		lay_compact(l, at);
	free(at);
	if (l->own == NULL)
		return err_nomem();
	l->nodes = lay_shrink(l->nodes, l->n_kept, sizeof(*l->nodes));
	l->totals = lay_shrink(l->totals, l->n_kept, sizeof(*l->totals));
	return NULL;
}

static int
lay_by_rank(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Sorts the children of a node; `room` holds their ranks and numbers. */
static bool
lay_sort(struct lay *l, uint32_t parent, struct buf *room)
{
	uint64_t *child;
	size_t n = 0;

	buf_clear(room);
	for (uint32_t i = *lay_first(l, parent); i != NONE;
	     i = *lay_following(l, i)) {
		uint64_t rank = l->ranks.rank[l->nodes[i].edge];

		buf_put(room, &(uint64_t){rank << 32 | i}, sizeof(*child));
		n++;
	}
	if (room->failed)
		return false;
	child = (uint64_t *)(void *)room->data;
	qsort(child, n, sizeof(*child), lay_by_rank);
	*lay_first(l, parent) = NONE;
	while (n-- > 0) {
		uint32_t i = (uint32_t)child[n];

		*lay_following(l, i) = *lay_first(l, parent);
		*lay_first(l, parent) = i;
	}
	return true;
}

/* Those few nodes that have several children. */
static const struct err *
lay_sort_all(struct lay *l)
{
	struct buf room = {0};
	bool good = true;

	for (uint32_t i = 0; good && i < l->n_kept; i++) {
		uint32_t first = *lay_first(l, i);

		if (first != NONE && *lay_following(l, first) != NONE)
			good = lay_sort(l, i, &room);
	}
	buf_fini(&room);
	return good ? NULL : err_nomem();
}

/* Names of the frames that are there; a rank becomes the name's number
 * of a frame. */
static bool
lay_names(struct lay *l, struct flame *f, const char *other)
{
	f->names = malloc((l->n_frames + 2) * sizeof(*f->names));
	if (f->names == NULL)
		return false;
	memset(l->ranks.rank, 0xff, l->n_frames * sizeof(*l->ranks.rank));
	f->names[f->n_names++] = (struct flame_name){"total", FLAME_UNKNOWN,
	    false};
	f->names[f->n_names++] = (struct flame_name){other, FLAME_UNKNOWN,
	    false};
	for (uint32_t i = 1; i < l->n_kept; i++) {
		uint32_t edge = l->nodes[i].edge;
		const struct frame *a = &l->ranks.frames[edge];

		if (l->ranks.rank[edge] != NONE)
			continue;
		l->ranks.rank[edge] = (uint32_t)f->n_names;
		f->names[f->n_names++] = (struct flame_name){a->name,
		    flame_kind_of(a->kind, a->module),
		    a->kind == FRAME_INLINED};
	}
	return true;
}

/* ---- the walk ---- */

bool
flame_walk_init(struct flame_walk *w, const struct flame *f)
{
	*w = (struct flame_walk){.f = f};
	if (f->frames != NULL)
		return true;
	w->open = malloc(((size_t)f->n_levels + 1) * sizeof(*w->open));
	return w->open != NULL;
}

void
flame_walk_fini(struct flame_walk *w)
{
	free(w->open);
}

static const struct flame_frame *
lay_enter(struct flame_walk *w, uint32_t node, int64_t x)
{
	const struct lay *l = w->f->lay;
	int64_t self = l->own[node].self, total = l->totals[node];

	w->frame = (struct flame_frame){
	    .name = node == 0 ? 0 : l->ranks.rank[l->nodes[node].edge],
	    .level = w->depth,
	    .node = FLAME_NO_NODE,
	    .x = (int128)x * l->period,
	    .total = (int128)total * l->period,
	    .self = (int128)self * l->period};
	w->open[w->depth++] = (struct lay_open){node,
	    *lay_first(l, node), x + self, x + total};
	return &w->frame;
}

/* What is left of a frame behind its last child was cut. */
static const struct flame_frame *
lay_other(struct flame_walk *w, struct lay_open *o)
{
	int128 period = w->f->lay->period, total = (o->end - o->x) * period;

	w->frame = (struct flame_frame){.name = 1,
	    .level = w->depth,
	    .node = FLAME_NO_NODE,
	    .n_cut = w->f->lay->own[o->node].n_cut,
	    .x = o->x * period,
	    .total = total,
	    .self = total};
	o->x = o->end;
	return &w->frame;
}

static const struct flame_frame *
lay_next(struct flame_walk *w)
{
	const struct lay *l = w->f->lay;

	if (w->i++ == 0)
		return lay_enter(w, 0, 0);
	for (; w->depth > 0; w->depth--) {
		struct lay_open *o = &w->open[w->depth - 1];
		uint32_t node = o->next;
		int64_t x = o->x;

		if (node != NONE) {
			o->next = *lay_following(l, node);
			o->x += l->totals[node];
			return lay_enter(w, node, x);
		}
		if (x < o->end)
			return lay_other(w, o);
	}
	return NULL;
}

const struct flame_frame *
flame_walk_next(struct flame_walk *w)
{
	if (w->f->frames == NULL)
		return lay_next(w);
	return w->i < w->f->n_frames ? &w->f->frames[w->i++] : NULL;
}

/* ---- from stacks ---- */

void
lay_free(struct lay *l)
{
	if (l == NULL)
		return;
	stacks_ranks_fini(&l->ranks);
	free(l->nodes);
	free(l->totals);
	free(l->own);
	free(l);
}

static const struct err *
lay_build(struct lay *l, struct flame *f, const struct flame_options *o)
{
	struct stacks_type t;
	const struct err *e;

	if ((e = lay_gather(l, f, o->min_share)) != NULL ||
	    (e = lay_sort_all(l)) != NULL)
		return e;
	stacks_get_type(l->s, l->type, &t);
	l->period = t.period;
	f->period = series_sample_units(t.kind, t.unit, t.period);
	f->total = f->before = (int128)l->totals[0] * t.period;
	return lay_names(l, f, o->other) ? NULL : err_nomem();
}

/* By way of a profile, which the frames then keep. */
static const struct err *
lay_profile(struct flame **out, const struct stacks *s, uint32_t type,
    const struct flame_options *o)
{
	struct profile *p = NULL;
	const struct err *e = stacks_profile(s, type, &p);

	if (e == NULL)
		e = flame_new(out, p, o);
	if (e == NULL && (*out)->shaped == NULL)
		(*out)->shaped = p;
	else
		profile_free(p);
	return e;
}

/* NULL where they have to go by way of a profile. */
static const struct err *
lay_new(struct lay **out, const struct stacks *s, uint32_t type)
{
	struct lay *l = calloc(1, sizeof(*l));
	const struct err *e;

	*out = NULL;
	if (l == NULL)
		return err_nomem();
	l->s = s;
	l->type = type;
	l->n_frames = stacks_n_frames(s);
	e = stacks_ranks_init(&l->ranks, s);
	/* else there are label sets in between, or frames that are one */
	if (e == NULL && s->sets.n == 0 && l->ranks.n == l->n_frames)
		*out = l;
	else
		lay_free(l);
	return e;
}

const struct err *
flame_new_stacks(struct flame **out, struct stacks *s, uint32_t type,
    const struct flame_options *o)
{
	bool plain = o->max_nodes < 0 && !flame_is_filtered(o) &&
	    !flame_is_shaped(o);
	struct lay *l = NULL;
	const struct err *e = plain ? lay_new(&l, s, type) : NULL;
	struct flame *f;

	*out = NULL;
	if (e != NULL || l == NULL)
		return e != NULL ? e : lay_profile(out, s, type, o);
	if ((f = calloc(1, sizeof(*f))) == NULL) {
		lay_free(l);
		return err_nomem();
	}
	f->lay = l;
	l->nodes = stacks_take(s, type, &l->n_nodes, &l->totals);
	e = l->nodes == NULL ? err_nomem() : lay_build(l, f, o);
	if (e != NULL) {
		flame_free(f);
		return e;
	}
	*out = f;
	return NULL;
}
