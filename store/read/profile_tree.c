/*
 * From self values by symbol node to the tree that people see (merged_tree.h):
 * totals from the leaves up over the nodes that have something, then, only
 * of those that are large enough, children sorted by name and the names.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/base/heap.h"
#include "store/base/kth.h"
#include "store/read/reader.h"

/* A node that waits for its turn; or, with rest 0, what is not shown of the
 * node's descendants. */
struct tree_open {
	int128 total; /* of what is cut */
	uint32_t node, rank, depth, parent, cut;
	uint32_t rest; /* place + 1 of what is not shown of its parent */
};

struct tree {
	struct store *s;
	const struct node_values *self;
	struct reader_scratch *x; /* the store's */
	struct merged_tree *shown; /* the store's, of one or other kind */
	const char *split;        /* a label, "" for label sets, or NULL */
	uint32_t value;           /* of that label, or a label set: whose
	                           * stacks are wanted */
	size_t n_visited;         /* nodes with a total, children first */
	int128 least;             /* total of a node that is shown; */
	size_t equals;            /* of those with just that so many, */
	bool counted;             /* the first ones, where they are counted */
	size_t n_large;           /* visited ones that are */
	bool mixed;               /* of one of them the module is not known */
	struct tree_open *stack;
	size_t n_stack, cap_stack;
	uint32_t *names; /* string -> place in out->strings + 1 */
	struct profile_samples *samples; /* by node; NULL: not wanted */
	struct profile *out;
};

static const struct err *
tree_init(struct tree *t, bool samples)
{
	const struct err *e = merged_tree_grow(t->shown, &t->s->syms);

	if (e == NULL)
		e = scratch_grow(t->s);
	if (e != NULL)
		return e;
	t->x = &t->s->scratch;
	t->names = calloc(t->s->syms.strings.n, sizeof(*t->names));
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

/* ---- which label sets ---- */

/* The string of a label's value in a label set; 0 ("") when not there. */
static uint32_t
tree_label_value(const struct symtab *s, uint32_t set, const char *label)
{
	const uint32_t *pairs = intern_at(&s->labels, set);

	for (size_t i = 0; i < symtab_n_labels(s, set); i++) {
		if (strcmp(intern_str(&s->strings, pairs[2 * i]), label) == 0)
			return pairs[2 * i + 1];
	}
	return 0;
}

/* What a label set is a part of: its own, or its label's value. */
static uint32_t
tree_part_of(const struct tree *t, uint32_t set)
{
	return *t->split == '\0' ? set : tree_label_value(&t->s->syms, set,
	    t->split);
}

/* The labels of a set as the name of a node (store.h). */
static const char *
tree_set_name(struct tree *t, uint32_t set)
{
	struct buf *b = &t->out->strings;
	const struct symtab *y = &t->s->syms;
	union {
		uintptr_t place;
		const char *name;
	} u = {.place = b->len + 1};
	const uint32_t *pairs = intern_at(&y->labels, set);

	for (size_t i = 0; i < 2 * symtab_n_labels(y, set); i++)
		buf_printf(b, "%s%s", i > 0 ? "\1" : "",
		    intern_str(&y->strings, pairs[i]));
	buf_put_u8(b, '\0');
	return u.name;
}

/* Does a stack belong to the part that is being made? */
static bool
tree_takes(const struct tree *t, uint32_t node)
{
	return t->self->values[node] != 0 && (t->split == NULL ||
	    (node != 0 && tree_part_of(t, t->x->sets[node]) == t->value));
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

static void
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

		if (t->least > 0 && v[i].total < t->least)
			continue;
		v[i].next = v[parent].child;
		v[parent].child = i;
		v[i].module = nodes[i].module;
		t->mixed |= nodes[i].module == MERGED_MIXED;
		t->n_large++;
		equals += v[i].total == t->least;
	}
	if (t->counted && equals > t->equals)
		t->n_large -= equals - t->equals;
}

/*
 * Where frames of several modules look the same, the module is that of one
 * that is really there: the first in the reader's order.
 */
static void
tree_modules(struct tree *t)
{
	const struct symtab *y = &t->s->syms;
	uint32_t i, word = y->n_nodes / 64;

	for (size_t k = 0; k < t->self->n_touched; k++) {
		if (tree_takes(t, t->self->touched[k]))
			seen_set(t->x->seen, t->self->touched[k]);
	}
	while ((i = seen_take(t->x->seen, &word)) > 0) {
		const struct sym_node *n = &y->nodes[i];

		seen_set(t->x->seen, n->parent);
		if (n->parent != 0)
			t->x->shown[t->shown->of[i]].module =
			    symtab_frame(y, n->edge)->module;
	}
}

/* ---- out ---- */

/* Names are kept as places (plus one) until all of them are there. */
static const char *
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

/* Room for so many nodes more; and as many cut ones where some are cut. */
static const struct err *
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

static void
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
open_compare(const void *a, const void *b)
{
	const struct tree_open *x = a, *y = b;

	return x->rank < y->rank ? 1 : x->rank > y->rank ? -1 : 0;
}

