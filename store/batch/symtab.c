/*
 * Maps of batches are filled in the order of dependence (strings, frames, label
 * sets, nodes, series), each number checked against what came before.  Nodes
 * are most of it: those that came one after the other once mostly do so again.
 */
#include "store/batch/symtab.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/model/type.h"

const struct err *
symtab_init_unshown(struct symtab *t)
{
	*t = (struct symtab){.frames.aligned = true, .labels.aligned = true,
	    .series.aligned = true};
	t->cap_nodes = 64;
	t->nodes = calloc(t->cap_nodes, sizeof(*t->nodes));
	if (t->nodes == NULL || intern_put(&t->strings, "", 0) != 0 ||
	    intern_put(&t->labels, "", 0) != 0) {
		symtab_fini(t);
		return err_nomem();
	}
	t->n_nodes = t->indexed = 1;
	return NULL;
}

const struct err *
symtab_init(struct symtab *t)
{
	const struct err *e = symtab_init_unshown(t);

	t->shown = true;
	return e;
}

void
symtab_fini(struct symtab *t)
{
	intern_fini(&t->strings);
	intern_fini(&t->frames);
	intern_fini(&t->labels);
	intern_fini(&t->series);
	map64_fini(&t->node_map);
	free(t->nodes);
	free(t->hashes);
	*t = (struct symtab){0};
}

void
symtab_map_fini(struct symtab_map *map)
{
	free(map->strings);
	free(map->frames);
	free(map->labels);
	free(map->nodes);
	free(map->series);
	*map = (struct symtab_map){0};
}

void
symtab_rest_stacks(struct symtab *t)
{
	intern_rest(&t->frames);
	map64_fini(&t->node_map);
	t->indexed = 1;
}

void
symtab_rest(struct symtab *t)
{
	symtab_rest_stacks(t);
	intern_rest(&t->strings);
	intern_rest(&t->labels);
	intern_rest(&t->series);
}

size_t
symtab_bytes(const struct symtab *t)
{
	return intern_bytes(&t->strings) + intern_bytes(&t->frames) +
	    intern_bytes(&t->labels) + intern_bytes(&t->series) +
	    t->cap_nodes * sizeof(*t->nodes) +
	    t->cap_hashes * sizeof(*t->hashes) +
	    t->node_map.cap * sizeof(*t->node_map.pairs);
}

static bool
symtab_map_strings(struct symtab *t, const struct batch *d, uint32_t *map)
{
	struct intern_key keys[INTERN_MANY];

	for (uint32_t i = 0; i < d->strings.n; i += INTERN_MANY) {
		uint32_t n = d->strings.n - i;

		if (n > INTERN_MANY)
			n = INTERN_MANY;
		for (uint32_t k = 0; k < n; k++)
			keys[k] = (struct intern_key){
			    intern_at(&d->strings, i + k),
			    d->strings.items[i + k].len,
			    d->strings.items[i + k].hash};
		if (!intern_put_many(&t->strings, keys, n, map + i))
			return false;
	}
	return true;
}

static bool
symtab_map_frames(struct symtab *t, const struct batch *d,
    const uint32_t *strings, uint32_t *map)
{
	struct sym_frame frames[INTERN_MANY];
	struct intern_key keys[INTERN_MANY];

	for (size_t i = 0; i < d->n_frames; i += INTERN_MANY) {
		size_t n = d->n_frames - i;

		if (n > INTERN_MANY)
			n = INTERN_MANY;
		for (size_t k = 0; k < n; k++) {
			const struct batch_frame *f = &d->frames[i + k];

			frames[k] = (struct sym_frame){f->offset, f->kind,
			    strings[f->name], strings[f->module],
			    strings[f->build_id]};
			keys[k] = (struct intern_key){&frames[k],
			    sizeof(frames[k]), 0};
		}
		if (!intern_put_many(&t->frames, keys, n, map + i))
			return false;
	}
	return true;
}

