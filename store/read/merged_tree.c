/*
 * Grows with the table of symbols, node by node in its order, parents first.  A
 * look is a name and a kind; once they are numbered in the order of names,
 * children sort by comparing numbers.
 */
#include "store/read/merged_tree.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/batch/symtab.h"

void
merged_tree_fini(struct merged_tree *w)
{
	free(w->nodes);
	free(w->of);
	free(w->looks);
	free(w->named);
	free(w->rank);
	free(w->sorted);
	free(w->frame_look);
	free(w->frame_home);
	map64_fini(&w->by_home);
	hashtable_fini(&w->table);
	*w = (struct merged_tree){0};
}

size_t
merged_tree_bytes(const struct merged_tree *w)
{
	return w->cap * sizeof(*w->nodes) + w->cap_of * sizeof(*w->of) +
	    w->cap_looks * sizeof(*w->looks) +
	    (w->cap_named + w->cap_rank + w->cap_sorted) *
	        sizeof(*w->named) +
	    w->cap_frames * sizeof(*w->frame_look) +
	    w->cap_homes * sizeof(*w->frame_home) +
	    w->by_home.cap * sizeof(*w->by_home.pairs) +
	    w->table.cap * sizeof(*w->table.slots);
}

/* Room for n elements of 4 bytes. */
static bool
merged_room(uint32_t **array, uint32_t *cap, uint32_t n)
{
	uint32_t *grown;
	uint32_t want = n + n / 4 + 64;

	if (n <= *cap)
		return true;
	grown = realloc(*array, want * sizeof(*grown));
	if (grown == NULL)
		return false;
	*array = grown;
	*cap = want;
	return true;
}

/* ---- looks, and their order ---- */

/* Names that nothing looks like yet. */
static bool
merged_tree_grow_names(struct merged_tree *w, const struct symtab *t)
{
	uint32_t n = t->strings.n;

	if (!merged_room(&w->named, &w->cap_named, n))
		return false;
	if (w->n_named < n)
		memset(w->named + w->n_named, 0xff,
		    (n - w->n_named) * sizeof(*w->named));
	w->n_named = n;
	return true;
}

/* INTERN_NONE when out of memory. */
static uint32_t
merged_put_look(struct merged_tree *w, const struct sym_frame *f)
{
	uint32_t look = w->named[f->name];

	while (look != INTERN_NONE && w->looks[look].kind != f->kind)
		look = w->looks[look].next;
	if (look != INTERN_NONE)
		return look;
	if (!array_room(&w->looks, w->n_looks + 1, &w->cap_looks))
		return INTERN_NONE;
	w->looks[w->n_looks] = (struct merged_look){f->name, f->kind,
	    w->named[f->name]};
	w->named[f->name] = w->n_looks;
	return w->n_looks++;
}

/* INTERN_NONE when out of memory. */
static uint32_t
merged_put_home(struct merged_tree *w, const struct sym_frame *f,
    uint32_t frame)
{
	uint64_t key = (uint64_t)f->module << 32 | f->build_id;
	uint32_t home = map64_get(&w->by_home, key);

	if (home != INTERN_NONE)
		return home;
	return map64_add(&w->by_home, key, frame) ? frame : INTERN_NONE;
}

static bool
merged_tree_grow_frames(struct merged_tree *w, const struct symtab *t)
{
	if (!merged_tree_grow_names(w, t) ||
	    !merged_room(&w->frame_look, &w->cap_frames, t->frames.n) ||
	    (w->by_module &&
	    !merged_room(&w->frame_home, &w->cap_homes, t->frames.n)))
		return false;
	for (; w->n_frames < t->frames.n; w->n_frames++) {
		const struct sym_frame *f = symtab_frame(t, w->n_frames);
		uint32_t look = merged_put_look(w, f), home = 0;

		if (w->by_module)
			home = merged_put_home(w, f, w->n_frames);
		if (look == INTERN_NONE || home == INTERN_NONE)
			return false;
		w->frame_look[w->n_frames] = look;
		if (w->by_module)
			w->frame_home[w->n_frames] = home;
	}
	return true;
}

