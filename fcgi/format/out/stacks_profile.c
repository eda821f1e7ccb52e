/*
 * One type of some stacks as the tree that people see, as the store makes
 * it of its own: label sets disappear, frames of equal name and kind become
 * one node, children are sorted by name.
 *
 * Frames are ranked by (name, kind); nodes are folded to (folded parent,
 * rank); a counting sort by rank and one by parent put children in order,
 * and a walk gives the pre-order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/stacks_private.h"
#include "store/base/err.h"
#include "store/base/intern.h"
#include "store/store.h"

struct fold {
	struct stacks_ranks ranks;
	struct map64 children;
	uint32_t *parent, *look; /* by folded node; look is a rank */
	uint32_t *first, *child; /* children of i: child[first[i]...] */
	int128 *self;
	uint32_t n;
};

/* Own units by folded node.  Parents come before their children, so that one
 * pass knows where each parent went; label sets go to the root, and what is
 * below several of them meets there. */
static const struct err *
fold_nodes(struct fold *f, const struct stacks *s, uint32_t type,
    int64_t period)
{
	size_t n = stacks_n_nodes(s);
	uint32_t *to = malloc(n * sizeof(*to));

	f->parent = calloc(n, sizeof(*f->parent));
	f->look = calloc(n, sizeof(*f->look));
	f->self = calloc(n, sizeof(*f->self));
	if (to == NULL || f->parent == NULL || f->look == NULL ||
	    f->self == NULL) {
		free(to);
		return err_nomem();
	}
	f->n = 1;
	for (uint32_t i = 0; i < n; i++) {
		struct stacks_node node;
		uint64_t key;

		stacks_get_node(s, i, &node);
		to[i] = 0;
		if (i > 0 && !node.labels) {
			key = (uint64_t)to[node.parent] << 32 |
			    f->ranks.rank[node.edge];
			to[i] = map64_get(&f->children, key);
			if (to[i] == INTERN_NONE) {
				to[i] = f->n++;
				f->parent[to[i]] = to[node.parent];
				f->look[to[i]] = f->ranks.rank[node.edge];
				if (!map64_add(&f->children, key, to[i])) {
					free(to);
					return err_nomem();
				}
			}
		}
		f->self[to[i]] += (int128)stacks_value(s, i, type) * period;
	}
	free(to);
	return NULL;
}

/* Sorts items[0..n) by key[item], stably; first[k] is where key k begins. */
static void
count_sort(const uint32_t *items, uint32_t n, const uint32_t *key,
    uint32_t n_keys, uint32_t *first, uint32_t *out)
{
	memset(first, 0, (n_keys + 1) * sizeof(*first));
	for (uint32_t i = 0; i < n; i++)
		first[key[items[i]] + 1]++;
	for (uint32_t k = 0; k < n_keys; k++)
		first[k + 1] += first[k];
	for (uint32_t i = 0; i < n; i++)
		out[first[key[items[i]]]++] = items[i];
	/* each entry is now where the next key begins */
	memmove(first + 1, first, n_keys * sizeof(*first));
	first[0] = 0;
}

static const struct err *
fold_sort(struct fold *f)
{
	uint32_t most = f->n > f->ranks.n ? f->n : f->ranks.n;
	uint32_t *items = malloc(f->n * sizeof(*items));
	uint32_t *by_rank = malloc(f->n * sizeof(*by_rank));

	f->first = malloc((most + 1) * sizeof(*f->first));
	f->child = malloc(f->n * sizeof(*f->child));
	if (items == NULL || by_rank == NULL || f->first == NULL ||
	    f->child == NULL) {
		free(items);
		free(by_rank);
		return err_nomem();
	}
	for (uint32_t i = 1; i < f->n; i++)
		items[i - 1] = i;
	count_sort(items, f->n - 1, f->look, f->ranks.n, f->first, by_rank);
	count_sort(by_rank, f->n - 1, f->parent, f->n, f->first, f->child);
	free(items);
	free(by_rank);
	return NULL;
}

