/*
 * The nodes that people see, in pre-order: children sorted by name, what is
 * not shown of them last.
 */
#include <stdlib.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/profile/tree_private.h"

#define RANK_LEAST 4096 /* new looks that are always ranked; of more, */
#define RANK_SHARE 16   /* where so large a part of them is shown */

const char *
tree_name(struct tree *t, uint32_t string)
{
	union {
		uintptr_t place;
		const char *name;
	} u;

	if (t->names[string] == 0) {
		t->names[string] = (uint32_t)t->out->strings.len + 1;
		buf_put(&t->out->strings,
		    intern_at(&t->s->syms.strings, string),
		    t->s->syms.strings.items[string].len + 1u);
	}
	u.place = t->names[string];
	return u.name;
}

const struct err *
tree_room(struct tree *t, size_t more)
{
	size_t n = t->out->n_nodes + (t->least > 0 ? 2 : 1) * (more + 1);
	struct profile_samples *samples = t->out->samples;
	struct profile_node *nodes;
	uint32_t *cut = t->out->cut;

	nodes = realloc(t->out->nodes, n * sizeof(*nodes));
	if (nodes != NULL)
		t->out->nodes = nodes;
	if (t->samples != NULL &&
	    (samples = realloc(samples, n * sizeof(*samples))) != NULL)
		t->out->samples = samples;
	if (t->least > 0 && (cut = realloc(cut, n * sizeof(*cut))) != NULL)
		t->out->cut = cut;
	return nodes == NULL || (t->samples != NULL && samples == NULL) ||
	    (t->least > 0 && cut == NULL) ? err_nomem() : NULL;
}

void
tree_emit(struct tree *t, const struct profile_node *node, uint32_t cut,
    const struct profile_samples *samples)
{
	if (samples != NULL)
		t->out->samples[t->out->n_nodes] = *samples;
	if (t->out->cut != NULL)
		t->out->cut[t->out->n_nodes] = cut;
	t->out->nodes[t->out->n_nodes++] = *node;
}

static const struct err *
tree_push(struct tree *t, const struct tree_open *o)
{
	if (!array_room(&t->stack, t->n_stack + 1, &t->cap_stack))
		return err_nomem();
	t->stack[t->n_stack++] = *o;
	return NULL;
}

/* Backwards: what was pushed last comes first. */
static int
open_compare(const void *a, const void *b, void *tree)
{
	const struct tree_open *x = a, *y = b;
	const struct tree *t = tree;

	if (!t->ranked)
		return merged_tree_compare(t->shown, &t->s->syms, y->rank,
		    x->rank);
	return x->rank < y->rank ? 1 : x->rank > y->rank ? -1 : 0;
}

static void
tree_sort(struct tree *t, struct tree_open *o, size_t n)
{
	if (n > 12) {
		qsort_r(o, n, sizeof(*o), open_compare, t);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		struct tree_open moved = o[i];
		size_t k = i;

		for (; k > 0 && open_compare(&o[k - 1], &moved, t) > 0; k--)
			o[k] = o[k - 1];
		o[k] = moved;
	}
}

/* The children of a node come before what is cut of it. */
static const struct err *
tree_push_children(struct tree *t, uint32_t node, uint32_t depth)
{
	const struct merged_tree *w = t->shown;
	const struct merged_value *v = t->x->shown;
	struct tree_open o = {.depth = depth + 1,
	    .parent = (uint32_t)t->out->n_nodes - 1};
	int128 total = v[node].total - v[node].self;
	uint32_t cut = v[node].count - (node != 0);
	const struct err *e = NULL;
	size_t first;

	for (uint32_t c = v[node].child; c != 0; c = v[c].next) {
		total -= v[c].total;
		cut -= v[c].count;
	}
	if (cut > 0 || t->counted)
		e = tree_push(t, &(struct tree_open){.total = total,
		    .node = node, .depth = o.depth, .parent = o.parent,
		    .cut = cut});
	first = t->n_stack;
	o.rest = (uint32_t)first + 1 - t->counted;
	for (uint32_t c = v[node].child; c != 0 && e == NULL; c = v[c].next) {
		o.node = c;
		o.rank = w->nodes[c].look;
		if (t->ranked)
			o.rank = w->rank[o.rank];
		e = tree_push(t, &o);
	}
	if (e == NULL && t->n_stack > first + 1)
		tree_sort(t, t->stack + first, t->n_stack - first);
	return e;
}

