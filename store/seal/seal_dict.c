/*
 * Marks what is used, orders it, and writes it as a batch's dictionary: strings
 * by their bytes (prefixes are shared), the call tree in pre-order, so that
 * numbers follow from the content and not from the order of arrival.
 */
#include "store/seal/seal_dict.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/batch/batch_private.h"

/* Orders of symbol numbers, and their inverses (INTERN_NONE: not used). */
struct seal_order {
	uint32_t *order, *map;
	uint32_t n;
};

void
seal_dict_fini(struct seal_dict *d)
{
	batch_free(d->out);
	free(d->stack_used);
	free(d->series_used);
	free(d->string_used);
	free(d->string_map);
	free(d->series_map);
	free(d->stack_map);
	free(d->stack_nodes);
	*d = (struct seal_dict){0};
}

const struct err *
seal_dict_mark_begin(struct seal_dict *d, struct symtab *syms)
{
	d->syms = syms;
	d->stack_used = calloc(syms->n_nodes + 1, 1);
	d->series_used = calloc(syms->series.n + 1, 1);
	d->string_used = calloc(syms->strings.n + 1, 1);
	if (d->stack_used == NULL || d->series_used == NULL ||
	    d->string_used == NULL)
		return err_nomem();
	d->string_used[0] = 1;
	return NULL;
}

static int
compare_strings(const void *a, const void *b, void *syms)
{
	const struct symtab *t = syms;

	return intern_compare(&t->strings, *(const uint32_t *)a,
	    *(const uint32_t *)b);
}

static int
compare_frames(const void *a, const void *b, void *syms)
{
	return symtab_compare_frames(syms, *(const uint32_t *)a,
	    *(const uint32_t *)b);
}

static int
compare_labels(const void *a, const void *b, void *syms)
{
	return symtab_compare_labels(syms, *(const uint32_t *)a,
	    *(const uint32_t *)b);
}

static int
compare_series(const void *a, const void *b, void *syms)
{
	return symtab_compare_series(syms, *(const uint32_t *)a,
	    *(const uint32_t *)b);
}

static void
seal_order_fini(struct seal_order *o)
{
	free(o->order);
	free(o->map);
}

static const struct err *
seal_order_make(struct seal_order *o, const uint8_t *used, uint32_t n,
    int (*compare)(const void *, const void *, void *), struct symtab *syms)
{
	o->n = 0;
	o->order = malloc((n + 1) * sizeof(*o->order));
	o->map = malloc((n + 1) * sizeof(*o->map));
	if (o->order == NULL || o->map == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < n; i++) {
		o->map[i] = INTERN_NONE;
		if (used[i])
			o->order[o->n++] = i;
	}
	qsort_r(o->order, o->n, sizeof(*o->order), compare, syms);
	for (uint32_t i = 0; i < o->n; i++)
		o->map[o->order[i]] = i;
	return NULL;
}

/* What the marked stacks and series need. */
struct seal_marks {
	uint8_t *nodes, *frames, *labels;
	struct seal_order strings, frame, label;
	uint32_t *first, *next; /* call tree: first child, next sibling */
};

static void
seal_mark_labels(struct seal_dict *d, struct seal_marks *m, uint32_t set)
{
	const uint32_t *pairs = intern_at(&d->syms->labels, set);

	if (m->labels[set])
		return;
	m->labels[set] = 1;
	for (size_t i = 0; i < 2 * symtab_n_labels(d->syms, set); i++)
		d->string_used[pairs[i]] = 1;
}

static void
seal_mark_frame(struct seal_dict *d, struct seal_marks *m, uint32_t frame)
{
	const struct sym_frame *f = symtab_frame(d->syms, frame);

	if (m->frames[frame])
		return;
	m->frames[frame] = 1;
	d->string_used[f->name] = 1;
	d->string_used[f->module] = 1;
	d->string_used[f->build_id] = 1;
}

/* A stack needs all nodes up to the root. */
static void
seal_mark_stack(struct seal_dict *d, struct seal_marks *m, uint32_t node)
{
	while (node != 0 && !m->nodes[node]) {
		const struct sym_node *n = &d->syms->nodes[node];

		m->nodes[node] = 1;
		if (n->parent == 0)
			seal_mark_labels(d, m, n->edge);
		else
			seal_mark_frame(d, m, n->edge);
		node = n->parent;
	}
}

static void
seal_mark_all(struct seal_dict *d, struct seal_marks *m)
{
	for (uint32_t i = 1; i < d->syms->n_nodes; i++) {
		if (d->stack_used[i])
			seal_mark_stack(d, m, i);
	}
	for (uint32_t i = 0; i < d->syms->series.n; i++) {
		const struct sym_series *s = symtab_series(d->syms, i);

		if (!d->series_used[i])
			continue;
		d->string_used[s->name] = 1;
		d->string_used[s->unit] = 1;
		seal_mark_labels(d, m, s->labels);
	}
	m->nodes[0] = 1;
	m->labels[0] = 1;
}

