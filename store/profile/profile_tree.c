/*
 * From self values by symbol node to the tree that people see (merged_tree.h):
 * totals from the leaves up over the nodes that have something, then which of
 * them are shown.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/base/heap.h"
#include "store/base/kth.h"
#include "store/profile/profile.h"
#include "store/profile/tree_private.h"

static const struct err *
tree_init(struct tree *t, bool samples)
{
	bool over = reader_is_over(t->s);
	const struct err *e = scratch_grow(t->s);

	if (over) /* nothing more of them is put before all of it goes */
		symtab_rest_stacks(&t->s->syms);
	if (over || t->s->syms.n_nodes > SCRATCH_MOST) {
		scratch_drop_parts(&t->s->scratch);
		heap_trim();
	}
	if (e == NULL)
		e = merged_tree_grow(t->shown, &t->s->syms);
	if (over)
		merged_tree_rest(t->shown);
	if (e == NULL)
		e = scratch_grow_shown(t->s);
	if (e != NULL)
		return e;
	t->x = &t->s->scratch;
	t->names = calloc(t->each != NULL ? 1 : t->s->syms.strings.n,
	    sizeof(*t->names));
	if (samples)
		t->samples = calloc(t->shown->n, sizeof(*t->samples));
	return t->names == NULL || (samples && t->samples == NULL)
	    ? err_nomem() : NULL;
}

static void
tree_clear(struct tree *t)
{
	struct merged_value *v = t->x->shown;

	for (size_t i = 0; i < t->n_visited; i++)
		v[t->x->visited[i]] = (struct merged_value){0};
	v[0] = (struct merged_value){0};
	for (size_t i = 0; t->samples != NULL && i < t->n_visited; i++)
		t->samples[t->x->visited[i]] = (struct profile_samples){0};
	if (t->samples != NULL)
		t->samples[0] = (struct profile_samples){0};
	t->n_visited = 0;
}

/* ---- totals ---- */

static inline void
seen_set(uint64_t *seen, uint32_t i)
{
	seen[i / 64] |= UINT64_C(1) << i % 64;
}

/* Takes the highest number that is left in the words up to *word; 0 when
 * there is none.  What is set meanwhile must be lower. */
static inline uint32_t
seen_take(uint64_t *seen, uint32_t *word)
{
	uint32_t w = *word, bit;

	while (seen[w] == 0) {
		if (w-- == 0)
			return 0;
	}
	bit = 63 - (uint32_t)__builtin_clzll(seen[w]);
	seen[w] ^= UINT64_C(1) << bit;
	*word = w;
	return w * 64 + bit;
}

/* Adds the stacks' own values to the nodes. */
static void
tree_fill(struct tree *t)
{
	const uint32_t *of = t->shown->of;

	for (size_t i = 0; i < t->self->n_touched; i++) {
		uint32_t node = t->self->touched[i];

		if (!tree_takes(t, node))
			continue;
		t->x->shown[of[node]].self += t->self->values[node];
		seen_set(t->x->seen, of[node]);
	}
}

/* Totals and counts of all nodes above those, in one backward pass. */
static void
tree_sum(struct tree *t)
{
	const struct merged_node *nodes = t->shown->nodes;
	struct merged_value *v = t->x->shown;
	uint32_t i, word = t->shown->n / 64;

	while ((i = seen_take(t->x->seen, &word)) > 0) {
		struct merged_value *up = &v[nodes[i].parent];

		v[i].total += v[i].self;
		if (v[i].total == 0)
			continue;
		up->total += v[i].total;
		up->count += ++v[i].count;
		seen_set(t->x->seen, nodes[i].parent);
		t->x->visited[t->n_visited++] = i;
	}
	v[0].total += v[0].self;
}

void
tree_add_samples(struct tree *t, struct profile_samples *to, uint32_t node)
{
	to->self += t->x->samples.values[node];
	to->self_unknown += t->x->unknown.values[node];
}

/* The same of the samples: who has some has an amount, and is among those
 * that were visited. */
static void
tree_sum_samples(struct tree *t)
{
	struct profile_samples *v = t->samples;

	for (size_t i = 0; i < t->self->n_touched; i++) {
		uint32_t node = t->self->touched[i];

		if (tree_takes(t, node))
			tree_add_samples(t, &v[t->shown->of[node]], node);
	}
	for (size_t k = 0; k <= t->n_visited; k++) {
		uint32_t i = k < t->n_visited ? t->x->visited[k] : 0;
		struct profile_samples *up = &v[t->shown->nodes[i].parent];

		v[i].total += v[i].self;
		v[i].total_unknown += v[i].self_unknown;
		if (i == 0)
			break;
		up->total += v[i].total;
		up->total_unknown += v[i].total_unknown;
	}
}

void
tree_totals(struct tree *t)
{
	tree_fill(t);
	tree_sum(t);
	if (t->samples != NULL)
		tree_sum_samples(t);
}

/* ---- which nodes ---- */

/* What a node must have so that it is among the largest and not too small;
 * totals[n] are those of all nodes but the root, and are reordered. */
