/*
 * The dictionary of a file that is made of sealed files.  Theirs are sorted,
 * so they are merged as they stand, and nothing is looked up: strings first,
 * then, in new numbers, what is made of strings, then the call trees.
 *
 * Trees are in pre-order.  Kept is the path to the node that came out last:
 *
 *	path        {} main  run  get        numbers in the new tree
 *	next nodes            |    `- hash   of file 1: depth 4, the next
 *	                      `- put         of file 2: depth 3
 *
 * The next node of each file hangs below a node of this path, since nothing
 * comes out while one that is deeper waits.  Of the deepest the one with the
 * smallest edge is next; files that agree in depth and edge share the node.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/batch/batch_private.h"
#include "store/seal/seal_private.h"

/* The next element of a table of one file. */
struct merge_head {
	const struct batch *dict;
	const struct seal_names *to;
	uint32_t *map; /* of the table */
	uint32_t at, n;
};

struct merge {
	struct seal *s;
	struct merge_head *heads, **same;
	uint64_t *keys;         /* of the next nodes; UINT64_MAX: none */
	uint32_t *node, *stack; /* the next ones of each file */
	uint32_t path[BATCH_MAX_DEPTH + 1];
};

/* ---- what is needed of a file ---- */

static const struct err *
merge_alloc(struct seal_input *in)
{
	const struct sealed *f = in->source->file;
	size_t n[SEAL_TABLES] = {f->dict->strings.n, f->dict->n_frames,
	    f->dict->n_labels, f->dict->n_series};

	for (int i = 0; i < SEAL_TABLES; i++) {
		size_t bytes = (n[i] + 1) * sizeof(uint32_t);

		in->to.n[i] = (uint32_t)n[i];
		if ((in->to.map[i] = malloc(bytes)) == NULL)
			return err_nomem();
		memset(in->to.map[i], 0xff, bytes);
	}
	in->to.nodes = calloc(f->dict->n_nodes + 1, 1);
	in->stacks = calloc(f->n_stacks + 1, sizeof(*in->stacks));
	return in->to.nodes != NULL && in->stacks != NULL ? NULL : err_nomem();
}

/* What is needed has some number instead of INTERN_NONE until it has its
 * own. */
static void
merge_mark_string(struct seal_input *in, uint32_t string)
{
	in->to.map[SEAL_STRINGS][string] = 0;
}

static void
merge_mark_labels(struct seal_input *in, uint32_t set)
{
	const struct batch *d = in->source->file->dict;
	const struct batch_labels *l = &d->labels[set];

	if (in->to.map[SEAL_LABELS][set] == 0)
		return;
	in->to.map[SEAL_LABELS][set] = 0;
	for (uint32_t i = 2 * l->first; i < 2 * (l->first + l->n); i++)
		merge_mark_string(in, d->pairs[i]);
}

static void
merge_mark_frame(struct seal_input *in, uint32_t frame)
{
	const struct batch_frame *f = &in->source->file->dict->frames[frame];

	if (in->to.map[SEAL_FRAMES][frame] == 0)
		return;
	in->to.map[SEAL_FRAMES][frame] = 0;
	merge_mark_string(in, f->name);
	merge_mark_string(in, f->module);
	merge_mark_string(in, f->build_id);
}

/* A stack needs all nodes up to the root. */
static void
merge_mark_stack(struct seal_input *in, uint32_t node)
{
	const struct batch *d = in->source->file->dict;

	while (node != 0 && !in->to.nodes[node]) {
		const struct batch_node *n = &d->nodes[node];

		in->to.nodes[node] = 1;
		if (n->parent == 0)
			merge_mark_labels(in, n->edge);
		else
			merge_mark_frame(in, n->edge);
		node = n->parent;
	}
}

static void
merge_mark_series(struct seal_input *in, uint32_t series)
{
	const struct batch_series *s =
	    &in->source->file->dict->series[series];

	in->to.map[SEAL_SERIES][series] = 0;
	merge_mark_string(in, s->name);
	merge_mark_string(in, s->unit);
	merge_mark_labels(in, s->labels);
}

static const struct err *
merge_mark(struct seal *s, struct seal_input *in)
{
	struct sealed *f = in->source->file;
	const struct err *e = merge_alloc(in);

	if (e == NULL)
		e = seal_sieve_init(&in->sieve, f, in->source->drop,
		    s->meta->base);
	if (e != NULL)
		return e;
	for (uint32_t i = 0; i < f->n_stacks; i++)
		if (seal_sieve_stack(&in->sieve, i))
			merge_mark_stack(in, f->stack_nodes[i]);
	for (uint32_t i = 0; i < f->dict->n_series; i++)
		if (seal_sieve_series(&in->sieve, i))
			merge_mark_series(in, i);
	for (size_t i = 0; in->source->facts && i < f->dict->n_facts; i++)
		if (seal_sieve_fact(&in->sieve, &f->dict->facts[i]))
			merge_mark_string(in, f->dict->facts[i].subject);
	return NULL;
}