static bool
symtab_map_labels(struct symtab *t, const struct batch *d,
    const uint32_t *strings, uint32_t *map)
{
	uint32_t key[2 * BATCH_MAX_LABELS];

	for (size_t i = 0; i < d->n_labels; i++) {
		const struct batch_labels *set = &d->labels[i];

		for (uint32_t p = 0; p < 2 * set->n; p++)
			key[p] = strings[d->pairs[2 * set->first + p]];
		map[i] = intern_put(&t->labels, key,
		    2 * set->n * sizeof(*key));
		if (map[i] == INTERN_NONE)
			return false;
	}
	return true;
}

uint32_t
symtab_put_series(struct symtab *t, struct sym_series key)
{
	enum series_kind kind = (enum series_kind)key.kind;
	char buf[TYPE_NAME_MAX];

	if (t->shown && series_is_profile(kind) &&
	    type_name(kind, intern_str(&t->strings, key.name),
	    intern_str(&t->strings, key.unit), buf) == buf &&
	    (key.shown = intern_put(&t->strings, buf, strlen(buf))) ==
	    INTERN_NONE)
		return INTERN_NONE;
	return intern_put(&t->series, &key, sizeof(key));
}

static bool
symtab_map_series(struct symtab *t, const struct batch *d,
    const struct symtab_map *m, uint32_t *map)
{
	for (size_t i = 0; i < d->n_series; i++) {
		const struct batch_series *s = &d->series[i];
		struct sym_series key = {s->period, s->kind, s->scale,
		    m->strings[s->name], m->strings[s->unit],
		    m->labels[s->labels], 0};

		map[i] = symtab_put_series(t, key);
		if (map[i] == INTERN_NONE)
			return false;
	}
	return true;
}

static uint64_t
symtab_hash_string(const struct symtab *t, uint64_t seed, uint32_t string)
{
	return hash64(seed, intern_at(&t->strings, string),
	    t->strings.items[string].len);
}

static uint64_t
symtab_hash_labels(const struct symtab *t, uint64_t h, uint32_t set)
{
	const uint32_t *pairs = intern_at(&t->labels, set);

	for (size_t i = 0; i < 2 * symtab_n_labels(t, set); i++)
		h = symtab_hash_string(t, h, pairs[i]);
	return h;
}

static uint64_t
symtab_hash_frame(const struct symtab *t, uint64_t h, uint32_t frame)
{
	const struct sym_frame *f = symtab_frame(t, frame);

	h = hash64_u64(h, f->offset ^ (uint64_t)f->kind << 56);
	h = symtab_hash_string(t, h, f->name);
	h = symtab_hash_string(t, h, f->module);
	return symtab_hash_string(t, h, f->build_id);
}

const struct err *
symtab_hash_nodes(struct symtab *t)
{
	if (!array_room(&t->hashes, t->n_nodes, &t->cap_hashes))
		return err_nomem();
	if (t->n_hashed == 0)
		t->hashes[t->n_hashed++] = 0;
	for (; t->n_hashed < t->n_nodes; t->n_hashed++) {
		const struct sym_node *n = &t->nodes[t->n_hashed];
		uint64_t h = t->hashes[n->parent];

		t->hashes[t->n_hashed] = n->parent == 0
		    ? symtab_hash_labels(t, h, n->edge)
		    : symtab_hash_frame(t, h, n->edge);
	}
	return NULL;
}

uint32_t
symtab_push_node(struct symtab *t, uint32_t parent, uint32_t edge)
{
	if (!array_room(&t->nodes, t->n_nodes + 1, &t->cap_nodes))
		return INTERN_NONE;
	t->nodes[t->n_nodes] = (struct sym_node){parent, edge};
	return t->n_nodes++;
}

static inline uint64_t
symtab_node_key(uint32_t parent, uint32_t edge)
{
	return (uint64_t)parent << 32 | edge;
}

/* A first child mostly stands right behind its parent, where it is found
 * without the map: that holds the others. */
