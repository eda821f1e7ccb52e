/*
 * From self values by symbol node to the tree that people see: frames of
 * equal name and kind become one node, label sets disappear (or one label of
 * them becomes the first level), children are sorted by name.
 */
#include "reader.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

/* ---- the order of frames ---- */

static int
order_compare(const void *a, const void *b, void *syms)
{
	return symtab_compare_frames(syms, *(const uint32_t *)a,
	    *(const uint32_t *)b);
}

static bool
order_same(const struct symtab *t, uint32_t a, uint32_t b)
{
	const struct sym_frame *x = symtab_frame(t, a);
	const struct sym_frame *y = symtab_frame(t, b);

	return x->name == y->name && x->kind == y->kind;
}

static const struct err *
order_frames(struct store *s)
{
	struct reader_order *o = &s->order;
	uint32_t n = s->syms.frames.n, class = 0, *sorted;

	if (o->frame_class != NULL && o->n_frames == n)
		return NULL;
	free(o->frame_class);
	sorted = malloc((n + 1) * sizeof(*sorted));
	o->frame_class = malloc((n + 1) * sizeof(*o->frame_class));
	if (sorted == NULL || o->frame_class == NULL) {
		free(sorted);
		free(o->frame_class);
		o->frame_class = NULL;
		return err_nomem();
	}
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = i;
	qsort_r(sorted, n, sizeof(*sorted), order_compare, &s->syms);
	for (uint32_t i = 0; i < n; i++) {
		if (i > 0 && !order_same(&s->syms, sorted[i - 1], sorted[i]))
			class++;
		o->frame_class[sorted[i]] = class;
	}
	free(sorted);
	o->n_frames = n;
	return NULL;
}

/* ---- building ---- */

/* Nodes that are shown as one: arena[first .. first + n); or, with n = 0, what
 * is cut of a parent's children. */
struct tree_group {
	uint32_t first, n, depth, parent;
	uint32_t cut;
	int128 total; /* of what is cut */
};

struct tree {
	struct store *s;
	const struct node_values *self;
	struct reader_scratch *x; /* the store's */
	size_t n_visited;         /* nodes with a total, children first */
	int128 least;             /* total of a group that is shown */
	bool cut;                 /* something was below it */
	uint32_t n_arena;         /* nodes of groups, never moved */
	struct tree_group *stack;
	size_t n_stack, cap_stack;
	uint32_t *names;          /* string -> place in out->strings + 1 */
	struct profile *out;
	size_t cap_nodes;
};

static const struct err *
tree_init(struct tree *t)
{
	const struct err *e = scratch_grow(t->s);

	if (e != NULL)
		return e;
	t->x = &t->s->scratch;
	t->names = calloc(t->s->syms.strings.n, sizeof(*t->names));
	/* as many as there can be, but for those of a split */
	t->cap_nodes = t->s->syms.n_nodes;
	t->out->nodes = malloc(t->cap_nodes * sizeof(*t->out->nodes));
	return t->names == NULL || t->out->nodes == NULL ? err_nomem() : NULL;
}

static void
tree_clear(struct reader_scratch *x, uint32_t node)
{
	x->total[node] = 0;
	x->count[node] = x->child[node] = x->next[node] = 0;
}

static void
tree_fini(struct tree *t)
{
	for (size_t i = 0; i < t->n_visited; i++)
		tree_clear(t->x, t->x->visited[i]);
	if (t->x != NULL)
		tree_clear(t->x, 0);
	free(t->stack);
	free(t->names);
}

/* Totals in one backward pass, then lists of children, by number. */
static void
tree_link(struct tree *t)
{
	const struct sym_node *nodes = t->s->syms.nodes;
	struct reader_scratch *x = t->x;

	for (size_t i = 0; i < t->self->n_touched; i++)
		x->total[t->self->touched[i]] =
		    t->self->values[t->self->touched[i]];
	for (uint32_t i = t->s->syms.n_nodes; i-- > 1;) {
		if (x->total[i] == 0)
			continue;
		x->total[nodes[i].parent] += x->total[i];
		x->count[nodes[i].parent] += ++x->count[i];
		x->visited[t->n_visited++] = i;
	}
	for (size_t k = 0; k < t->n_visited; k++) {
		uint32_t node = x->visited[k], parent = nodes[node].parent;

		x->next[node] = x->child[parent];
		x->child[parent] = node;
	}
}