static int128
tree_least(struct tree *t, const struct profile_limit *limit, int128 *totals,
    size_t n)
{
	int128 whole = t->x->shown[0].total;
	int128 least = (int128)ceil(limit->min_share * (double)whole);
	size_t large = 0;

	for (size_t i = 0; i < n; i++) {
		if (totals[i] >= least)
			totals[large++] = totals[i];
	}
	/* the root is one of the largest, too */
	if (limit->max_nodes == 0 || large + 1 <= limit->max_nodes)
		return large == n && large < limit->max_nodes ? 0 : least;
	least = limit->max_nodes == 1
	    ? whole : kth_largest(totals, large, limit->max_nodes - 1);
	t->counted = true;
	t->equals = limit->max_nodes - 1;
	for (size_t i = 0; i < large; i++)
		t->equals -= totals[i] > least;
	return least;
}

/* Lists the children of each node that is large enough. */
static void
tree_link(struct tree *t)
{
	const struct merged_node *nodes = t->shown->nodes;
	struct merged_value *v = t->x->shown;
	size_t equals = 0;

	t->n_large = 0;
	t->mixed = false;
	for (size_t k = 0; k < t->n_visited; k++) {
		uint32_t i = t->x->visited[k], parent = nodes[i].parent;

		v[i].module = nodes[i].module;
		if (t->least > 0 && v[i].total < t->least)
			continue;
		v[i].next = v[parent].child;
		v[parent].child = i;
		t->mixed |= nodes[i].module == MERGED_MIXED;
		t->n_large++;
		equals += v[i].total == t->least;
	}
	if (t->counted && equals > t->equals)
		t->n_large -= equals - t->equals;
}

/*
 * Where frames of several modules look the same, the module is that of one
 * that is really there: the first by name, whatever a reader has read before.
 */
static void
tree_modules(struct tree *t)
{
	const struct symtab *y = &t->s->syms;
	uint32_t i, word = y->n_nodes / 64, module, *of;

	for (size_t k = 0; k < t->self->n_touched; k++) {
		if (tree_takes(t, t->self->touched[k]))
			seen_set(t->x->seen, t->self->touched[k]);
	}
	while ((i = seen_take(t->x->seen, &word)) > 0) {
		const struct sym_node *n = &y->nodes[i];

		seen_set(t->x->seen, n->parent);
		if (n->parent == 0)
			continue;
		module = symtab_frame(y, n->edge)->module;
		of = &t->x->shown[t->shown->of[i]].module;
		if (*of == MERGED_MIXED ||
		    intern_compare(&y->strings, module, *of) < 0)
			*of = module;
	}
}

/* ---- the parts of a tree ---- */

/* Of a large tree the last part is written where the values by node were,
 * which it is made from. */
static void
tree_list(struct tree *t, bool last)
{
	tree_link(t);
	if (t->mixed)
		tree_modules(t);
	if (last && t->out->n_nodes + t->n_large > SCRATCH_MOST) {
		scratch_drop_values(t->x);
		heap_trim();
	}
}

const struct err *
tree_part(struct tree *t, uint32_t name, uint32_t depth, bool last)
{
	const struct err *e;

	tree_list(t, last);
	e = tree_walk(t, name, depth);
	tree_clear(t);
	return e;
}

static const struct err *
tree_limit(struct tree *t, const struct profile_limit *limit)
{
	int128 *totals = malloc((t->n_visited + 1) * sizeof(*totals));

	if (totals == NULL)
		return err_nomem();
	for (size_t i = 0; i < t->n_visited; i++)
		totals[i] = t->x->shown[t->x->visited[i]].total;
	t->least = tree_least(t, limit, totals, t->n_visited);
	free(totals);
	return NULL;
}

static const struct err *
tree_whole(struct tree *t, const struct profile_limit *limit)
{
	const struct err *e = NULL;

	tree_totals(t);
	if (t->each != NULL) {
		tree_list(t, true);
		return tree_give(t);
	}
	if (limit->max_nodes > 0 || limit->min_share > 0)
		e = tree_limit(t, limit);
	return e == NULL ? tree_part(t, 0, 0, true) : e;
}

const struct err *
profile_tree(struct store *s, const struct node_values *self,
    const struct profile_query *q, const struct profile_limit *limit,
    const struct profile_each *each, bool samples, struct profile *out)
{
	const char *split = each == NULL ? q->split : NULL;
	struct tree t = {.s = s, .self = self, .each = each, .split = split,
	    .out = out,
	    .shown = q->by_module ? &s->by_module : &s->shown};
	const struct err *e;

	s->by_module.by_module = true;
	e = tree_init(&t, samples);

	out->sets = split != NULL && *split == '\0';
	if (e == NULL)
		e = split != NULL ? tree_split(&t) : tree_whole(&t, limit);
	if (e == NULL && out->strings.failed)
		e = err_nomem();
	for (size_t i = 0; e == NULL && i < out->n_nodes; i++) {
		const char *base = (const char *)out->strings.data - 1;

		out->nodes[i].name = base + (uintptr_t)out->nodes[i].name;
		out->nodes[i].module = base + (uintptr_t)out->nodes[i].module;
	}
	if (t.x != NULL)
		tree_clear(&t);
	free(t.stack);
	free(t.names);
	free(t.samples);
	if (out->n_nodes > SCRATCH_MOST || t.n_large > SCRATCH_MOST) {
		scratch_fini(&s->scratch);
		heap_trim();
	}
	return e;
}
