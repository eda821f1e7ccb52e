/*
 * Nodes of what is now come first, so that they have the same numbers in the
 * copy; those that were there only before come behind them.
 */
#include "fcgi/format/stacks_less.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"

struct less {
	struct stacks *out;
	stacks_take_fn *take;
	void *arg;
	uint32_t *nodes; /* of the stacks before -> of out */
	int64_t *before; /* values of one type, by node of out */
	size_t n;
	uint64_t shrunk;
};

static uint32_t
less_node(struct stacks *out, const struct stacks *s, uint32_t i,
    const uint32_t *nodes)
{
	struct label labels[STACKS_LABELS_MAX];
	struct stacks_node node;
	struct frame f;

	if (i == 0)
		return 0;
	stacks_get_node(s, i, &node);
	if (node.labels)
		return stacks_labels(out, labels,
		    stacks_get_labels(s, node.edge, labels));
	stacks_get_frame(s, node.edge, &f);
	return stacks_child(out, nodes[node.parent], stacks_frame(out, &f));
}

/* The type of the stacks before that has the same name and unit. */
static uint32_t
less_type(const struct stacks *s, const struct stacks_type *t)
{
	struct stacks_type o;

	for (uint32_t i = 0; i < stacks_n_types(s); i++) {
		stacks_get_type(s, i, &o);
		if (strcmp(o.name, t->name) == 0 &&
		    strcmp(o.unit, t->unit) == 0 && o.period == t->period)
			return i;
	}
	return UINT32_MAX;
}

static void
less_values(struct less *l, const struct stacks *now,
    const struct stacks *before, uint32_t type)
{
	struct stacks_type t;
	enum stacks_take how;
	uint32_t old, into;
	uint64_t shrunk = 0;

	stacks_get_type(now, type, &t);
	if ((how = l->take(l->arg, &t)) == STACKS_LEAVE)
		return;
	old = before != NULL ? less_type(before, &t) : UINT32_MAX;
	if (how == STACKS_LESS && old == UINT32_MAX) {
		stacks_skip(l->out, "cumulative values without a profile "
		    "before", 1);
		return;
	}
	into = stacks_type(l->out, &t);
	memset(l->before, 0, l->n * sizeof(*l->before));
	for (uint32_t i = 0; how == STACKS_LESS &&
	    i < stacks_n_nodes(before); i++)
		l->before[l->nodes[i]] += stacks_value(before, i, old);
	for (uint32_t i = 0; i < stacks_n_nodes(l->out); i++) {
		int64_t v = (i < stacks_n_nodes(now) ?
		    stacks_value(now, i, type) : 0) - l->before[i];

		if (v > 0)
			stacks_add(l->out, i, into, v);
		else if (v < 0)
			l->shrunk += (uint64_t)-v;
		shrunk += v < 0;
	}
	if (shrunk > 0)
		stacks_skip(l->out, "cumulative values that have shrunk",
		    shrunk);
}

/* Frames have other numbers in `out`. */
static void
less_places(struct stacks *out, const struct stacks *now)
{
	struct stacks_place at;
	struct frame f;

	for (size_t i = 0; i < stacks_n_places(now); i++) {
		stacks_get_place(now, i, &at);
		stacks_get_frame(now, at.frame, &f);
		at.frame = stacks_frame(out, &f);
		stacks_put_place(out, &at);
	}
}

static void
less_skipped(struct stacks *out, const struct stacks *now)
{
	struct stacks_skipped skipped;

	for (size_t i = 0; i < stacks_n_skipped(now); i++) {
		stacks_get_skipped(now, i, &skipped);
		stacks_skip(out, skipped.why, skipped.n);
	}
}

static void
less_nodes(struct less *l, const struct stacks *now,
    const struct stacks *before)
{
	for (uint32_t i = 0; i < stacks_n_nodes(now); i++)
		l->nodes[i] = less_node(l->out, now, i, l->nodes);
	for (uint32_t i = 0; before != NULL && i < stacks_n_nodes(before);
	    i++)
		l->nodes[i] = less_node(l->out, before, i, l->nodes);
}

const struct err *
stacks_less(struct stacks **out, const struct stacks *now,
    const struct stacks *before, stacks_take_fn *take, void *arg,
    uint64_t *shrunk)
{
	size_t n = stacks_n_nodes(now), m = before != NULL ?
	    stacks_n_nodes(before) : 1;
	struct less l = {stacks_new(&stacks_limits_push), take, arg,
	    calloc(n > m ? n : m, sizeof(*l.nodes)),
	    calloc(n + m, sizeof(*l.before)), n + m, 0};
	const struct err *e = NULL;

	*out = NULL;
	if (l.out == NULL || l.nodes == NULL || l.before == NULL)
		e = err_nomem();
	if (e == NULL) {
		less_nodes(&l, now, before);
		e = stacks_error(l.out);
	}
	for (uint32_t t = 0; e == NULL && t < stacks_n_types(now); t++)
		less_values(&l, now, before, t);
	if (e == NULL) {
		less_places(l.out, now);
		less_skipped(l.out, now);
		e = stacks_error(l.out);
	}
	if (shrunk != NULL)
		*shrunk = l.shrunk;
	free(l.nodes);
	free(l.before);
	if (e != NULL)
		stacks_free(l.out);
	else
		*out = l.out;
	return e;
}
