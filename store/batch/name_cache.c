/*
 * Fingerprints of strings and frames are joined into those of stacks, from the
 * root outwards; each stream of batches has a room of its own, and the one that
 * was not used for longest gives way.
 */
#include "store/batch/name_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"

static void
room_fini(struct name_cache_room *m)
{
	free(m->f_strings);
	free(m->f_frames);
	free(m->f_labels);
	free(m->f_nodes);
	free(m->to.strings);
	free(m->to.frames);
	free(m->to.labels);
	free(m->to.nodes);
	free(m->to.series);
	*m = (struct name_cache_room){0};
}

void
name_cache_fini(struct name_cache *r)
{
	symtab_fini(&r->syms);
	fingerprint_map_fini(&r->stacks);
	fingerprint_map_fini(&r->series);
	for (size_t i = 0; i < NAME_CACHE_ROOMS; i++)
		room_fini(&r->rooms[i]);
	*r = (struct name_cache){0};
}

size_t
name_cache_bytes(const struct name_cache *r)
{
	return symtab_bytes(&r->syms) + ((size_t)r->stacks.cap +
	    r->series.cap) * sizeof(struct fingerprint_entry);
}

const struct err *
name_cache_clear(struct name_cache *r)
{
	name_cache_fini(r);
	if (!fingerprint_key_init(&r->key))
		return err_new(ERR_ERRNO, EAGAIN, "no random bytes");
	return symtab_init_unshown(&r->syms);
}

/* ---- fingerprints ---- */

/* That of the batch's stream, the one that was not used for longest, or the
 * first one, which is for batches without. */
static struct name_cache_room *
room_choose(struct name_cache *r, uint64_t stream)
{
	struct name_cache_room *old = &r->rooms[1];

	if (stream == 0)
		return &r->rooms[0];
	for (size_t i = 1; i < NAME_CACHE_ROOMS; i++) {
		struct name_cache_room *m = &r->rooms[i];

		if (m->stream == stream)
			return m;
		if (m->used < old->used)
			old = m;
	}
	room_fini(old);
	old->stream = stream;
	return old;
}

/* Room for n in all; `prints` NULL: without fingerprints. */
static bool
room_grow(struct name_cache_table *t, size_t n, struct fingerprint **prints,
    uint32_t **to)
{
	size_t cap = 2 * (size_t)t->cap;
	struct fingerprint *f;
	uint32_t *numbers;

	if (n > t->cap) {
		cap = cap < n ? n : cap;
		if ((numbers = realloc(*to, cap * sizeof(*numbers))) == NULL)
			return false;
		*to = numbers;
		if (prints != NULL) {
			f = realloc(*prints, cap * sizeof(*f));
			if (f == NULL)
				return false;
			*prints = f;
		}
		t->cap = (uint32_t)cap;
	}
	if (n > t->n) /* else there may be no array yet */
		memset(*to + t->n, 0xff, (n - t->n) * sizeof(**to));
	return true;
}

static bool
name_cache_room(struct name_cache *r, const struct batch *b)
{
	struct name_cache_room *m = r->r = room_choose(r, b->stream);

	m->used = ++r->clock;
	if (b->stream == 0)
		m->strings.n = m->frames.n = m->labels.n = m->nodes.n =
		    m->series.n = 0;
	return room_grow(&m->strings, b->strings.n, &m->f_strings,
	           &m->to.strings) &&
	    room_grow(&m->frames, b->n_frames, &m->f_frames, &m->to.frames) &&
	    room_grow(&m->labels, b->n_labels, &m->f_labels, &m->to.labels) &&
	    room_grow(&m->nodes, b->n_nodes, &m->f_nodes, &m->to.nodes) &&
	    room_grow(&m->series, b->n_series, NULL, &m->to.series);
}

static inline struct fingerprint
name_cache_join(const struct name_cache *r, struct fingerprint f,
    struct fingerprint next)
{
	return fingerprint_add(&r->key, f, next.a, next.b);
}

/* Neighbours are mostly of one file. */
static void
name_cache_print_frames(struct name_cache *r, const struct batch *b)
{
	struct name_cache_room *m = r->r;
	struct fingerprint file = {0, 0};
	uint32_t module = INTERN_NONE, build_id = INTERN_NONE;

	for (size_t i = m->frames.n; i < b->n_frames; i++) {
		const struct batch_frame *k = &b->frames[i];

		if (k->module != module || k->build_id != build_id) {
			module = k->module;
			build_id = k->build_id;
			file = name_cache_join(r, m->f_strings[module],
			    m->f_strings[build_id]);
		}
		m->f_frames[i] = name_cache_join(r, fingerprint_add(&r->key,
		    m->f_strings[k->name], k->offset, k->kind), file);
	}
}

static void
name_cache_print_names(struct name_cache *r, const struct batch *b)
{
	struct name_cache_room *m = r->r;

	for (uint32_t i = m->strings.n; i < b->strings.n; i++)
		m->f_strings[i] = fingerprint_bytes(&r->key,
		    intern_at(&b->strings, i), b->strings.items[i].len);
	name_cache_print_frames(r, b);
	for (size_t i = m->labels.n; i < b->n_labels; i++) {
		const struct batch_labels *set = &b->labels[i];
		const uint32_t *pair = &b->pairs[2 * set->first];
		struct fingerprint f = {set->n, 0};

		for (uint32_t p = 0; p < 2 * set->n; p++)
			f = name_cache_join(r, f, m->f_strings[pair[p]]);
		m->f_labels[i] = f;
	}
}

