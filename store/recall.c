#include "recall.h"

#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void
recall_fini(struct recall *r)
{
	symtab_fini(&r->syms);
	fingerprint_map_fini(&r->stacks);
	fingerprint_map_fini(&r->series);
	free(r->room);
	*r = (struct recall){0};
}

size_t
recall_bytes(const struct recall *r)
{
	return symtab_bytes(&r->syms) + ((size_t)r->stacks.cap +
	    r->series.cap) * sizeof(struct fingerprint_entry);
}

const struct err *
recall_clear(struct recall *r)
{
	recall_fini(r);
	if (!fingerprint_key_init(&r->key))
		return err_new(ERR_ERRNO, EAGAIN, "no random bytes");
	return symtab_init_unhashed(&r->syms);
}

/* ---- fingerprints ---- */

/* Room for those of a batch, and for the numbers. */
static bool
recall_room(struct recall *r, const struct batch *b)
{
	size_t prints = b->strings.n + b->n_frames + b->n_labels + b->n_nodes;
	size_t bytes = prints * sizeof(struct fingerprint) +
	    (prints + b->n_series) * sizeof(uint32_t);
	uint32_t *to;

	if (bytes > r->room_bytes) {
		free(r->room);
		r->room_bytes = 0;
		if ((r->room = malloc(bytes)) == NULL)
			return false;
		r->room_bytes = bytes;
	}
	r->f_strings = r->room;
	r->f_frames = r->f_strings + b->strings.n;
	r->f_labels = r->f_frames + b->n_frames;
	r->f_nodes = r->f_labels + b->n_labels;
	to = (uint32_t *)(r->f_nodes + b->n_nodes);
	memset(to, 0xff, (prints + b->n_series) * sizeof(*to));
	r->to.strings = to;
	r->to.frames = r->to.strings + b->strings.n;
	r->to.labels = r->to.frames + b->n_frames;
	r->to.nodes = r->to.labels + b->n_labels;
	r->to.series = r->to.nodes + b->n_nodes;
	return true;
}

static inline struct fingerprint
recall_join(const struct recall *r, struct fingerprint f,
    struct fingerprint next)
{
	return fingerprint_add(&r->key, f, next.a, next.b);
}

static void
recall_print_names(struct recall *r, const struct batch *b)
{
	for (uint32_t i = 0; i < b->strings.n; i++)
		r->f_strings[i] = fingerprint_bytes(&r->key,
		    intern_at(&b->strings, i), b->strings.items[i].len);
	for (size_t i = 0; i < b->n_frames; i++) {
		const struct batch_frame *k = &b->frames[i];
		struct fingerprint f = fingerprint_add(&r->key,
		    r->f_strings[k->name], k->offset, k->kind);

		f = recall_join(r, f, r->f_strings[k->module]);
		r->f_frames[i] = recall_join(r, f, r->f_strings[k->build_id]);
	}
	for (size_t i = 0; i < b->n_labels; i++) {
		const struct batch_labels *set = &b->labels[i];
		const uint32_t *pair = &b->pairs[2 * set->first];
		struct fingerprint f = {set->n, 0};

		for (uint32_t p = 0; p < 2 * set->n; p++)
			f = recall_join(r, f, r->f_strings[pair[p]]);
		r->f_labels[i] = f;
	}
}

/* A stack's is its parent's and that of its frame, all the way up. */
static void
recall_print_nodes(struct recall *r, const struct batch *b)
{
	r->f_nodes[0] = (struct fingerprint){0, 0};
	for (size_t i = 1; i < b->n_nodes; i++) {
		const struct batch_node *n = &b->nodes[i];

		r->f_nodes[i] = recall_join(r, r->f_nodes[n->parent],
		    n->parent == 0 ? r->f_labels[n->edge]
		                   : r->f_frames[n->edge]);
	}
}

const struct err *
recall_batch(struct recall *r, const struct batch *b)
{
	if (!recall_room(r, b))
		return err_nomem();
	r->b = b;
	recall_print_names(r, b);
	recall_print_nodes(r, b);
	return NULL;
}

/* ---- what is new: looked up by its bytes ---- */

