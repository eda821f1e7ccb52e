/*
 * A tree that nobody keeps: its nodes are given as they are met, by way of the
 * links that lead to them.
 */
#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/profile/tree_private.h"

static const struct err *
tree_give_node(const struct tree *t, uint32_t node, uint32_t depth)
{
	const struct intern *strings = &t->s->syms.strings;
	const struct merged_value *v = &t->x->shown[node];
	const struct merged_look *look =
	    &t->shown->looks[t->shown->nodes[node].look];
	const struct profile_node given = {
	    .name = intern_str(strings, look->name),
	    .module = intern_str(strings, v->module),
	    .kind = (enum frame_kind)look->kind,
	    .depth = depth,
	    .self = v->self,
	    .total = v->total};

	return t->each->take(t->each->arg, &given, look->name,
	    t->samples != NULL ? &t->samples[node] : NULL)
	    ? gone_check() : err_nomem();
}

/* All of it as the root's own. */
static const struct err *
tree_give_root(struct tree *t)
{
	const struct profile_node root = {.name = tree_name(t, 0),
	    .module = tree_name(t, 0),
	    .kind = FRAME_MARK,
	    .self = t->x->shown[0].total,
	    .total = t->x->shown[0].total};
	const struct err *e = tree_room(t, 0);
	struct profile_samples all = {0};

	if (e != NULL)
		return e;
	if (t->samples != NULL) {
		all = t->samples[0];
		all.self = all.total;
		all.self_unknown = all.total_unknown;
	}
	tree_emit(t, &root, 0, t->samples != NULL ? &all : NULL);
	return NULL;
}

const struct err *
tree_give(struct tree *t)
{
	const struct merged_value *v = t->x->shown;
	const struct merged_node *nodes = t->shown->nodes;
	const struct err *e = tree_give_root(t);
	uint32_t depth = 1, i = v[0].child;

	if (e == NULL && !t->each->begin(t->each->arg,
	    t->s->syms.strings.n))
		e = err_nomem();
	while (i != 0 && e == NULL) {
		e = tree_give_node(t, i, depth);
		if (v[i].child != 0) {
			i = v[i].child;
			depth++;
			continue;
		}
		while (i != 0 && v[i].next == 0) {
			i = nodes[i].parent;
			depth--;
		}
		i = v[i].next;
	}
	return e;
}