/* A stack's is its parent's and that of its frame, all the way up. */
static void
name_cache_print_nodes(struct name_cache *r, const struct batch *b)
{
	struct name_cache_room *m = r->r;

	m->f_nodes[0] = (struct fingerprint){0, 0};
	for (size_t i = m->nodes.n ? m->nodes.n : 1; i < b->n_nodes; i++) {
		const struct batch_node *n = &b->nodes[i];

		m->f_nodes[i] = name_cache_join(r, m->f_nodes[n->parent],
		    n->parent == 0 ? m->f_labels[n->edge]
		                   : m->f_frames[n->edge]);
	}
}

static void
name_cache_filled(struct name_cache_room *m, const struct batch *b)
{
	m->strings.n = b->strings.n;
	m->frames.n = (uint32_t)b->n_frames;
	m->labels.n = (uint32_t)b->n_labels;
	m->nodes.n = (uint32_t)b->n_nodes;
	m->series.n = (uint32_t)b->n_series;
}

const struct err *
name_cache_batch(struct name_cache *r, const struct batch *b)
{
	if (!name_cache_room(r, b))
		return err_nomem();
	r->b = b;
	name_cache_print_names(r, b);
	name_cache_print_nodes(r, b);
	name_cache_filled(r->r, b);
	return NULL;
}

/* ---- what is new: looked up by its bytes ---- */

uint32_t
name_cache_string(struct name_cache *r, uint32_t string)
{
	uint32_t *to = &r->r->to.strings[string];

	if (*to == INTERN_NONE)
		*to = intern_put(&r->syms.strings,
		    intern_at(&r->b->strings, string),
		    r->b->strings.items[string].len);
	return *to;
}

static uint32_t
name_cache_frame(struct name_cache *r, uint32_t frame)
{
	const struct batch_frame *f = &r->b->frames[frame];
	uint32_t *to = &r->r->to.frames[frame];
	struct sym_frame key;

	if (*to != INTERN_NONE)
		return *to;
	key = (struct sym_frame){f->offset, f->kind,
	    name_cache_string(r, f->name), name_cache_string(r, f->module),
	    name_cache_string(r, f->build_id)};
	if (key.name != INTERN_NONE && key.module != INTERN_NONE &&
	    key.build_id != INTERN_NONE)
		*to = intern_put(&r->syms.frames, &key, sizeof(key));
	return *to;
}

static uint32_t
name_cache_labels(struct name_cache *r, uint32_t set)
{
	const struct batch_labels *l = &r->b->labels[set];
	uint32_t *to = &r->r->to.labels[set], key[2 * BATCH_MAX_LABELS];

	if (*to != INTERN_NONE)
		return *to;
	for (uint32_t p = 0; p < 2 * l->n; p++) {
		key[p] = name_cache_string(r, r->b->pairs[2 * l->first + p]);
		if (key[p] == INTERN_NONE)
			return INTERN_NONE;
	}
	return *to = intern_put(&r->syms.labels, key,
	           2 * l->n * sizeof(*key));
}

static uint32_t
name_cache_new_node(struct name_cache *r, uint32_t node)
{
	uint32_t path[BATCH_MAX_DEPTH + 1], n = 0, parent, edge;

	r->r->to.nodes[0] = 0;
	while (r->r->to.nodes[node] == INTERN_NONE) {
		path[n++] = node;
		node = r->b->nodes[node].parent;
	}
	parent = r->r->to.nodes[node];
	while (n-- > 0 && parent != INTERN_NONE) {
		const struct batch_node *k = &r->b->nodes[path[n]];

		edge = k->parent == 0 ? name_cache_labels(r, k->edge)
		                      : name_cache_frame(r, k->edge);
		parent = edge == INTERN_NONE
		    ? INTERN_NONE
		    : symtab_put_node(&r->syms, parent, edge);
		r->r->to.nodes[path[n]] = parent;
	}
	return parent;
}

uint32_t
name_cache_node(struct name_cache *r, uint32_t node)
{
	uint32_t to = r->r->to.nodes[node];

	if (to != INTERN_NONE)
		return to;
	to = fingerprint_map_get(&r->stacks, r->r->f_nodes[node]);
	if (to != INTERN_NONE)
		return r->r->to.nodes[node] = to;
	to = name_cache_new_node(r, node);
	if (to == INTERN_NONE ||
	    !fingerprint_map_add(&r->stacks, r->r->f_nodes[node], to))
		return INTERN_NONE;
	return to;
}

static uint32_t
name_cache_new_series(struct name_cache *r, uint32_t series)
{
	const struct batch_series *s = &r->b->series[series];
	struct sym_series key = {s->period, s->kind, s->scale,
	    name_cache_string(r, s->name), name_cache_string(r, s->unit),
	    name_cache_labels(r, s->labels), 0};

	if (key.name == INTERN_NONE || key.unit == INTERN_NONE ||
	    key.labels == INTERN_NONE)
		return INTERN_NONE;
	return intern_put(&r->syms.series, &key, sizeof(key));
}

uint32_t
name_cache_series(struct name_cache *r, uint32_t series)
{
	const struct batch_series *s = &r->b->series[series];
	uint32_t *to = &r->r->to.series[series];
	struct fingerprint f;

	if (*to != INTERN_NONE)
		return *to;
	f = fingerprint_add(&r->key, r->r->f_strings[s->name],
	    (uint64_t)s->period, (uint64_t)s->kind << 8 | s->scale);
	f = name_cache_join(r, f, r->r->f_strings[s->unit]);
	f = name_cache_join(r, f, r->r->f_labels[s->labels]);
	*to = fingerprint_map_get(&r->series, f);
	if (*to != INTERN_NONE)
		return *to;
	*to = name_cache_new_series(r, series);
	if (*to != INTERN_NONE && !fingerprint_map_add(&r->series, f, *to))
		*to = INTERN_NONE;
	return *to;
}
