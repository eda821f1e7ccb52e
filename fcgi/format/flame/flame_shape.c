/*
 * New stacks are put one by one into a struct stacks, which merges and sorts
 * them.  A frame's number there is found once for each address of a name:
 * strings of a profile seldom differ by address alone.
 */
#include "fcgi/format/flame/flame_shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/flame/flame.h"
#include "fcgi/format/flame/flame_filter.h"
#include "fcgi/format/stacks.h"
#include "store/base/err.h"
#include "store/base/intern.h"

#define BUILT_DEFAULT (1u << 20)
#define STEPS_A_NODE 32u

struct shape {
	const struct profile *p;
	const struct flame_options *o;
	struct stacks *s;
	bool *taken;         /* by node: its stack; NULL: all are */
	struct map64 frames; /* addresses and kind -> frame */
	uint32_t *frame;     /* by node: its frame in s */
	uint32_t *node;      /* by node: where its stack ends in s */
	uint32_t type, samples, unknown; /* of s; but for `type` where p has
	                                  * them by node */
	size_t limit;        /* nodes of s */
};

bool
flame_is_shaped(const struct flame_options *o)
{
	return o->by_module || o->reverse || o->idle != NULL;
}

/* What a node is called: with by_module, after its module if it has one. */
static struct frame
shape_frame(const struct shape *h, const struct profile_node *n)
{
	struct frame f = {.kind = n->kind, .name = n->name,
	    .module = n->module, .build_id = ""};

	if (h->o->by_module && n->module[0] != '\0') {
		f.name = n->module;
		if (f.kind == FRAME_INLINED || f.kind == FRAME_ADDRESS)
			f.kind = FRAME_NATIVE;
	}
	return f;
}

static const struct err *
shape_frames(struct shape *h)
{
	for (size_t i = 1; i < h->p->n_nodes; i++) {
		struct frame f = shape_frame(h, &h->p->nodes[i]);
		/* Of several modules one is as good in each part. */
		const char *of = h->o->idle != NULL ? NULL : f.module;
		uint64_t key = hash64_u64(hash64_u64(f.kind,
		    (uintptr_t)f.name), (uintptr_t)of);

		h->frame[i] = map64_get(&h->frames, key);
		if (h->frame[i] != INTERN_NONE)
			continue;
		h->frame[i] = stacks_frame(h->s, &f);
		if (!map64_add(&h->frames, key, h->frame[i]))
			return err_nomem();
	}
	return NULL;
}

/* A frame of the same module as its caller's is no frame of its own, nor is a
 * reason. */
static bool
shape_is_merged(const struct shape *h, size_t i)
{
	uint32_t parent = h->p->nodes[i].parent;

	if (h->o->idle != NULL && h->p->nodes[i].depth == 1)
		return true;
	return h->o->by_module && h->p->nodes[i].module[0] != '\0' &&
	    parent != 0 && h->frame[i] == h->frame[parent];
}

/* What is left of a node's own. */
static int128
shape_self(const struct shape *h, size_t i)
{
	return h->taken == NULL || h->taken[i] ? h->p->nodes[i].self : 0;
}

static const struct err *
shape_add(struct shape *h, uint32_t node, size_t i)
{
	int128 self = shape_self(h, i);

	if (self > INT64_MAX)
		return err_new(ERR_REQUEST, 413, "more than 2^63 %s",
		    h->p->unit);
	stacks_add(h->s, node, h->type, (int64_t)self);
	if (h->p->samples == NULL || self == 0)
		return NULL;
	stacks_add(h->s, node, h->samples, (int64_t)h->p->samples[i].self);
	stacks_add(h->s, node, h->unknown,
	    (int64_t)h->p->samples[i].self_unknown);
	return NULL;
}

static const struct err *
shape_downwards(struct shape *h)
{
	const struct err *e = shape_add(h, 0, 0);

	h->node[0] = 0;
	for (size_t i = 1; i < h->p->n_nodes && e == NULL; i++) {
		uint32_t above = h->node[h->p->nodes[i].parent];

		h->node[i] = shape_is_merged(h, i)
		    ? above : stacks_child(h->s, above, h->frame[i]);
		e = shape_add(h, h->node[i], i);
	}
	return e;
}