uint32_t
recall_string(struct recall *r, uint32_t string)
{
	uint32_t *to = &r->to.strings[string];

	if (*to == INTERN_NONE)
		*to = intern_put(&r->syms.strings,
		    intern_at(&r->b->strings, string),
		    r->b->strings.items[string].len);
	return *to;
}

static uint32_t
recall_frame(struct recall *r, uint32_t frame)
{
	const struct batch_frame *f = &r->b->frames[frame];
	uint32_t *to = &r->to.frames[frame];
	struct sym_frame key;

	if (*to != INTERN_NONE)
		return *to;
	key = (struct sym_frame){f->offset, f->kind,
	    recall_string(r, f->name), recall_string(r, f->module),
	    recall_string(r, f->build_id)};
	if (key.name != INTERN_NONE && key.module != INTERN_NONE &&
	    key.build_id != INTERN_NONE)
		*to = intern_put(&r->syms.frames, &key, sizeof(key));
	return *to;
}

static uint32_t
recall_labels(struct recall *r, uint32_t set)
{
	const struct batch_labels *l = &r->b->labels[set];
	uint32_t *to = &r->to.labels[set], key[2 * BATCH_MAX_LABELS];

	if (*to != INTERN_NONE)
		return *to;
	for (uint32_t p = 0; p < 2 * l->n; p++) {
		key[p] = recall_string(r, r->b->pairs[2 * l->first + p]);
		if (key[p] == INTERN_NONE)
			return INTERN_NONE;
	}
	return *to = intern_put(&r->syms.labels, key,
	           2 * l->n * sizeof(*key));
}

static uint32_t
recall_new_node(struct recall *r, uint32_t node)
{
	uint32_t path[BATCH_MAX_DEPTH + 1], n = 0, parent, edge;

	r->to.nodes[0] = 0;
	while (r->to.nodes[node] == INTERN_NONE) {
		path[n++] = node;
		node = r->b->nodes[node].parent;
	}
	parent = r->to.nodes[node];
	while (n-- > 0 && parent != INTERN_NONE) {
		const struct batch_node *k = &r->b->nodes[path[n]];

		edge = k->parent == 0 ? recall_labels(r, k->edge)
		                      : recall_frame(r, k->edge);
		parent = edge == INTERN_NONE
		    ? INTERN_NONE
		    : symtab_put_node(&r->syms, parent, edge);
		r->to.nodes[path[n]] = parent;
	}
	return parent;
}

uint32_t
recall_node(struct recall *r, uint32_t node)
{
	uint32_t to = r->to.nodes[node];

	if (to != INTERN_NONE)
		return to;
	to = fingerprint_map_get(&r->stacks, r->f_nodes[node]);
	if (to != INTERN_NONE)
		return r->to.nodes[node] = to;
	to = recall_new_node(r, node);
	if (to == INTERN_NONE ||
	    !fingerprint_map_add(&r->stacks, r->f_nodes[node], to))
		return INTERN_NONE;
	return to;
}

static uint32_t
recall_new_series(struct recall *r, uint32_t series)
{
	const struct batch_series *s = &r->b->series[series];
	struct sym_series key = {s->period, s->kind, s->scale,
	    recall_string(r, s->name), recall_string(r, s->unit),
	    recall_labels(r, s->labels), 0};

	if (key.name == INTERN_NONE || key.unit == INTERN_NONE ||
	    key.labels == INTERN_NONE)
		return INTERN_NONE;
	return intern_put(&r->syms.series, &key, sizeof(key));
}

uint32_t
recall_series(struct recall *r, uint32_t series)
{
	const struct batch_series *s = &r->b->series[series];
	uint32_t *to = &r->to.series[series];
	struct fingerprint f;

	if (*to != INTERN_NONE)
		return *to;
	f = fingerprint_add(&r->key, r->f_strings[s->name],
	    (uint64_t)s->period, (uint64_t)s->kind << 8 | s->scale);
	f = recall_join(r, f, r->f_strings[s->unit]);
	f = recall_join(r, f, r->f_labels[s->labels]);
	*to = fingerprint_map_get(&r->series, f);
	if (*to != INTERN_NONE)
		return *to;
	*to = recall_new_series(r, series);
	if (*to != INTERN_NONE && !fingerprint_map_add(&r->series, f, *to))
		*to = INTERN_NONE;
	return *to;
}