/* What the children that are shown leave of the samples below a node. */
static struct profile_samples
tree_cut_samples(const struct tree *t, uint32_t node)
{
	const struct profile_samples *v = t->samples;
	int128 rest = v[node].total - v[node].self;
	int128 unknown = v[node].total_unknown - v[node].self_unknown;

	for (uint32_t c = t->x->shown[node].child; c != 0;
	     c = t->x->shown[c].next) {
		if (t->x->shown[c].count == 0)
			continue;
		rest -= v[c].total;
		unknown -= v[c].total_unknown;
	}
	return (struct profile_samples){rest, unknown, rest, unknown};
}

static const struct profile_samples *
tree_samples(const struct tree *t, uint32_t node)
{
	return t->samples != NULL ? &t->samples[node] : NULL;
}

static void
tree_emit_cut(struct tree *t, const struct tree_open *o)
{
	struct profile_node node = {.name = tree_name(t, 0),
	    .module = tree_name(t, 0),
	    .kind = FRAME_MARK,
	    .depth = o->depth,
	    .parent = o->parent,
	    .self = o->total,
	    .total = o->total};

	struct profile_samples rest;

	if (t->samples != NULL)
		rest = tree_cut_samples(t, o->node);
	tree_emit(t, &node, o->cut, t->samples != NULL ? &rest : NULL);
}

/* Is it one of the equals for which there is no room?  Then it is cut. */
static bool
tree_is_over(struct tree *t, const struct tree_open *o)
{
	struct merged_value *v = &t->x->shown[o->node];
	struct tree_open *rest = &t->stack[o->rest - 1];

	if (!t->counted || v->total != t->least)
		return false;
	if (t->equals > 0) {
		t->equals--;
		return false;
	}
	rest->total += v->total;
	rest->cut += v->count;
	v->count = 0; /* it is not shown */
	return true;
}

/* Of which file its frames are, and of which build of it where that is
 * asked for. */
static void
tree_set_module(struct tree *t, struct profile_node *node, uint32_t module)
{
	const struct sym_frame *f;

	if (!t->shown->by_module) {
		node->module = tree_name(t, module);
		return;
	}
	f = symtab_frame(&t->s->syms, module);
	node->module = tree_name(t, f->module);
	if (*intern_str(&t->s->syms.strings, f->build_id) == '\0')
		return;
	tree_name(t, f->build_id);
	node->build = t->names[f->build_id];
}

/* Ranks are for ever, but who shows little of much that is new compares names
 * instead. */
static const struct err *
tree_rank(struct tree *t)
{
	uint32_t new = t->shown->n_looks - t->shown->n_sorted;

	t->ranked = new / RANK_LEAST < 1 || new / RANK_SHARE < t->n_large;
	return t->ranked ? merged_tree_sort(t->shown, &t->s->syms) : NULL;
}

const struct err *
tree_walk(struct tree *t, uint32_t name, uint32_t depth)
{
	const struct merged_value *v = t->x->shown;
	const struct merged_tree *w = t->shown;
	const struct profile_node root = {.name = tree_name(t, name),
	    .module = tree_name(t, 0),
	    .kind = FRAME_MARK,
	    .depth = depth,
	    .self = v[0].self,
	    .total = v[0].total};
	const struct err *e = tree_room(t, t->n_large + 1);

	if (e == NULL)
		e = tree_rank(t);
	if (e != NULL)
		return e;
	tree_emit(t, &root, 0, tree_samples(t, 0));
	e = tree_push_children(t, 0, depth);
	while (t->n_stack > 0 && e == NULL && (e = gone_check()) == NULL) {
		struct tree_open o = t->stack[--t->n_stack];
		const struct merged_look *look;
		struct profile_node node;

		if (o.rest == 0 && o.cut > 0)
			tree_emit_cut(t, &o);
		if (o.rest == 0 || tree_is_over(t, &o))
			continue;
		look = &w->looks[w->nodes[o.node].look];
		node = (struct profile_node){.name = tree_name(t, look->name),
		    .kind = (enum frame_kind)look->kind,
		    .depth = o.depth,
		    .parent = o.parent,
		    .self = v[o.node].self,
		    .total = v[o.node].total};
		tree_set_module(t, &node, v[o.node].module);
		tree_emit(t, &node, 0, tree_samples(t, o.node));
		if (v[o.node].total != v[o.node].self)
			e = tree_push_children(t, o.node, o.depth);
	}
	return e;
}