/* ---- tables ---- */

static int
merge_order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static uint32_t
merge_to(const struct merge_head *h, enum seal_table table, uint32_t number)
{
	return h->to->map[table][number];
}

static int
merge_compare_strings(const struct merge_head *a, const struct merge_head *b)
{
	const struct intern_item *x = &a->dict->strings.items[a->at];
	const struct intern_item *y = &b->dict->strings.items[b->at];
	int order = memcmp(a->dict->strings.bytes.data + x->first,
	    b->dict->strings.bytes.data + y->first,
	    x->len < y->len ? x->len : y->len);

	return order ? order : merge_order(x->len, y->len);
}

static bool
merge_put_string(struct batch *out, const struct merge_head *h)
{
	return intern_push(&out->strings, intern_at(&h->dict->strings, h->at),
	    h->dict->strings.items[h->at].len) != INTERN_NONE;
}

static int
merge_compare_frames(const struct merge_head *a, const struct merge_head *b)
{
	const struct batch_frame *x = &a->dict->frames[a->at];
	const struct batch_frame *y = &b->dict->frames[b->at];
	int order = merge_order(merge_to(a, SEAL_STRINGS, x->name),
	    merge_to(b, SEAL_STRINGS, y->name));

	if (order == 0)
		order = merge_order(x->kind, y->kind);
	if (order == 0)
		order = merge_order(merge_to(a, SEAL_STRINGS, x->module),
		    merge_to(b, SEAL_STRINGS, y->module));
	if (order == 0)
		order = merge_order(merge_to(a, SEAL_STRINGS, x->build_id),
		    merge_to(b, SEAL_STRINGS, y->build_id));
	return order ? order : merge_order(x->offset, y->offset);
}

static bool
merge_put_frame(struct batch *out, const struct merge_head *h)
{
	const struct batch_frame *f = &h->dict->frames[h->at];

	if (!batch_room(out, (void **)&out->frames, out->n_frames,
	        &out->index->cap_frames, sizeof(*out->frames)))
		return false;
	out->frames[out->n_frames++] = (struct batch_frame){f->kind,
	    merge_to(h, SEAL_STRINGS, f->name),
	    merge_to(h, SEAL_STRINGS, f->module),
	    merge_to(h, SEAL_STRINGS, f->build_id), f->offset};
	return true;
}

static int
merge_compare_labels(const struct merge_head *a, const struct merge_head *b)
{
	const struct batch_labels *x = &a->dict->labels[a->at];
	const struct batch_labels *y = &b->dict->labels[b->at];

	for (uint32_t i = 0; i < 2 * x->n && i < 2 * y->n; i++) {
		int order = merge_order(merge_to(a, SEAL_STRINGS,
		        a->dict->pairs[2 * x->first + i]),
		    merge_to(b, SEAL_STRINGS,
		        b->dict->pairs[2 * y->first + i]));

		if (order != 0)
			return order;
	}
	return merge_order(x->n, y->n);
}

static bool
merge_put_labels(struct batch *out, const struct merge_head *h)
{
	const struct batch_labels *l = &h->dict->labels[h->at];

	if (!batch_room(out, (void **)&out->labels, out->n_labels,
	        &out->index->cap_labels, sizeof(*out->labels)))
		return false;
	out->labels[out->n_labels++] = (struct batch_labels){
	    (uint32_t)out->n_pairs / 2, l->n};
	for (uint32_t i = 2 * l->first; i < 2 * (l->first + l->n); i++) {
		if (!batch_room(out, (void **)&out->pairs, out->n_pairs,
		        &out->index->cap_pairs, sizeof(*out->pairs)))
			return false;
		out->pairs[out->n_pairs++] =
		    merge_to(h, SEAL_STRINGS, h->dict->pairs[i]);
	}
	return true;
}

static int
merge_compare_series(const struct merge_head *a, const struct merge_head *b)
{
	const struct batch_series *x = &a->dict->series[a->at];
	const struct batch_series *y = &b->dict->series[b->at];
	int order = merge_order(merge_to(a, SEAL_STRINGS, x->name),
	    merge_to(b, SEAL_STRINGS, y->name));

	if (order == 0)
		order = merge_order(merge_to(a, SEAL_LABELS, x->labels),
		    merge_to(b, SEAL_LABELS, y->labels));
	if (order == 0)
		order = merge_order(x->kind, y->kind);
	if (order == 0)
		order = merge_order(merge_to(a, SEAL_STRINGS, x->unit),
		    merge_to(b, SEAL_STRINGS, y->unit));
	if (order == 0)
		order = merge_order((uint64_t)x->period, (uint64_t)y->period);
	return order ? order : merge_order(x->scale, y->scale);
}

