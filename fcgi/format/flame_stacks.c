/*
 * From stacks to frames without a profile between: what is too narrow to be
 * drawn is dropped after one pass over the totals, and only the rest is
 * sorted.
 *
 *	ranks     frames in the order of their names
 *	kept      nodes that are wide enough, in the order of stacks
 *	first/next  children of each, by rank: nodes are put before their
 *	          siblings in falling order of rank
 *
 * This is right where equal frames are one frame and no label sets come
 * between; other stacks go through a profile.
 */
#include "flame.h"

#include <stdlib.h>
#include <string.h>

#include "stacks_private.h"
#include "store/base/err.h"

#define NONE UINT32_MAX

struct lay {
	const struct stacks *s;
	uint32_t type;
	struct frame *frames;  /* by number */
	uint32_t *sorted;      /* frames by rank */
	uint32_t *rank;        /* by frame */
	size_t n_frames, n_nodes;
	int64_t *total;        /* by node */
	uint32_t *place;       /* by node: in kept[], its own or that above */
	struct lay_node *kept;
	uint32_t n_kept;
};

struct lay_node {
	uint32_t node, parent; /* parent is in kept[] */
	uint32_t first, next;  /* in kept[]; NONE: no more */
	uint32_t n_cut;
};

static int
lay_order(const void *a, const void *b, void *arg)
{
	const struct frame *frames = arg;
	const struct frame *x = &frames[*(const uint32_t *)a];
	const struct frame *y = &frames[*(const uint32_t *)b];
	int c = strcmp(x->name, y->name);

	return c != 0 ? c : (int)x->kind - (int)y->kind;
}

static const struct err *
lay_rank(struct lay *l, bool *plain)
{
	l->n_frames = stacks_n_frames(l->s);
	l->frames = malloc((l->n_frames + 1) * sizeof(*l->frames));
	l->sorted = malloc((l->n_frames + 1) * sizeof(*l->sorted));
	l->rank = malloc((l->n_frames + 1) * sizeof(*l->rank));
	if (l->frames == NULL || l->sorted == NULL || l->rank == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < l->n_frames; i++) {
		stacks_get_frame(l->s, i, &l->frames[i]);
		l->sorted[i] = i;
	}
	qsort_r(l->sorted, l->n_frames, sizeof(*l->sorted), lay_order,
	    l->frames);
	for (uint32_t i = 0; i < l->n_frames; i++) {
		l->rank[l->sorted[i]] = i;
		if (i > 0 && lay_order(&l->sorted[i - 1], &l->sorted[i],
		    l->frames) == 0)
			*plain = false;
	}
	return NULL;
}

/* Totals from the leaves up; notes label sets on the way. */
static const struct err *
lay_sum(struct lay *l, bool *plain)
{
	const struct stacks_column *c = &l->s->types[l->type];
	const struct stacks_edge *nodes = l->s->nodes;

	l->n_nodes = l->s->n_nodes;
	l->total = calloc(l->n_nodes, sizeof(*l->total));
	if (l->total == NULL)
		return err_nomem();
	if (c->n > 0)
		memcpy(l->total, c->values, sizeof(*l->total) *
		    (c->n < l->n_nodes ? c->n : l->n_nodes));
	for (size_t i = l->n_nodes; i-- > 1;)
		l->total[nodes[i].parent] += l->total[i];
	/* label sets are below the root and nowhere else */
	*plain = *plain && l->s->sets.n == 0;
	return NULL;
}

static const struct err *
lay_keep(struct lay *l, int64_t least)
{
	size_t n = 1;

	if (least < 1)
		least = 1;
	for (size_t i = 1; i < l->n_nodes; i++)
		n += l->total[i] >= least;
	l->kept = malloc(n * sizeof(*l->kept));
	l->place = malloc(l->n_nodes * sizeof(*l->place));
	if (l->kept == NULL || l->place == NULL)
		return err_nomem();
	for (size_t i = 0; i < l->n_nodes; i++) {
		uint32_t above = i == 0 ? 0
		                        : l->place[l->s->nodes[i].parent];

		l->place[i] = above;
		if (i > 0 && l->total[i] < least) {
			l->kept[above].n_cut += l->total[i] > 0;
			continue;
		}
		l->place[i] = l->n_kept;
		l->kept[l->n_kept++] = (struct lay_node){(uint32_t)i, above,
		    NONE, NONE, 0};
	}
	return NULL;
}

static uint32_t
lay_frame(const struct lay *l, uint32_t k)
{
	return l->s->nodes[l->kept[k].node].edge;
}

/* Kept nodes by falling rank, each put before the siblings that it has. */
static const struct err *
lay_link(struct lay *l)
{
	uint32_t *at = calloc(l->n_frames + 2, sizeof(*at));
	uint32_t *order = malloc(l->n_kept * sizeof(*order));

	if (at == NULL || order == NULL) {
		free(at);
		free(order);
		return err_nomem();
	}
	for (uint32_t k = 1; k < l->n_kept; k++)
		at[l->rank[lay_frame(l, k)] + 1]++;
	for (size_t r = 0; r < l->n_frames; r++)
		at[r + 1] += at[r];
	for (uint32_t k = 1; k < l->n_kept; k++)
		order[at[l->rank[lay_frame(l, k)]]++] = k;
	for (uint32_t i = l->n_kept - 1; i-- > 0;) {
		struct lay_node *n = &l->kept[order[i]];

		n->next = l->kept[n->parent].first;
		l->kept[n->parent].first = order[i];
	}
	free(at);
	free(order);
	return NULL;
}

