/*
 * From stacks to frames without a profile between: one pass over the totals
 * tells what is too narrow to be drawn, the rest is linked in the order of
 * names, and a frame is placed when the walk comes to it.  A picture may
 * have millions of frames, so all that is kept of one is, by node:
 *
 *	total        its own and its callees'
 *	first, next  its children, by the ranks of their names
 *	n_cut        how many narrow ones are gathered at it
 *
 * This is right where equal frames are one frame and no label sets come
 * between; other stacks go through a profile.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/flame/flame.h"
#include "fcgi/format/flame/flame_lay.h"
#include "fcgi/format/stacks_private.h"
#include "store/base/err.h"

#define NONE UINT32_MAX

struct lay {
	const struct stacks *s;
	uint32_t type;
	struct stacks_ranks ranks; /* a rank is at last its name's number */
	size_t n_frames, n_nodes;
	int64_t least;         /* total of what is drawn, at least */
	int64_t period;        /* units of a count: frames are in units, */
	struct lay_node *nodes; /* all else is in counts */
	uint32_t *n_cut;
};

/* Together, for the walk goes through memory as names are sorted. */
struct lay_node {
	int64_t total;
	uint32_t first, next;
};

/* A frame whose callees have not all been walked over. */
struct lay_open {
	uint32_t node, next; /* itself, and the child to come */
	int64_t x, end;      /* where that begins, and where itself ends */
};

static const struct err *
lay_begin(struct lay *l, double min_share)
{
	int64_t all = 0;

	l->n_nodes = l->s->n_nodes;
	l->nodes = malloc(l->n_nodes * sizeof(*l->nodes));
	l->n_cut = calloc(l->n_nodes, sizeof(*l->n_cut));
	if (l->nodes == NULL || l->n_cut == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < l->n_nodes; i++) {
		l->nodes[i] = (struct lay_node){
		    stacks_value(l->s, i, l->type), NONE, NONE};
		all += l->nodes[i].total;
	}
	l->least = (int64_t)flame_least(all, min_share);
	if (l->least < 1)
		l->least = 1;
	return NULL;
}

static bool
lay_is_kept(const struct lay *l, size_t i)
{
	return i == 0 || l->nodes[i].total >= l->least;
}

/* From the leaves up: totals, and the picture's size.  What is kept becomes
 * its parent's child, in the order of nodes, which is mostly that of memory;
 * what is cut is counted at the nearest node above it that is not. */
static void
lay_gather(struct lay *l, struct flame *f)
{
	uint32_t depth = 0;

	for (uint32_t i = (uint32_t)l->n_nodes; i-- > 0;) {
		const struct stacks_edge *n = &l->s->nodes[i];
		struct lay_node *k = &l->nodes[i];
		uint32_t below = l->n_cut[i] > 0;

		if (i > 0)
			l->nodes[n->parent].total += k->total;
		if (!lay_is_kept(l, i)) {
			l->n_cut[n->parent] += l->n_cut[i] + (k->total > 0);
			continue;
		}
		f->n_frames += 1 + below;
		if (n->depth + below > depth)
			depth = n->depth + below;
		if (i > 0) {
			k->next = l->nodes[n->parent].first;
			l->nodes[n->parent].first = i;
		}
	}
	f->n_levels = depth + 1;
}

static int
lay_by_rank(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Sorts the children of a node; `room` holds their ranks and numbers. */
static bool
lay_sort(struct lay *l, struct lay_node *parent, struct buf *room)
{
	uint64_t *child;
	size_t n = 0;

	buf_clear(room);
	for (uint32_t i = parent->first; i != NONE; i = l->nodes[i].next) {
		uint64_t rank = l->ranks.rank[l->s->nodes[i].edge];

		buf_put(room, &(uint64_t){rank << 32 | i}, sizeof(*child));
		n++;
	}
	if (room->failed)
		return false;
	child = (uint64_t *)(void *)room->data;
	qsort(child, n, sizeof(*child), lay_by_rank);
	parent->first = NONE;
	while (n-- > 0) {
		uint32_t i = (uint32_t)child[n];

		l->nodes[i].next = parent->first;
		parent->first = i;
	}
	return true;
}

/* Those few nodes that have several children. */
static const struct err *
lay_sort_all(struct lay *l)
{
	struct buf room = {0};
	bool good = true;

	for (size_t i = 0; good && i < l->n_nodes; i++) {
		uint32_t first = l->nodes[i].first;

		if (first != NONE && l->nodes[first].next != NONE)
			good = lay_sort(l, &l->nodes[i], &room);
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
	for (size_t i = 1; i < l->n_nodes; i++) {
		uint32_t edge = l->s->nodes[i].edge;
		const struct frame *a = &l->ranks.frames[edge];

		if (l->ranks.rank[edge] != NONE || !lay_is_kept(l, i))
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
	const struct lay_node *n = &l->nodes[node];
	int64_t self = stacks_value(l->s, node, l->type);

	w->frame = (struct flame_frame){
	    .name = node == 0 ? 0 : l->ranks.rank[l->s->nodes[node].edge],
	    .level = w->depth,
	    .node = FLAME_NO_NODE,
	    .x = (int128)x * l->period,
	    .total = (int128)n->total * l->period,
	    .self = (int128)self * l->period};
	w->open[w->depth++] = (struct lay_open){node, n->first,
	    x + self, x + n->total};
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
	    .n_cut = w->f->lay->n_cut[o->node],
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
			o->next = l->nodes[node].next;
			o->x += l->nodes[node].total;
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
	free(l->n_cut);
	free(l);
}

static const struct err *
lay_build(struct lay *l, struct flame *f, const struct flame_options *o)
{
	struct stacks_type t;
	const struct err *e;

	if ((e = lay_begin(l, o->min_share)) != NULL)
		return e;
	lay_gather(l, f);
	if ((e = lay_sort_all(l)) != NULL)
		return e;
	stacks_get_type(l->s, l->type, &t);
	l->period = t.period;
	f->period = series_sample_units(t.kind, t.unit, t.period);
	f->total = f->before = (int128)l->nodes[0].total * t.period;
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
flame_new_stacks(struct flame **out, const struct stacks *s, uint32_t type,
    const struct flame_options *o)
{
	bool plain = o->max_nodes < 0 && o->focus == NULL &&
	    o->ignore == NULL && !o->by_module && !o->reverse;
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
	e = lay_build(l, f, o);
	if (e != NULL) {
		flame_free(f);
		return e;
	}
	*out = f;
	return NULL;
}
