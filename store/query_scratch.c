/*
 * The memory that queries of profiles leave to the next one.
 */
#include "reader.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

const struct err *
node_values_init(struct node_values *v, size_t n)
{
	v->values = calloc(n + 1, sizeof(*v->values));
	v->touched = malloc((n + 1) * sizeof(*v->touched));
	v->n_touched = 0;
	v->cap = n;
	if (v->values != NULL && v->touched != NULL)
		return NULL;
	node_values_fini(v);
	return err_nomem();
}

void
node_values_fini(struct node_values *v)
{
	free(v->values);
	free(v->touched);
	*v = (struct node_values){0};
}

void
node_values_clear(struct node_values *v)
{
	for (size_t i = 0; i < v->n_touched; i++)
		v->values[v->touched[i]] = 0;
	v->n_touched = 0;
}

void
scratch_fini(struct reader_scratch *x)
{
	node_values_fini(&x->sum);
	node_values_fini(&x->one);
	node_values_fini(&x->slot);
	free(x->total);
	free(x->count);
	free(x->child);
	free(x->next);
	free(x->arena);
	free(x->visited);
	free(x->sets);
	*x = (struct reader_scratch){0};
}

size_t
scratch_bytes(const struct reader_scratch *x)
{
	return x->cap * (4 * sizeof(int128) + 9 * sizeof(uint32_t));
}

static const struct err *
scratch_alloc(struct reader_scratch *x, size_t n)
{
	const struct err *e = node_values_init(&x->sum, n);

	if (e == NULL)
		e = node_values_init(&x->one, n);
	if (e == NULL)
		e = node_values_init(&x->slot, n);
	x->total = calloc(n, sizeof(*x->total));
	x->count = calloc(n, sizeof(*x->count));
	x->child = calloc(n, sizeof(*x->child));
	x->next = calloc(n, sizeof(*x->next));
	x->arena = malloc(n * sizeof(*x->arena));
	x->visited = malloc(n * sizeof(*x->visited));
	x->sets = malloc(n * sizeof(*x->sets));
	if (e == NULL && (x->total == NULL || x->count == NULL ||
	        x->child == NULL || x->next == NULL || x->arena == NULL ||
	        x->visited == NULL || x->sets == NULL))
		e = err_nomem();
	return e;
}

/* A parent comes before its children. */
static void
scratch_find_sets(struct reader_scratch *x, const struct symtab *t)
{
	for (size_t i = x->n_sets; i < t->n_nodes; i++) {
		const struct sym_node *n = &t->nodes[i];

		if (i == 0)
			x->sets[i] = 0;
		else
			x->sets[i] = n->parent == 0 ? n->edge
			                            : x->sets[n->parent];
	}
	x->n_sets = t->n_nodes;
}

const struct err *
scratch_grow(struct store *s)
{
	struct reader_scratch *x = &s->scratch;
	const struct err *e;
	size_t n = s->syms.n_nodes;

	if (n > x->cap) {
		scratch_fini(x);
		n += n / 4;
		if ((e = scratch_alloc(x, n)) != NULL) {
			scratch_fini(x);
			return e;
		}
		x->cap = n;
	}
	scratch_find_sets(x, &s->syms);
	return NULL;
}