/* Names of the frames that are there; lay->rank becomes the name's number
 * of a frame. */
static bool
lay_names(struct lay *l, struct flame *f, const char *other)
{
	f->names = malloc((l->n_frames + 2) * sizeof(*f->names));
	if (f->names == NULL)
		return false;
	memset(l->rank, 0xff, l->n_frames * sizeof(*l->rank));
	f->names[f->n_names++] = (struct flame_name){"total", FLAME_UNKNOWN,
	    false};
	f->names[f->n_names++] = (struct flame_name){other, FLAME_UNKNOWN,
	    false};
	for (uint32_t k = 1; k < l->n_kept; k++) {
		uint32_t i = lay_frame(l, k);
		const struct frame *a = &l->frames[i];

		if (l->rank[i] != NONE)
			continue;
		l->rank[i] = (uint32_t)f->n_names;
		f->names[f->n_names++] = (struct flame_name){a->name,
		    flame_kind_of(a->kind, a->module),
		    a->kind == FRAME_INLINED};
	}
	return true;
}

static void
lay_put(struct flame *f, const struct flame_frame *frame)
{
	f->frames[f->n_frames++] = *frame;
	if (frame->level >= f->n_levels)
		f->n_levels = frame->level + 1;
	if (frame->self > f->max_self)
		f->max_self = frame->self;
}

static struct flame_frame
lay_make(const struct lay *l, uint32_t k, uint32_t level, int128 x)
{
	uint32_t node = l->kept[k].node;

	return (struct flame_frame){.name = k == 0 ? 0
	                                           : l->rank[lay_frame(l, k)],
	    .level = level,
	    .node = FLAME_NO_NODE,
	    .x = x,
	    .total = l->total[node],
	    .self = stacks_value(l->s, node, l->type)};
}

/* What is left of a frame behind its last child was cut. */
static void
lay_close(struct flame *f, const struct lay *l, uint32_t k, uint32_t level,
    int128 x, int128 end)
{
	if (x < end)
		lay_put(f, &(struct flame_frame){.name = 1,
		    .level = level + 1,
		    .node = FLAME_NO_NODE,
		    .n_cut = l->kept[k].n_cut,
		    .x = x,
		    .total = end - x,
		    .self = end - x});
}

/*
 * Pre-order without a stack: total[] of an open node, which is not needed
 * any more, becomes where its next child begins.
 */
static void
lay_walk(const struct lay *l, struct flame *f)
{
	uint32_t k = 0, level = 0;
	int64_t x = 0;

	for (;;) {
		struct flame_frame frame = lay_make(l, k, level, x);
		int64_t *begin = &l->total[l->kept[k].node];
		int64_t end = x + *begin;

		lay_put(f, &frame);
		x += (int64_t)frame.self;
		*begin = end; /* of an open node: its end */
		if (l->kept[k].first != NONE) {
			k = l->kept[k].first;
			level++;
			continue;
		}
		lay_close(f, l, k, level, x, end);
		while (k != 0 && l->kept[k].next == NONE) {
			x = l->total[l->kept[k].node];
			k = l->kept[k].parent;
			level--;
			lay_close(f, l, k, level, x,
			    l->total[l->kept[k].node]);
		}
		if (k == 0)
			return;
		x = l->total[l->kept[k].node];
		k = l->kept[k].next;
	}
}

static void
lay_fini(struct lay *l)
{
	free(l->frames);
	free(l->sorted);
	free(l->rank);
	free(l->total);
	free(l->place);
	free(l->kept);
}

static const struct err *
lay_build(struct lay *l, struct flame *f, const struct flame_options *o)
{
	const struct err *e = lay_keep(l,
	    (int64_t)flame_least(l->total[0], o->min_share));

	if (e == NULL)
		e = lay_link(l);
	if (e != NULL)
		return e;
	free(l->place);
	l->place = NULL;
	/* an "(other)" below each, at most */
	f->frames = malloc(2 * (size_t)l->n_kept * sizeof(*f->frames));
	if (f->frames == NULL || !lay_names(l, f, o->other))
		return err_nomem();
	f->total = f->before = l->total[0];
	lay_walk(l, f);
	return NULL;
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

const struct err *
flame_new_stacks(struct flame **out, const struct stacks *s, uint32_t type,
    const struct flame_options *o)
{
	bool plain = o->max_nodes < 0 && o->focus == NULL &&
	    o->ignore == NULL && !o->by_module && !o->reverse;
	struct lay l = {.s = s, .type = type};
	const struct err *e = NULL;
	struct flame *f;

	*out = NULL;
	if (plain)
		e = lay_rank(&l, &plain);
	if (e == NULL && plain)
		e = lay_sum(&l, &plain);
	if (e != NULL || !plain) {
		lay_fini(&l);
		return e != NULL ? e : lay_profile(out, s, type, o);
	}
	f = calloc(1, sizeof(*f));
	e = f == NULL ? err_nomem() : lay_build(&l, f, o);
	lay_fini(&l);
	if (e != NULL) {
		flame_free(f);
		return e;
	}
	*out = f;
	return NULL;
}
