/*
 * The memory that queries of profiles leave to the next one.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/read/reader.h"

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
scratch_drop_values(struct reader_scratch *x)
{
	node_values_fini(&x->sum);
	node_values_fini(&x->one);
	node_values_fini(&x->slot);
	node_values_fini(&x->samples);
	node_values_fini(&x->unknown);
	x->cap = 0;
}

void
scratch_fini(struct reader_scratch *x)
{
	scratch_drop_values(x);
	free(x->seen);
	free(x->sets);
	free(x->shown);
	free(x->visited);
	*x = (struct reader_scratch){0};
}

size_t
scratch_bytes(const struct reader_scratch *x)
{
	size_t values = x->sum.cap + x->one.cap + x->slot.cap +
	    x->samples.cap + x->unknown.cap;

	return values * (sizeof(int128) + sizeof(uint32_t)) +
	    x->cap * sizeof(*x->sets) + x->cap / 8 +
	    x->cap_shown * (sizeof(*x->shown) + sizeof(*x->visited));
}

void
scratch_drop_parts(struct reader_scratch *x)
{
	node_values_fini(&x->one);
	node_values_fini(&x->slot);
}

/* What parts of a sum are added up in. */
static const struct err *
scratch_alloc_parts(struct reader_scratch *x, size_t n)
{
	const struct err *e = node_values_init(&x->one, n);

	return e == NULL ? node_values_init(&x->slot, n) : e;
}

static const struct err *
scratch_alloc(struct reader_scratch *x, size_t n)
{
	const struct err *e = node_values_init(&x->sum, n);

	if (e == NULL)
		e = scratch_alloc_parts(x, n);
	x->seen = calloc(n / 64 + 1, sizeof(*x->seen));
	x->sets = malloc(n * sizeof(*x->sets));
	if (e == NULL && (x->seen == NULL || x->sets == NULL))
		e = err_nomem();
	x->cap = n;
	return e;
}

const struct err *
scratch_samples(struct store *s)
{
	struct reader_scratch *x = &s->scratch;
	const struct err *e;

	if (x->samples.cap >= x->cap && x->unknown.cap >= x->cap)
		return NULL;
	node_values_fini(&x->samples);
	node_values_fini(&x->unknown);
	e = node_values_init(&x->samples, x->cap);
	return e == NULL ? node_values_init(&x->unknown, x->cap) : e;
}

/* Nothing of a query is in it when it grows: it need not be kept. */
static const struct err *
scratch_alloc_shown(struct reader_scratch *x, size_t n)
{
	free(x->shown);
	free(x->visited);
	x->shown = calloc(n, sizeof(*x->shown));
	x->visited = malloc(n * sizeof(*x->visited));
	x->cap_shown = n;
	if (x->shown != NULL && x->visited != NULL)
		return NULL;
	free(x->shown);
	x->shown = NULL;
	x->cap_shown = 0;
	return err_nomem();
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
	size_t n = s->syms.n_nodes;
	const struct err *e = NULL;

	if (n > x->cap) {
		scratch_fini(x);
		e = scratch_alloc(x, n + n / 4);
	} else if (x->one.cap < x->cap) {
		e = scratch_alloc_parts(x, x->cap);
	}
	if (e != NULL) {
		scratch_fini(x);
		return e;
	}
	scratch_find_sets(x, &s->syms);
	return NULL;
}

const struct err *
scratch_grow_shown(struct store *s)
{
	size_t n = s->shown.n > s->by_module.n ? s->shown.n : s->by_module.n;

	return n > s->scratch.cap_shown
	    ? scratch_alloc_shown(&s->scratch, n + n / 4) : NULL;
}