static const struct err *
tree_push(struct tree *t, const struct tree_group *g)
{
	struct tree_group *stack;
	size_t cap;

	if (t->n_stack == t->cap_stack) {
		cap = t->cap_stack ? t->cap_stack * 2 : 256;
		stack = realloc(t->stack, cap * sizeof(*stack));
		if (stack == NULL)
			return err_nomem();
		t->stack = stack;
		t->cap_stack = cap;
	}
	t->stack[t->n_stack++] = *g;
	return NULL;
}

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

static bool
tree_grow_cut(struct tree *t, size_t cap)
{
	uint32_t *grown = realloc(t->out->cut, cap * sizeof(*grown));

	if (grown == NULL)
		return false;
	memset(grown + t->cap_nodes, 0,
	    (cap - t->cap_nodes) * sizeof(*grown));
	t->out->cut = grown;
	return true;
}

static const struct err *
tree_emit(struct tree *t, const struct profile_node *node)
{
	struct profile_node *nodes;
	size_t cap;

	if (t->out->n_nodes == t->cap_nodes) {
		cap = t->cap_nodes ? t->cap_nodes * 2 : 1024;
		nodes = realloc(t->out->nodes, cap * sizeof(*nodes));
		if (nodes == NULL)
			return err_nomem();
		t->out->nodes = nodes;
		if (t->out->cut != NULL && !tree_grow_cut(t, cap))
			return err_nomem();
		t->cap_nodes = cap;
	}
	t->out->nodes[t->out->n_nodes++] = *node;
	return NULL;
}

static int
class_compare(const void *a, const void *b, void *arg)
{
	const struct tree *t = arg;
	const struct sym_node *nodes = t->s->syms.nodes;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	uint32_t x = t->s->order.frame_class[nodes[i].edge];
	uint32_t y = t->s->order.frame_class[nodes[j].edge];

	if (x != y)
		return x < y ? -1 : 1;
	return i < j ? -1 : i > j;
}

static uint32_t
tree_class(const struct tree *t, uint32_t node)
{
	return t->s->order.frame_class[t->s->syms.nodes[node].edge];
}

/* The group that ends at `end`: where it begins, and its total. */
static uint32_t
tree_group_begin(const struct tree *t, uint32_t first, uint32_t end,
    int128 *total)
{
	uint32_t begin = end - 1, class = tree_class(t, t->x->arena[begin]);

	*total = t->x->total[t->x->arena[begin]];
	while (begin > first &&
	    tree_class(t, t->x->arena[begin - 1]) == class)
		*total += t->x->total[t->x->arena[--begin]];
	return begin;
}

/* Pushes the children of a group, those that look the same as one group;
 * last first, so that they come out in order, and what is cut after all. */
static const struct err *
tree_push_groups(struct tree *t, uint32_t first, uint32_t depth,
    uint32_t parent)
{
	struct tree_group cut = {.depth = depth, .parent = parent};
	const struct err *e = NULL;
	size_t place = t->n_stack;
	uint32_t begin;
	int128 total;

	if (t->least > 0)
		e = tree_push(t, &cut); /* its place */
	for (uint32_t end = t->n_arena; end > first && e == NULL;
	     end = begin) {
		begin = tree_group_begin(t, first, end, &total);
		if (total >= t->least) {
			e = tree_push(t, &(struct tree_group){begin,
			    end - begin, depth, parent, 0, 0});
			continue;
		}
		cut.total += total;
		for (uint32_t i = begin; i < end; i++)
			cut.cut += t->x->count[t->x->arena[i]];
	}
	if (e == NULL && t->least > 0)
		t->stack[place] = cut;
	t->cut |= cut.cut > 0;
	return e;
}