int
merged_tree_compare(const struct merged_tree *w, const struct symtab *t,
    uint32_t a, uint32_t b)
{
	const struct merged_look *x = &w->looks[a], *y = &w->looks[b];

	if (x->name != y->name)
		return intern_compare(&t->strings, x->name, y->name);
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

struct merged_order {
	const struct merged_tree *w;
	const struct symtab *t;
};

static int
merged_compare(const void *a, const void *b, void *arg)
{
	const struct merged_order *o = arg;

	return merged_tree_compare(o->w, o->t, *(const uint32_t *)a,
	    *(const uint32_t *)b);
}

/* Sorts the new looks and merges them, from the end, with the old ones. */
const struct err *
merged_tree_sort(struct merged_tree *w, const struct symtab *t)
{
	struct merged_order order = {w, t};
	uint32_t n = w->n_looks - w->n_sorted, old = w->n_sorted, *new;

	if (n == 0)
		return NULL;
	if (!merged_room(&w->rank, &w->cap_rank, w->n_looks) ||
	    !merged_room(&w->sorted, &w->cap_sorted, w->n_looks) ||
	    (new = malloc(n * sizeof(*new))) == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < n; i++)
		new[i] = old + i;
	qsort_r(new, n, sizeof(*new), merged_compare, &order);
	for (uint32_t to = w->n_looks; n > 0;) {
		bool from_old = old > 0 && merged_compare(&w->sorted[old - 1],
		                               &new[n - 1], &order) > 0;

		w->sorted[--to] = from_old ? w->sorted[--old] : new[--n];
	}
	free(new);
	w->n_sorted = w->n_looks;
	for (uint32_t i = 0; i < w->n_sorted; i++)
		w->rank[w->sorted[i]] = i;
	return NULL;
}

/* ---- nodes ---- */

static uint32_t
merged_hash(uint32_t parent, uint32_t look)
{
	uint64_t h = ((uint64_t)parent << 32 | look) * 0x9fb21c651e98df25u;

	return (uint32_t)(h >> 32 ^ h);
}

static uint32_t
merged_node_hash(const void *nodes, uint32_t i)
{
	const struct merged_node *n = (const struct merged_node *)nodes + i;

	return merged_hash(n->parent, n->look);
}

static bool
merged_room_node(struct merged_tree *w)
{
	struct merged_node *nodes;
	uint32_t cap = w->cap ? w->cap + w->cap / 2 : 1024;

	if (!hashtable_room(&w->table, w->n, merged_node_hash, w->nodes))
		return false;
	if (w->n < w->cap)
		return true;
	nodes = realloc(w->nodes, cap * sizeof(*nodes));
	if (nodes == NULL)
		return false;
	w->nodes = nodes;
	w->cap = cap;
	return true;
}

/* INTERN_NONE when out of memory. */
static uint32_t
merged_put(
    struct merged_tree *w, uint32_t parent, uint32_t look, uint32_t module)
{
	uint32_t hash = merged_hash(parent, look);

	hashtable_each(i, &w->table, hash) {
		struct merged_node *node = &w->nodes[i];

		if (parent + 1 == w->n)
			break; /* nothing is below the newest */
		if (node->parent != parent || node->look != look ||
		    (w->by_module && node->module != module))
			continue;
		if (node->module != module)
			node->module = MERGED_MIXED;
		return i;
	}
	if (!merged_room_node(w))
		return INTERN_NONE;
	w->nodes[w->n] = (struct merged_node){parent, look, module};
	hashtable_add(&w->table, hash, w->n);
	return w->n++;
}

void
merged_tree_rest(struct merged_tree *w)
{
	hashtable_fini(&w->table);
}

/* Finds again what a rest has left, all but the root, for what has come
 * since. */
static bool
merged_tree_index(struct merged_tree *w, const struct symtab *t)
{
	if (w->table.cap > 0 || w->n < 2 || w->n_of == t->n_nodes)
		return true;
	if (!hashtable_room(&w->table, w->n, merged_node_hash, w->nodes))
		return false;
	for (uint32_t i = 1; i < w->n; i++)
		hashtable_add(&w->table, merged_node_hash(w->nodes, i), i);
	return true;
}

static bool
merged_tree_grow_nodes(struct merged_tree *w, const struct symtab *t)
{
	if (!merged_room(&w->of, &w->cap_of, t->n_nodes) ||
	    (w->n == 0 && !merged_room_node(w)))
		return false;
	if (w->n == 0)
		w->nodes[w->n++] = (struct merged_node){0, 0, 0};
	for (; w->n_of < t->n_nodes; w->n_of++) {
		const struct sym_node *n = &t->nodes[w->n_of];
		uint32_t node = 0; /* the root, and the label sets */

		if (w->n_of > 0 && n->parent != 0)
			node = merged_put(w, w->of[n->parent],
			    w->frame_look[n->edge], w->by_module
			    ? w->frame_home[n->edge]
			    : symtab_frame(t, n->edge)->module);
		if (node == INTERN_NONE)
			return false;
		w->of[w->n_of] = node;
	}
	return true;
}

const struct err *
merged_tree_grow(struct merged_tree *w, const struct symtab *t)
{
	return merged_tree_grow_frames(w, t) && merged_tree_index(w, t) &&
	    merged_tree_grow_nodes(w, t) ? NULL : err_nomem();
}