static void
tree_sort(struct tree_open *o, size_t n)
{
	if (n > 12) {
		qsort(o, n, sizeof(*o), open_compare);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		struct tree_open moved = o[i];
		size_t k = i;

		for (; k > 0 && o[k - 1].rank < moved.rank; k--)
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
		e = tree_push(t, &(struct tree_open){total, node, 0, o.depth,
		                     o.parent, cut, 0});
	first = t->n_stack;
	o.rest = (uint32_t)first + 1 - t->counted;
	for (uint32_t c = v[node].child; c != 0 && e == NULL; c = v[c].next) {
		o.node = c;
		o.rank = w->rank[w->nodes[c].look];
		e = tree_push(t, &o);
	}
	if (e == NULL && t->n_stack > first + 1)
		tree_sort(t->stack + first, t->n_stack - first);
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

/* A name that stands for the root of what is visited now, and all below. */
static const struct err *
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

/* ---- the parts of a tree ---- */

/* Lists what is shown, and writes it down.  Of a large tree the last part is
 * written where the values by node were, which it is made from. */
static const struct err *
tree_part(struct tree *t, uint32_t name, uint32_t depth, bool last)
{
	const struct err *e;

	tree_link(t);
	if (t->mixed)
		tree_modules(t);
	if (last && t->out->n_nodes + t->n_large > SCRATCH_MOST) {
		scratch_drop_values(t->x);
		heap_trim();
	}
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

	tree_fill(t);
	tree_sum(t);
	if (t->samples != NULL)
		tree_sum_samples(t);
	if (limit->max_nodes > 0 || limit->min_share > 0)
		e = tree_limit(t, limit);
	return e == NULL ? tree_part(t, 0, 0, true) : e;
}

static int
value_compare(const void *a, const void *b, void *tree)
{
	const struct tree *t = tree;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return *t->split == '\0' ? symtab_compare_labels(&t->s->syms, x, y)
				 : intern_compare(&t->s->syms.strings, x, y);
}

/* The values of the label that the stacks have, in order, some of them more
 * than once; the caller frees them. */
static const struct err *
tree_values(struct tree *t, uint32_t **out, size_t *n)
{
	struct symtab *y = &t->s->syms;
	bool *seen = calloc(y->labels.n, sizeof(*seen));

	*n = 0;
	*out = malloc(y->labels.n * sizeof(**out));
	if (seen == NULL || *out == NULL) {
		free(seen);
		return err_nomem();
	}
	for (size_t i = 0; i < t->self->n_touched; i++) {
		uint32_t node = t->self->touched[i], set = t->x->sets[node];

		if (t->self->values[node] == 0 || node == 0 || seen[set])
			continue;
		seen[set] = true;
		(*out)[(*n)++] = tree_part_of(t, set);
	}
	qsort_r(*out, *n, sizeof(**out), value_compare, t);
	free(seen);
	return NULL;
}

/* Those of all parts. */
static struct profile_samples
tree_whole_samples(struct tree *t)
{
	struct profile_samples own = {0}, all = {0};

	if (t->samples == NULL)
		return all;
	tree_add_samples(t, &own, 0);
	for (size_t i = 0; i < t->self->n_touched; i++)
		tree_add_samples(t, &all, t->self->touched[i]);
	return (struct profile_samples){own.self, own.self_unknown, all.self,
	    all.self_unknown};
}

static const struct err *
tree_split(struct tree *t)
{
	struct profile_node root = {.name = tree_name(t, 0),
	    .module = tree_name(t, 0),
	    .kind = FRAME_MARK,
	    .self = t->self->values[0]};
	uint32_t *values = NULL;
	const struct err *e = tree_room(t, 0);
	size_t n, part;
	bool last;

	for (size_t i = 0; i < t->self->n_touched; i++)
		root.total += t->self->values[t->self->touched[i]];
	if (e == NULL)
		e = tree_values(t, &values, &n);
	if (e == NULL) {
		struct profile_samples whole = tree_whole_samples(t);

		tree_emit(t, &root, 0, t->samples != NULL ? &whole : NULL);
	}
	for (size_t i = 0; e == NULL && i < n; i++) {
		if (i > 0 && values[i] == values[i - 1])
			continue;
		t->value = values[i];
		tree_fill(t);
		tree_sum(t);
		if (t->samples != NULL)
			tree_sum_samples(t);
		last = values[i] == values[n - 1];
		if (*t->split != '\0') {
			e = tree_part(t, values[i], 1, last);
			continue;
		}
		part = t->out->n_nodes;
		e = tree_part(t, 0, 1, last);
		if (e == NULL)
			t->out->nodes[part].name = tree_set_name(t,
			    values[i]);
	}
	free(values);
	return e;
}

const struct err *
profile_tree(struct store *s, const struct node_values *self,
    const struct profile_query *q, const struct profile_limit *limit,
    bool samples, struct profile *out)
{
	const char *split = q->split;
	struct tree t = {.s = s, .self = self, .split = split, .out = out,
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
	if (out->n_nodes > SCRATCH_MOST) {
		scratch_fini(&s->scratch);
		heap_trim();
	}
	return e;
}