static const struct err *
shape_upwards(struct shape *h)
{
	const struct err *e = shape_add(h, 0, 0);
	uint64_t steps = 0; /* of deep stacks that share all of their ends */

	for (size_t i = 1; i < h->p->n_nodes && e == NULL; i++) {
		uint32_t node = 0;

		if (shape_self(h, i) == 0)
			continue;
		steps += h->p->nodes[i].depth;
		if (steps > STEPS_A_NODE * (uint64_t)h->limit)
			return err_new(ERR_REQUEST, 413, "too many frames to "
			    "turn the stacks round");
		for (size_t k = i; k != 0; k = h->p->nodes[k].parent)
			if (!shape_is_merged(h, k))
				node = stacks_child(h->s, node, h->frame[k]);
		e = shape_add(h, node, i);
		if (e == NULL)
			e = stacks_error(h->s);
	}
	return e;
}

/* The samples' own tree has the same nodes. */
static const struct err *
shape_samples(const struct shape *h, struct profile *to)
{
	struct profile *p = NULL, *u = NULL;
	const struct err *e = stacks_profile(h->s, h->samples, &p);

	if (e == NULL)
		e = stacks_profile(h->s, h->unknown, &u);
	if (e == NULL)
		to->samples = calloc(to->n_nodes, sizeof(*to->samples));
	if (e == NULL && to->samples == NULL)
		e = err_nomem();
	for (size_t i = 0; e == NULL && i < to->n_nodes; i++)
		to->samples[i] = (struct profile_samples){p->nodes[i].self,
		    u->nodes[i].self, p->nodes[i].total, u->nodes[i].total};
	profile_free(p);
	profile_free(u);
	return e;
}

static const struct err *
shape_run(struct shape *h, struct profile **out)
{
	const struct stacks_type type = {"", h->p->unit, 1, h->p->kind};
	const struct stacks_type samples = {"samples", "samples", 1,
	    SERIES_FLOW};
	const struct stacks_type unknown = {"unknown", h->p->unit, 1,
	    SERIES_FLOW};
	const struct err *e;

	h->type = stacks_type(h->s, &type);
	if (h->p->samples != NULL) {
		h->samples = stacks_type(h->s, &samples);
		h->unknown = stacks_type(h->s, &unknown);
	}
	e = flame_filter(&h->taken, h->p, h->o);
	if (e == NULL)
		e = shape_frames(h);
	if (e == NULL)
		e = h->o->reverse ? shape_upwards(h) : shape_downwards(h);
	if (e == NULL)
		e = stacks_error(h->s);
	if (e == NULL)
		e = stacks_profile(h->s, h->type, out);
	if (e == NULL)
		(*out)->period = h->p->period;
	if (e == NULL && h->p->samples != NULL)
		e = shape_samples(h, *out);
	return e;
}

/* Stacks that are turned round share little: their tree may be far larger than
 * the profile's, and has a limit of its own. */
const struct err *
flame_shape(struct profile **out, const struct profile *p,
    const struct flame_options *o)
{
	struct stacks_limits limits = stacks_limits_file;
	struct shape h = {.p = p, .o = o};
	const struct err *e = NULL;

	*out = NULL;
	limits.nodes = o->max_built > 0 ? o->max_built : BUILT_DEFAULT;
	h.limit = limits.nodes;
	h.s = stacks_new(&limits);
	h.frame = malloc(p->n_nodes * sizeof(*h.frame));
	h.node = malloc(p->n_nodes * sizeof(*h.node));
	if (h.s == NULL || h.frame == NULL || h.node == NULL)
		e = err_nomem();
	if (e == NULL)
		e = shape_run(&h, out);
	stacks_free(h.s);
	map64_fini(&h.frames);
	free(h.taken);
	free(h.frame);
	free(h.node);
	if (e != NULL) {
		profile_free(*out);
		*out = NULL;
	} else {
		(*out)->from_ns = p->from_ns;
		(*out)->until_ns = p->until_ns;
		(*out)->slots = p->slots;
		(*out)->slots_about = p->slots_about;
		(*out)->seen_ns = p->seen_ns;
		(*out)->series = p->series;
		(*out)->blocks = p->blocks;
		(*out)->stacks = p->stacks;
		(*out)->parts = p->parts;
		(*out)->whole_slots = p->whole_slots;
	}
	return e;
}