static uint32_t
symtab_find_node(const struct symtab *t, uint32_t parent, uint32_t edge)
{
	uint32_t i = parent + 1;

	if (i == t->n_nodes)
		return INTERN_NONE; /* nothing is below the newest */
	if (t->nodes[i].parent == parent &&
	    t->nodes[i].edge == edge)
		return i;
	return map64_get(&t->node_map, symtab_node_key(parent, edge));
}

static bool
symtab_add_node(struct symtab *t, uint32_t i)
{
	const struct sym_node *n = &t->nodes[i];

	return i == n->parent + 1 || map64_add(&t->node_map,
	    symtab_node_key(n->parent, n->edge), i);
}

/* Takes what was pushed into the map. */
static bool
symtab_index(struct symtab *t)
{
	for (; t->indexed < t->n_nodes; t->indexed++) {
		const struct sym_node *n = &t->nodes[t->indexed];

		if (symtab_find_node(t, n->parent, n->edge) == INTERN_NONE &&
		    !symtab_add_node(t, t->indexed))
			return false;
	}
	return true;
}

uint32_t
symtab_put_node(struct symtab *t, uint32_t parent, uint32_t edge)
{
	uint32_t i;

	if (t->indexed < t->n_nodes && !symtab_index(t))
		return INTERN_NONE;
	i = symtab_find_node(t, parent, edge);
	if (i != INTERN_NONE)
		return i;
	i = symtab_push_node(t, parent, edge);
	if (i == INTERN_NONE)
		return INTERN_NONE;
	if (!symtab_add_node(t, i)) {
		t->n_nodes--;
		return INTERN_NONE;
	}
	t->indexed = t->n_nodes;
	return i;
}

/* Where a branch begins some nodes further on, under a node that is mapped
 * already, the map will be asked: fetches ahead what it needs. */
static inline void
symtab_look_ahead(const struct symtab *t, const struct batch *d,
    const struct symtab_map *m, size_t i)
{
	const struct batch_node *n = &d->nodes[i + 12];

	if (i + 12 < d->n_nodes && n->parent < i && n->parent != 0)
		map64_prefetch(&t->node_map, symtab_node_key(
		    m->nodes[n->parent], m->frames[n->edge]));
}

/* Nodes that came one after the other once mostly do so again: the one
 * after the last is looked at before the map is asked. */
static bool
symtab_map_nodes(struct symtab *t, const struct batch *d,
    const struct symtab_map *m, uint32_t *map)
{
	map[0] = 0;
	for (size_t i = 1; i < d->n_nodes; i++) {
		const struct batch_node *n = &d->nodes[i];
		uint32_t parent = map[n->parent], guess = map[i - 1] + 1;
		uint32_t edge = n->parent == 0 ? m->labels[n->edge]
		                               : m->frames[n->edge];

		symtab_look_ahead(t, d, m, i);
		if (guess < t->n_nodes && t->nodes[guess].parent == parent &&
		    t->nodes[guess].edge == edge)
			map[i] = guess;
		else
			map[i] = symtab_put_node(t, parent, edge);
		if (map[i] == INTERN_NONE)
			return false;
	}
	return true;
}

static uint32_t *
symtab_map_alloc(size_t n)
{
	return malloc((n + 1) * sizeof(uint32_t));
}

const struct err *
symtab_add(struct symtab *t, const struct batch *d, struct symtab_map *map)
{
	map->strings = symtab_map_alloc(d->strings.n);
	map->frames = symtab_map_alloc(d->n_frames);
	map->labels = symtab_map_alloc(d->n_labels);
	map->nodes = symtab_map_alloc(d->n_nodes);
	map->series = symtab_map_alloc(d->n_series);
	if (map->strings == NULL || map->frames == NULL ||
	    map->labels == NULL || map->nodes == NULL || map->series == NULL ||
	    !symtab_map_strings(t, d, map->strings) ||
	    !symtab_map_frames(t, d, map->strings, map->frames) ||
	    !symtab_map_labels(t, d, map->strings, map->labels) ||
	    !symtab_map_series(t, d, map, map->series) ||
	    !symtab_map_nodes(t, d, map, map->nodes)) {
		symtab_map_fini(map);
		return err_nomem();
	}
	return NULL;
}