static const struct err *
tree_push_children(struct tree *t, const struct tree_group *g,
    uint32_t depth, uint32_t parent)
{
	uint32_t first = t->n_arena;

	for (uint32_t i = g->first; i < g->first + g->n; i++) {
		uint32_t c = t->x->child[t->x->arena[i]];

		for (; c != 0; c = t->x->next[c])
			t->x->arena[t->n_arena++] = c;
	}
	if (t->n_arena - first > 1)
		qsort_r(t->x->arena + first, t->n_arena - first,
		    sizeof(*t->x->arena), class_compare, t);
	return t->n_arena == first ? NULL
	                           : tree_push_groups(t, first, depth, parent);
}

/* What is cut of a node's children. */
static const struct err *
tree_emit_cut(struct tree *t, const struct tree_group *g)
{
	struct profile_node node = {.name = tree_name(t, 0),
	    .module = tree_name(t, 0),
	    .kind = FRAME_MARK,
	    .depth = g->depth,
	    .parent = g->parent,
	    .self = g->total,
	    .total = g->total};

	const struct err *e = g->cut > 0 ? tree_emit(t, &node) : NULL;

	if (e == NULL && g->cut > 0)
		t->out->cut[t->out->n_nodes - 1] = g->cut;
	return e;
}

static const struct err *
tree_walk(struct tree *t)
{
	const struct err *e = NULL;

	while (t->n_stack > 0 && e == NULL) {
		struct tree_group g = t->stack[--t->n_stack];
		const struct sym_frame *f;
		struct profile_node node;

		if (g.n == 0) {
			e = tree_emit_cut(t, &g);
			continue;
		}
		f = symtab_frame(&t->s->syms,
		    t->s->syms.nodes[t->x->arena[g.first]].edge);
		node = (struct profile_node){.name = tree_name(t, f->name),
		    .module = tree_name(t, f->module),
		    .kind = (enum frame_kind)f->kind,
		    .depth = g.depth,
		    .parent = g.parent};
		for (uint32_t i = g.first; i < g.first + g.n; i++) {
			node.self += t->self->values[t->x->arena[i]];
			node.total += t->x->total[t->x->arena[i]];
		}
		e = tree_emit(t, &node);
		if (e == NULL)
			e = tree_push_children(t, &g, g.depth + 1,
			    (uint32_t)t->out->n_nodes - 1);
	}
	return e;
}

/* The subtree below some label sets: their own self values go to the node
 * that stands for them. */
static const struct err *
tree_below(struct tree *t, uint32_t first, uint32_t n, uint32_t depth,
    uint32_t parent)
{
	struct tree_group g = {first, n, depth, parent, 0, 0};
	const struct err *e = tree_push_children(t, &g, depth + 1, parent);

	for (uint32_t i = first; i < first + n; i++)
		t->out->nodes[parent].self +=
		    t->self->values[t->x->arena[i]];
	return e == NULL ? tree_walk(t) : e;
}

/* ---- splitting by a label ---- */

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

struct split_key {
	const struct tree *t;
	const char *label;
};

static uint32_t
split_value(const struct split_key *k, uint32_t node)
{
	return tree_label_value(&k->t->s->syms,
	    k->t->s->syms.nodes[node].edge, k->label);
}

static int
split_compare(const void *a, const void *b, void *arg)
{
	const struct split_key *k = arg;
	uint32_t x = split_value(k, *(const uint32_t *)a);
	uint32_t y = split_value(k, *(const uint32_t *)b);

	return x == y ? 0 : intern_compare(&k->t->s->syms.strings, x, y);
}

static const struct err *
tree_split(struct tree *t, uint32_t n, const char *label)
{
	struct split_key key = {t, label};
	const struct err *e = NULL;
	uint32_t begin, end;

	qsort_r(t->x->arena, n, sizeof(*t->x->arena), split_compare, &key);
	for (begin = 0; begin < n && e == NULL; begin = end) {
		uint32_t value = split_value(&key, t->x->arena[begin]);
		struct profile_node node = {.name = tree_name(t, value),
		    .module = tree_name(t, 0),
		    .kind = FRAME_MARK,
		    .depth = 1};

		for (end = begin; end < n &&
		     split_value(&key, t->x->arena[end]) == value; end++)
			node.total += t->x->total[t->x->arena[end]];
		e = tree_emit(t, &node);
		if (e == NULL)
			e = tree_below(t, begin, end - begin, 1,
			    (uint32_t)t->out->n_nodes - 1);
	}
	return e;
}