static bool
merge_put_series(struct batch *out, const struct merge_head *h)
{
	const struct batch_series *s = &h->dict->series[h->at];

	if (!batch_room(out, (void **)&out->series, out->n_series,
	        &out->index->cap_series, sizeof(*out->series)))
		return false;
	out->series[out->n_series++] = (struct batch_series){s->kind, s->scale,
	    merge_to(h, SEAL_STRINGS, s->name),
	    merge_to(h, SEAL_STRINGS, s->unit),
	    merge_to(h, SEAL_LABELS, s->labels), s->period};
	return true;
}

/* As symtab.h orders them. */
static const struct merge_table {
	uint32_t first; /* 1: element 0 is the same in all */
	int (*compare)(const struct merge_head *, const struct merge_head *);
	bool (*put)(struct batch *, const struct merge_head *);
} merge_tables[SEAL_TABLES] = {
	[SEAL_STRINGS] = {1, merge_compare_strings, merge_put_string},
	[SEAL_FRAMES] = {0, merge_compare_frames, merge_put_frame},
	[SEAL_LABELS] = {1, merge_compare_labels, merge_put_labels},
	[SEAL_SERIES] = {0, merge_compare_series, merge_put_series},
};

static void
merge_skip(struct merge_head *h)
{
	while (h->at < h->n && h->map[h->at] == INTERN_NONE)
		h->at++;
}

static void
merge_begin_table(struct merge *m, enum seal_table table)
{
	for (size_t i = 0; i < m->s->n_inputs; i++) {
		const struct seal_input *in = &m->s->inputs[i];
		struct merge_head *h = &m->heads[i];

		*h = (struct merge_head){in->source->file->dict, &in->to,
		    in->to.map[table], merge_tables[table].first,
		    in->to.n[table]};
		if (h->at > 0)
			h->map[0] = 0;
		merge_skip(h);
	}
}

/* Fills same[] with the files whose next element comes first: one, or
 * several that are equal. */
static size_t
merge_next(struct merge *m, const struct merge_table *table)
{
	size_t n = 0;

	for (size_t i = 0; i < m->s->n_inputs; i++) {
		struct merge_head *h = &m->heads[i];
		int order;

		if (h->at == h->n)
			continue;
		order = n == 0 ? 0 : table->compare(h, m->same[0]);
		if (order < 0)
			n = 0;
		if (order <= 0)
			m->same[n++] = h;
	}
	return n;
}

static const struct err *
merge_one_table(struct merge *m, enum seal_table table)
{
	const struct merge_table *t = &merge_tables[table];
	uint32_t number = t->first;
	size_t n;

	merge_begin_table(m, table);
	while ((n = merge_next(m, t)) > 0) {
		if (!t->put(m->s->dict.out, m->same[0]))
			return err_nomem();
		for (size_t i = 0; i < n; i++) {
			m->same[i]->map[m->same[i]->at++] = number;
			merge_skip(m->same[i]);
		}
		number++;
	}
	return NULL;
}

/* ---- call trees ---- */

/* Goes to the next node of a file that is needed. */
static void
merge_next_node(struct merge *m, size_t i)
{
	const struct seal_input *in = &m->s->inputs[i];
	const struct batch *d = in->source->file->dict;
	const struct batch_node *n;
	uint32_t edge;

	do
		m->node[i]++;
	while (m->node[i] < d->n_nodes && !in->to.nodes[m->node[i]]);
	m->keys[i] = UINT64_MAX;
	if (m->node[i] >= d->n_nodes)
		return;
	n = &d->nodes[m->node[i]];
	edge = in->to.map[n->parent == 0 ? SEAL_LABELS : SEAL_FRAMES][n->edge];
	m->keys[i] = (uint64_t)(BATCH_MAX_DEPTH -
	    d->index->depths[m->node[i]]) << 32 | edge;
}

/* Gives the stack at the present node of a file, if there is one, the next
 * number. */
static bool
merge_take_stack(struct merge *m, size_t i)
{
	struct seal_input *in = &m->s->inputs[i];
	const struct sealed *f = in->source->file;
	bool any = false;

	while (m->stack[i] < f->n_stacks &&
	    f->stack_nodes[m->stack[i]] <= m->node[i]) {
		uint32_t stack = m->stack[i]++;

		if (f->stack_nodes[stack] < m->node[i] ||
		    !seal_sieve_stack(&in->sieve, stack))
			continue;
		in->stacks[stack] = m->s->dict.n_stacks;
		any = true;
	}
	return any;
}