size_t
symtab_labels(const struct symtab *t, uint32_t set, struct label *labels,
    size_t n_room)
{
	const uint32_t *pairs = intern_at(&t->labels, set);
	size_t n = symtab_n_labels(t, set);

	if (n > n_room)
		n = n_room;
	for (size_t i = 0; i < n; i++) {
		labels[i].name = intern_str(&t->strings, pairs[2 * i]);
		labels[i].value = intern_str(&t->strings, pairs[2 * i + 1]);
	}
	return n;
}

void
symtab_desc(const struct symtab *t, uint32_t series, struct series_desc *d,
    struct label *labels, size_t n_room)
{
	const struct sym_series *s = symtab_series(t, series);

	d->kind = (enum series_kind)s->kind;
	d->name = intern_str(&t->strings, s->shown != 0 ? s->shown : s->name);
	d->unit = intern_str(&t->strings, s->unit);
	d->period = s->period;
	d->scale = (uint8_t)s->scale;
	d->labels = labels;
	d->n_labels = symtab_labels(t, s->labels, labels, n_room);
}

uint64_t
symtab_series_hash(const struct symtab *t, uint32_t series)
{
	const struct sym_series *s = symtab_series(t, series);
	uint64_t h = hash64_u64(s->kind, (uint64_t)s->period);

	h = hash64_u64(h, s->scale);
	h = symtab_hash_string(t, h, s->name);
	h = symtab_hash_string(t, h, s->unit);
	return symtab_hash_labels(t, h, s->labels);
}

static int
order_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

int
symtab_compare_frames(const struct symtab *t, uint32_t a, uint32_t b)
{
	const struct sym_frame *x = symtab_frame(t, a);
	const struct sym_frame *y = symtab_frame(t, b);
	int order = 0;

	if (a == b)
		return 0;
	if (x->name != y->name)
		order = intern_compare(&t->strings, x->name, y->name);
	if (order == 0)
		order = order_u64(x->kind, y->kind);
	if (order == 0 && x->module != y->module)
		order = intern_compare(&t->strings, x->module, y->module);
	if (order == 0 && x->build_id != y->build_id)
		order = intern_compare(&t->strings, x->build_id, y->build_id);
	return order ? order : order_u64(x->offset, y->offset);
}

int
symtab_compare_labels(const struct symtab *t, uint32_t a, uint32_t b)
{
	const uint32_t *x = intern_at(&t->labels, a);
	const uint32_t *y = intern_at(&t->labels, b);
	size_t nx = 2 * symtab_n_labels(t, a), ny = 2 * symtab_n_labels(t, b);

	for (size_t i = 0; i < nx && i < ny; i++) {
		if (x[i] != y[i])
			return intern_compare(&t->strings, x[i], y[i]);
	}
	return order_u64(nx, ny);
}

int
symtab_compare_series(const struct symtab *t, uint32_t a, uint32_t b)
{
	const struct sym_series *x = symtab_series(t, a);
	const struct sym_series *y = symtab_series(t, b);
	int order = 0;

	if (x->name != y->name)
		order = intern_compare(&t->strings, x->name, y->name);
	if (order == 0 && x->labels != y->labels)
		order = symtab_compare_labels(t, x->labels, y->labels);
	if (order == 0)
		order = order_u64(x->kind, y->kind);
	if (order == 0 && x->unit != y->unit)
		order = intern_compare(&t->strings, x->unit, y->unit);
	if (order == 0)
		order = order_u64((uint64_t)x->period, (uint64_t)y->period);
	return order ? order : order_u64(x->scale, y->scale);
}