static uint32_t
seal_edge(const struct seal_marks *m, const struct sym_node *n)
{
	return n->parent == 0 ? m->label.map[n->edge] : m->frame.map[n->edge];
}

/* The nodes that are needed, by edge (a counting sort); returns how many. */
static uint32_t
seal_sort_nodes(const struct seal_dict *d, const struct seal_marks *m,
    uint32_t *at, uint32_t edges, uint32_t *sorted)
{
	const struct sym_node *nodes = d->syms->nodes;
	uint32_t n = d->syms->n_nodes;

	for (uint32_t i = 1; i < n; i++)
		if (m->nodes[i])
			at[seal_edge(m, &nodes[i]) + 1]++;
	for (uint32_t i = 0; i < edges; i++)
		at[i + 1] += at[i];
	for (uint32_t i = 1; i < n; i++)
		if (m->nodes[i])
			sorted[at[seal_edge(m, &nodes[i])]++] = i;
	return at[edges];
}

/*
 * Children in the order of their edges without comparing: walk all nodes
 * from the highest edge to the lowest and push each to the front of its
 * parent's list.
 */
static const struct err *
seal_link(struct seal_dict *d, struct seal_marks *m)
{
	uint32_t n = d->syms->n_nodes, edges = m->frame.n + m->label.n;
	uint32_t *at = calloc(edges + 1, sizeof(*at));
	uint32_t *sorted = malloc((n + 1) * sizeof(*sorted));
	bool fine;

	m->first = calloc(n + 1, sizeof(*m->first));
	m->next = calloc(n + 1, sizeof(*m->next));
	fine = at != NULL && sorted != NULL && m->first != NULL &&
	    m->next != NULL;
	for (uint32_t i = fine ? seal_sort_nodes(d, m, at, edges, sorted) : 0;
	    i-- > 0;) {
		uint32_t node = sorted[i];
		uint32_t parent = d->syms->nodes[node].parent;

		m->next[node] = m->first[parent];
		m->first[parent] = node;
	}
	free(at);
	free(sorted);
	return fine ? NULL : err_nomem();
}

/* ---- the sorted dictionary as a batch ---- */

static const struct err *
seal_put_strings(struct seal_dict *d, const struct seal_marks *m)
{
	for (uint32_t i = 1; i < m->strings.n; i++) {
		uint32_t s = m->strings.order[i];

		if (intern_push(&d->out->strings,
		        intern_at(&d->syms->strings, s),
		        d->syms->strings.items[s].len) == INTERN_NONE)
			return err_nomem();
	}
	return NULL;
}

static const struct err *
seal_put_frames(struct seal_dict *d, const struct seal_marks *m)
{
	const uint32_t *map = m->strings.map;

	d->out->frames = calloc(m->frame.n + 1, sizeof(*d->out->frames));
	if (d->out->frames == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < m->frame.n; i++) {
		const struct sym_frame *f =
		    symtab_frame(d->syms, m->frame.order[i]);

		d->out->frames[i] = (struct batch_frame){(uint8_t)f->kind,
		    map[f->name], map[f->module], map[f->build_id], f->offset};
	}
	d->out->n_frames = m->frame.n;
	return NULL;
}

static const struct err *
seal_put_labels(struct seal_dict *d, const struct seal_marks *m)
{
	struct batch *b = d->out;

	for (uint32_t i = 1; i < m->label.n; i++) {
		uint32_t set = m->label.order[i];
		const uint32_t *pairs = intern_at(&d->syms->labels, set);
		size_t n = symtab_n_labels(d->syms, set);

		if (!batch_room(b, (void **)&b->labels, b->n_labels,
		        &b->index->cap_labels, sizeof(*b->labels)))
			return err_nomem();
		b->labels[b->n_labels++] = (struct batch_labels){
		    (uint32_t)b->n_pairs / 2, (uint32_t)n};
		for (size_t p = 0; p < 2 * n; p++) {
			if (!batch_room(b, (void **)&b->pairs, b->n_pairs,
			        &b->index->cap_pairs, sizeof(*b->pairs)))
				return err_nomem();
			b->pairs[b->n_pairs++] = m->strings.map[pairs[p]];
		}
	}
	return NULL;
}

static const struct err *
seal_put_series(struct seal_dict *d, const struct seal_marks *m,
    const struct seal_order *order)
{
	d->out->series = calloc(order->n + 1, sizeof(*d->out->series));
	if (d->out->series == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < order->n; i++) {
		const struct sym_series *s =
		    symtab_series(d->syms, order->order[i]);

		d->out->series[i] = (struct batch_series){(uint8_t)s->kind,
		    (uint8_t)s->scale, m->strings.map[s->name],
		    m->strings.map[s->unit], m->label.map[s->labels],
		    s->period};
	}
	d->out->n_series = order->n;
	return NULL;
}