/* Appends the nodes in pre-order, without recursion: a file's stacks are as
 * deep as they like.  Children stand behind their parents, so totals are added
 * up from the end. */
static const struct err *
fold_walk(const struct fold *f, struct profile *p)
{
	uint32_t *stack = malloc(f->n * sizeof(*stack));
	uint32_t *place = malloc(f->n * sizeof(*place));
	uint32_t top = 0;

	p->nodes = calloc(f->n, sizeof(*p->nodes));
	if (stack == NULL || place == NULL || p->nodes == NULL) {
		free(stack);
		free(place);
		return err_nomem();
	}
	stack[top++] = 0;
	while (top > 0) {
		uint32_t i = stack[--top];
		struct profile_node *node = &p->nodes[p->n_nodes];
		const struct frame *look = i == 0
		    ? NULL
		    : &f->ranks.frames[f->ranks.sorted[f->look[i]]];

		place[i] = (uint32_t)p->n_nodes++;
		node->name = look == NULL ? "" : look->name;
		node->module = look == NULL ? "" : look->module;
		node->kind = look == NULL ? FRAME_MARK : look->kind;
		node->parent = i == 0 ? 0 : place[f->parent[i]];
		node->depth = i == 0 ? 0 : p->nodes[node->parent].depth + 1;
		node->self = node->total = f->self[i];
		for (uint32_t k = f->first[i + 1]; k > f->first[i]; k--)
			stack[top++] = f->child[k - 1];
	}
	for (size_t i = p->n_nodes; i-- > 1;)
		p->nodes[p->nodes[i].parent].total += p->nodes[i].total;
	free(stack);
	free(place);
	return NULL;
}

/* Gives the profile strings of its own: it outlives the stacks. */
static const struct err *
profile_own(struct profile *p, const struct fold *f)
{
	size_t bytes = 1, at = 0;
	char *text;

	for (uint32_t r = 0; r < f->ranks.n && f->n > 1; r++) {
		const struct frame *look = &f->ranks.frames[f->ranks.sorted[r]];

		bytes += strlen(look->name) + strlen(look->module) + 2;
	}
	if (!buf_reserve(&p->strings, bytes))
		return err_nomem();
	text = (char *)p->strings.data;
	for (uint32_t r = 0; r < f->ranks.n && f->n > 1; r++) {
		struct frame *look = &f->ranks.frames[f->ranks.sorted[r]];

		look->name = strcpy(text + at, look->name);
		at += strlen(look->name) + 1;
		look->module = strcpy(text + at, look->module);
		at += strlen(look->module) + 1;
	}
	return NULL;
}

static void
fold_fini(struct fold *f)
{
	stacks_ranks_fini(&f->ranks);
	map64_fini(&f->children);
	free(f->parent);
	free(f->look);
	free(f->first);
	free(f->child);
	free(f->self);
}

const struct err *
stacks_profile(const struct stacks *s, uint32_t type, struct profile **out)
{
	struct fold f = {0};
	struct profile *p = calloc(1, sizeof(*p));
	struct stacks_type t;
	const struct err *e =
	    p == NULL ? err_nomem() : stacks_ranks_init(&f.ranks, s);

	stacks_get_type(s, type, &t);
	if (e == NULL)
		e = fold_nodes(&f, s, type, t.period);
	if (e == NULL)
		e = fold_sort(&f);
	if (e == NULL)
		e = profile_own(p, &f);
	if (e == NULL)
		e = fold_walk(&f, p);
	fold_fini(&f);
	if (e != NULL) {
		profile_free(p);
		return e;
	}
	stacks_range(s, &p->from_ns, &p->until_ns);
	p->period = series_sample_units(t.kind, t.unit, t.period);
	p->kind = t.kind;
	snprintf(p->unit, sizeof(p->unit), "%s", t.unit);
	p->slots = p->series = 1;
	*out = p;
	return NULL;
}