static const struct err *
tree_build(struct tree *t, const char *split)
{
	struct profile_node root = {.name = tree_name(t, 0),
	    .module = tree_name(t, 0),
	    .kind = FRAME_MARK,
	    .self = t->self->values[0],
	    .total = t->x->total[0]};
	const struct err *e = tree_emit(t, &root);
	uint32_t n;

	for (uint32_t c = t->x->child[0]; c != 0; c = t->x->next[c])
		t->x->arena[t->n_arena++] = c;
	n = t->n_arena;
	if (e != NULL)
		return e;
	return split ? tree_split(t, n, split) : tree_below(t, 0, n, 0, 0);
}

/* ---- the largest nodes ---- */

static int
total_compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* A heap of the k largest so far, the least of them on top. */
static void
heap_sink(uint64_t *heap, size_t k, size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1;
		uint64_t kept = heap[at];

		if (child + 1 < k && heap[child + 1] < heap[child])
			child++;
		if (child >= k || heap[child] >= kept)
			return;
		heap[at] = heap[child];
		heap[child] = kept;
		at = child;
	}
}

/*
 * The k-th largest total of a symbol node, 0 when there are fewer.  Groups
 * are fewer than nodes and never smaller: a little more than what is wanted
 * is asked for.
 */
static const struct err *
tree_least(struct tree *t, size_t k)
{
	uint64_t *heap;
	size_t filled = 0;

	t->least = 0;
	if (k == 0 || t->x->count[0] <= k)
		return NULL;
	t->out->cut = calloc(t->cap_nodes, sizeof(*t->out->cut));
	if (t->out->cut == NULL)
		return err_nomem();
	if ((heap = malloc(k * sizeof(*heap))) == NULL)
		return err_nomem();
	for (size_t i = 0; i < t->n_visited; i++) {
		int128 sum = t->x->total[t->x->visited[i]];
		uint64_t total = sum > (int128)UINT64_MAX ? UINT64_MAX
		                                          : (uint64_t)sum;

		if (filled < k) {
			heap[filled++] = total;
			if (filled == k) /* what is sorted is a heap */
				qsort(heap, k, sizeof(*heap), total_compare);
		} else if (total > heap[0]) {
			heap[0] = total;
			heap_sink(heap, k, 0);
		}
	}
	t->least = filled == k ? (int128)heap[0] : 0;
	free(heap);
	return NULL;
}

/* Empties what tree_build() has filled. */
static void
tree_again(struct tree *t)
{
	t->n_arena = 0;
	t->n_stack = 0;
	t->cut = false;
	t->out->n_nodes = 0;
	free(t->out->cut);
	t->out->cut = NULL;
	t->least = 0;
}

static const struct err *
tree_run(struct tree *t, const char *split, size_t max_nodes)
{
	const struct err *e;

	tree_link(t);
	if ((e = tree_least(t, max_nodes + max_nodes / 4)) != NULL ||
	    (e = tree_build(t, split)) != NULL)
		return e;
	if (!t->cut || t->out->n_nodes >= max_nodes + max_nodes / 8)
		return NULL;
	tree_again(t); /* too many looked the same */
	return tree_build(t, split);
}

const struct err *
profile_tree(struct store *s, const struct node_values *self,
    const char *split, size_t max_nodes, struct profile *out)
{
	struct tree t = {.s = s, .self = self, .out = out};
	const struct err *e = order_frames(s);

	if (e == NULL)
		e = tree_init(&t);
	if (e == NULL)
		e = tree_run(&t, split, max_nodes);
	if (e == NULL && out->strings.failed)
		e = err_nomem();
	for (size_t i = 0; e == NULL && i < out->n_nodes; i++) {
		const char *base = (const char *)out->strings.data - 1;

		out->nodes[i].name = base + (uintptr_t)out->nodes[i].name;
		out->nodes[i].module = base + (uintptr_t)out->nodes[i].module;
	}
	tree_fini(&t);
	return e;
}