/* The number of a node that has a value of its own is that of a stack. */
static void
seal_put_stack(struct seal_dict *d, uint32_t node, uint32_t number)
{
	d->stack_map[node] = d->n_stacks;
	d->stack_nodes[d->n_stacks++] = number;
}

/* The numbers of a node and of all above it. */
struct seal_path {
	uint32_t *numbers, cap, depth;
};

/* Goes down to a child, or to the next one of the node or of those above it;
 * 0: that was all. */
static uint32_t
seal_next_node(const struct seal_dict *d, const struct seal_marks *m,
    struct seal_path *p, uint32_t node, uint32_t child)
{
	if (child != 0) {
		p->depth++;
		return child;
	}
	for (; node != 0 && m->next[node] == 0; p->depth--)
		node = d->syms->nodes[node].parent;
	return node == 0 ? 0 : m->next[node];
}

/*
 * Pre-order; numbers stacks on the way.  A node's first child is asked for
 * once: the place then holds the number of its stack.
 */
static const struct err *
seal_walk(struct seal_dict *d, struct seal_marks *m, struct seal_path *p)
{
	uint32_t child = m->first[0], node = 0, number;

	if (!array_room(&p->numbers, 1, &p->cap))
		return err_nomem();
	p->numbers[0] = 0;
	d->stack_map = m->first;
	m->first = NULL;
	if (d->stack_used[0]) /* samples without any frame */
		seal_put_stack(d, 0, 0);
	while ((node = seal_next_node(d, m, p, node, child)) != 0) {
		if (!array_room(&p->numbers, p->depth + 1, &p->cap))
			return err_nomem();
		number = batch_code_node(d->out, p->numbers[p->depth - 1],
		    seal_edge(m, &d->syms->nodes[node]));
		p->numbers[p->depth] = number;
		child = d->stack_map[node];
		if (d->stack_used[node])
			seal_put_stack(d, node, number);
	}
	return NULL;
}

static const struct err *
seal_put_nodes(struct seal_dict *d, struct seal_marks *m)
{
	struct seal_path path = {0};
	const struct err *e;
	size_t stacks = 0;

	free(m->nodes);
	m->nodes = NULL;
	for (uint32_t i = 0; i < d->syms->n_nodes; i++)
		stacks += d->stack_used[i];
	d->stack_nodes = malloc((stacks + 1) * sizeof(*d->stack_nodes));
	e = d->stack_nodes == NULL ? err_nomem() : seal_walk(d, m, &path);
	free(path.numbers);
	return e;
}

static const struct err *
seal_sort_tables(struct seal_dict *d, struct seal_marks *m,
    struct seal_order *series)
{
	struct symtab *t = d->syms;
	const struct err *e;

	m->nodes = calloc(t->n_nodes + 1, 1);
	m->frames = calloc(t->frames.n + 1, 1);
	m->labels = calloc(t->labels.n + 1, 1);
	if (m->nodes == NULL || m->frames == NULL || m->labels == NULL)
		return err_nomem();
	seal_mark_all(d, m);
	e = seal_order_make(&m->strings, d->string_used, t->strings.n,
	    compare_strings, t);
	if (e == NULL)
		e = seal_order_make(&m->frame, m->frames, t->frames.n,
		    compare_frames, t);
	if (e == NULL)
		e = seal_order_make(&m->label, m->labels, t->labels.n,
		    compare_labels, t);
	if (e == NULL)
		e = seal_order_make(series, d->series_used, t->series.n,
		    compare_series, t);
	return e == NULL ? seal_link(d, m) : e;
}

const struct err *
seal_dict_sort(struct seal_dict *d)
{
	struct seal_marks m = {0};
	struct seal_order series = {0};
	const struct err *e = seal_sort_tables(d, &m, &series);

	if (e == NULL && (d->out = batch_alloc()) == NULL)
		e = err_nomem();
	if (e == NULL)
		e = seal_put_strings(d, &m);
	if (e == NULL)
		e = seal_put_frames(d, &m);
	if (e == NULL)
		e = seal_put_labels(d, &m);
	if (e == NULL)
		e = seal_put_series(d, &m, &series);
	if (e == NULL && d->last) {
		intern_fini(&d->syms->strings);
		intern_fini(&d->syms->frames);
	}
	if (e == NULL)
		e = seal_put_nodes(d, &m);
	if (e == NULL && d->last)
		symtab_fini(d->syms);
	d->series_map = series.map;
	free(series.order);
	d->string_map = m.strings.map;
	m.strings.map = NULL;
	seal_order_fini(&m.strings);
	seal_order_fini(&m.frame);
	seal_order_fini(&m.label);
	free(m.nodes);
	free(m.frames);
	free(m.labels);
	free(m.first);
	free(m.next);
	return e;
}