static uint64_t
merge_least_key(const struct merge *m)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < m->s->n_inputs; i++)
		if (m->keys[i] < least)
			least = m->keys[i];
	return least;
}

static void
merge_nodes(struct merge *m)
{
	struct seal_dict *d = &m->s->dict;
	bool stack = false;
	uint64_t key;

	for (size_t i = 0; i < m->s->n_inputs; i++) {
		stack |= merge_take_stack(m, i); /* samples without a frame */
		merge_next_node(m, i);
	}
	if (stack)
		d->stack_nodes[d->n_stacks++] = 0;
	while ((key = merge_least_key(m)) != UINT64_MAX) {
		uint32_t depth = BATCH_MAX_DEPTH - (uint32_t)(key >> 32);
		uint32_t number = batch_code_node(d->out, m->path[depth - 1],
		    (uint32_t)key);

		m->path[depth] = number;
		stack = false;
		for (size_t i = 0; i < m->s->n_inputs; i++) {
			if (m->keys[i] != key)
				continue;
			stack |= merge_take_stack(m, i);
			merge_next_node(m, i);
		}
		if (stack)
			d->stack_nodes[d->n_stacks++] = number;
	}
}

/* Memory that is never touched is none: room for all, given back after. */
static const struct err *
merge_trees(struct merge *m)
{
	struct seal_dict *d = &m->s->dict;
	size_t stacks = 1;
	void *p;

	for (size_t i = 0; i < m->s->n_inputs; i++)
		stacks += m->s->inputs[i].source->file->n_stacks;
	d->stack_nodes = malloc(stacks * sizeof(*d->stack_nodes));
	if (d->stack_nodes == NULL)
		return err_nomem();
	merge_nodes(m);
	p = realloc(d->stack_nodes, (d->n_stacks + 1) *
	    sizeof(*d->stack_nodes));
	if (p != NULL)
		d->stack_nodes = p;
	return NULL;
}

/* ---- the whole ---- */

/* Which series of the file is which of the new one. */
static const struct err *
merge_turn_series(struct seal *s, struct seal_input *in)
{
	size_t bytes = (s->dict.out->n_series + 1) * sizeof(*in->series);

	if ((in->series = malloc(bytes)) == NULL)
		return err_nomem();
	memset(in->series, 0xff, bytes);
	for (uint32_t i = 0; i < in->to.n[SEAL_SERIES]; i++)
		if (in->to.map[SEAL_SERIES][i] != INTERN_NONE)
			in->series[in->to.map[SEAL_SERIES][i]] = i;
	return NULL;
}

static const struct err *
merge_all(struct merge *m)
{
	struct seal *s = m->s;
	const struct err *e = NULL;

	if ((s->dict.out = batch_alloc()) == NULL)
		return err_nomem();
	for (size_t i = 0; i < s->n_inputs && e == NULL; i++)
		e = merge_mark(s, &s->inputs[i]);
	for (int i = 0; i < SEAL_TABLES && e == NULL; i++)
		e = merge_one_table(m, (enum seal_table)i);
	if (e == NULL)
		e = merge_trees(m);
	for (size_t i = 0; i < s->n_inputs && e == NULL; i++)
		e = merge_turn_series(s, &s->inputs[i]);
	return e;
}

const struct err *
seal_merge(struct seal *s)
{
	struct merge *m = calloc(1, sizeof(*m));
	const struct err *e = NULL;
	size_t n = s->n_inputs + 1;

	if (m == NULL)
		return err_nomem();
	m->s = s;
	m->heads = calloc(n, sizeof(*m->heads));
	m->same = calloc(n, sizeof(*m->same));
	m->keys = calloc(n, sizeof(*m->keys));
	m->node = calloc(n, sizeof(*m->node));
	m->stack = calloc(n, sizeof(*m->stack));
	if (m->heads == NULL || m->same == NULL || m->keys == NULL ||
	    m->node == NULL || m->stack == NULL)
		e = err_nomem();
	if (e == NULL)
		e = merge_all(m);
	free(m->heads);
	free(m->same);
	free(m->keys);
	free(m->node);
	free(m->stack);
	free(m);
	return e;
}

void
seal_names_fini(struct seal_names *names)
{
	for (int i = 0; i < SEAL_TABLES; i++)
		free(names->map[i]);
	free(names->nodes);
	*names = (struct seal_names){0};
}
