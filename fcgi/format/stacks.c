/*
 * The builder of stacks: interned strings, frames and label sets, one array
 * of values a type.
 *
 * A node that is put right after its parent is its parent's first child and
 * found without a look-up: node i + 1, if its parent is i.  Only further
 * children are in the map, one for each stack at most, so that the map stays
 * small and the new end of a stack costs no cache misses.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/stacks_private.h"
#include "store/base/array.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/store.h"

#define LINES_KEPT 65536u /* stacks that are known by their text */

const struct stacks_limits stacks_limits_push = {
    .nodes = 1u << 20, .bytes = 64u << 20, .depth = 4096, .labels = 4096
};
const struct stacks_limits stacks_limits_file = {
    .nodes = 1u << 27, .bytes = 1u << 30, .depth = 65536, .labels = 65536
};

#define NODES_FIRST 1024u

struct stacks *
stacks_new(const struct stacks_limits *limits)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->limits = s->given = *limits;
	s->frames.aligned = true;
	s->sets.aligned = true;
	if (intern_put(&s->strings, "", 0) != 0 ||
	    !array_room(&s->nodes, NODES_FIRST, &s->cap_nodes)) {
		stacks_free(s);
		return NULL;
	}
	s->nodes[0] = (struct stacks_edge){0, 0, 0};
	s->n_nodes = 1;
	return s;
}

void
stacks_free(struct stacks *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < STACKS_TYPES_MAX; i++) {
		free(s->types[i].values);
		free(s->types[i].touched);
	}
	fingerprint_map_fini(&s->lines);
	intern_fini(&s->strings);
	intern_fini(&s->frames);
	intern_fini(&s->sets);
	children_fini(&s->children);
	free(s->nodes);
	free(s->places);
	free(s);
}

const struct err *
stacks_error(const struct stacks *s)
{
	if (!s->failed)
		return gone_check();
	if (s->bound == NULL)
		return err_nomem();
	return s->most == 0 ?
	    err_new(ERR_REQUEST, 413, "too many %s", s->bound) :
	    err_new(ERR_REQUEST, 413, "too many %s: at most %zu are taken",
	    s->bound, s->most);
}

static uint32_t
stacks_fail(struct stacks *s, const char *bound)
{
	if (!s->failed)
		s->bound = bound;
	s->failed = true;
	return 0;
}

/* More than `most` of it. */
static uint32_t
stacks_over(struct stacks *s, const char *bound, size_t most)
{
	if (!s->failed)
		s->most = most;
	return stacks_fail(s, bound);
}

static uint32_t
stacks_string(struct stacks *s, const char *p, size_t n)
{
	uint32_t i;

	if (s->strings.bytes.len + n > s->limits.bytes)
		return stacks_over(s, "bytes of names", s->limits.bytes);
	i = intern_put(&s->strings, p, n);
	return i == INTERN_NONE ? stacks_fail(s, NULL) : i;
}

/* ---- types ---- */

void
stacks_retype(struct stacks *s, uint32_t number,
    const struct stacks_type *type)
{
	struct stacks_column *c = &s->types[number];

	c->name = stacks_string(s, type->name, strlen(type->name));
	c->unit = stacks_string(s, type->unit, strlen(type->unit));
	c->period = type->period;
	c->kind = type->kind;
}

uint32_t
stacks_type(struct stacks *s, const struct stacks_type *type)
{
	struct stacks_column c = {
	    .name = stacks_string(s, type->name, strlen(type->name)),
	    .unit = stacks_string(s, type->unit, strlen(type->unit)),
	    .period = type->period,
	    .kind = type->kind
	};

	for (uint32_t i = 0; i < s->n_types; i++) {
		const struct stacks_column *o = &s->types[i];

		if (o->name == c.name && o->unit == c.unit &&
		    o->period == c.period && o->kind == c.kind)
			return i;
	}
	if (s->n_types == STACKS_TYPES_MAX)
		return stacks_over(s, "types of samples", STACKS_TYPES_MAX);
	/* the memory of one that was cleared goes on */
	c.values = s->types[s->n_types].values;
	c.n = s->types[s->n_types].n;
	c.cap = s->types[s->n_types].cap;
	c.touched = s->types[s->n_types].touched;
	c.cap_touched = s->types[s->n_types].cap_touched;
	s->types[s->n_types] = c;
	return (uint32_t)s->n_types++;
}

/* Sets a column up to a node; memory that no node needs stays untouched. */
static bool
column_grow(const struct stacks *s, struct stacks_column *c, uint32_t node)
{
	size_t n = (size_t)node + 1024;
	int64_t *values = c->values;

	if (n > s->cap_nodes)
		n = s->cap_nodes;
	if (n > c->cap) {
		values = realloc(values, s->cap_nodes * sizeof(*values));
		if (values == NULL)
			return false;
		c->values = values;
		c->cap = s->cap_nodes;
	}
	memset(values + c->n, 0, (n - c->n) * sizeof(*values));
	c->n = n;
	return true;
}

static bool
column_touch(struct stacks_column *c, uint32_t node)
{
	if (!array_room(&c->touched, c->n_touched + 1, &c->cap_touched))
		return false;
	c->touched[c->n_touched++] = node;
	return true;
}

void
stacks_add(struct stacks *s, uint32_t node, uint32_t type, int64_t value)
{
	struct stacks_column *c = &s->types[type];

	if (s->failed)
		return;
	if (node >= c->n && !column_grow(s, c, node)) {
		stacks_fail(s, NULL);
		return;
	}
	if (value < 0 || __builtin_add_overflow(c->total, value, &c->total)) {
		stacks_fail(s, value < 0 ? "negative values" : "samples");
		return;
	}
	if (s->kept && value > 0 && c->values[node] == 0 &&
	    !column_touch(c, node))
		stacks_fail(s, NULL);
	else
		c->values[node] += value;
}

static uint32_t
stacks_new_node(struct stacks *s, uint32_t parent, uint32_t edge,
    uint32_t depth)
{
	uint32_t i = (uint32_t)s->n_nodes;

	if (i >= s->limits.nodes || i >> CHILDREN_BITS != 0)
		return stacks_over(s, "stacks (nodes of their call tree)", i);
	if (depth > s->limits.depth)
		return stacks_over(s, "frames of one stack", s->limits.depth);
	if (!array_room(&s->nodes, s->n_nodes + 1, &s->cap_nodes) ||
	    (i != parent + 1 && !children_add(&s->children,
	    children_hash(parent, edge), s->nodes, i)))
		return stacks_fail(s, NULL);
	s->nodes[i] = (struct stacks_edge){parent, edge, depth};
	s->n_nodes++;
	return i;
}

uint32_t
stacks_put_node(struct stacks *s, uint32_t parent, uint32_t edge,
    uint32_t depth)
{
	uint32_t i = parent + 1;

	if (s->failed)
		return 0;
	if (i < s->n_nodes) {
		if (s->nodes[i].parent == parent && s->nodes[i].edge == edge)
			return i;
		i = children_get(&s->children, children_hash(parent, edge),
		    s->nodes, parent, edge);
		if (i != 0)
			return i;
	}
	return stacks_new_node(s, parent, edge, depth);
}

/* ---- frames and label sets ---- */

static uint32_t
stacks_put_frame(struct stacks *s, const struct stacks_frame *f)
{
	uint32_t i;

	if (s->failed)
		return 0;
	i = intern_put(&s->frames, f, sizeof(*f));
	return i == INTERN_NONE ? stacks_fail(s, NULL) : i;
}

uint32_t
stacks_frame(struct stacks *s, const struct frame *f)
{
	struct stacks_frame key;
	const char *name = f->name[0] == '\0' ? "[unknown]" : f->name;

	memset(&key, 0, sizeof(key));
	key.kind = (uint32_t)f->kind;
	key.name = stacks_string(s, name, strlen(name));
	key.module = stacks_string(s, f->module, strlen(f->module));
	key.build_id = stacks_string(s, f->build_id, strlen(f->build_id));
	key.offset = f->offset;
	return stacks_put_frame(s, &key);
}

uint32_t
stacks_frame_named(struct stacks *s, enum frame_kind kind, const char *name,
    size_t n)
{
	struct stacks_frame key;

	memset(&key, 0, sizeof(key));
	key.kind = (uint32_t)kind;
	key.name = n == 0 ? stacks_string(s, "[unknown]", 9)
	                  : stacks_string(s, name, n);
	return stacks_put_frame(s, &key);
}

/* Sorts, and keeps the later of two with one name. */
static size_t
labels_normalise(struct label *labels, size_t n)
{
	size_t kept = 0;

	/* an insertion sort: it is stable, and sets are small */
	for (size_t i = 1; i < n; i++) {
		struct label l = labels[i];
		size_t k = i;

		while (k > 0 && strcmp(labels[k - 1].name, l.name) > 0) {
			labels[k] = labels[k - 1];
			k--;
		}
		labels[k] = l;
	}
	for (size_t i = 0; i < n; i++) {
		if (i + 1 < n &&
		    strcmp(labels[i].name, labels[i + 1].name) == 0)
			continue;
		labels[kept++] = labels[i];
	}
	return kept;
}

uint32_t
stacks_labels(struct stacks *s, const struct label *labels, size_t n)
{
	struct label sorted[STACKS_LABELS_MAX];
	uint32_t pairs[2 * STACKS_LABELS_MAX], set;

	if (n > STACKS_LABELS_MAX)
		return stacks_over(s, "labels of one sample",
		    STACKS_LABELS_MAX);
	if (n == 0 || s->failed)
		return 0;
	memcpy(sorted, labels, n * sizeof(*sorted));
	n = labels_normalise(sorted, n);
	for (size_t i = 0; i < n; i++) {
		pairs[2 * i] = stacks_string(s, sorted[i].name,
		    strlen(sorted[i].name));
		pairs[2 * i + 1] = stacks_string(s, sorted[i].value,
		    strlen(sorted[i].value));
	}
	set = intern_put(&s->sets, pairs, 2 * n * sizeof(pairs[0]));
	if (set == INTERN_NONE)
		return stacks_fail(s, NULL);
	if (s->sets.n > s->limits.labels)
		return stacks_over(s, "label sets", s->limits.labels);
	return stacks_put_node(s, 0, set | EDGE_LABELS, 0);
}

/* ---- nodes ---- */

uint32_t
stacks_child(struct stacks *s, uint32_t parent, uint32_t frame)
{
	return stacks_child_at(s, parent, frame, s->nodes[parent].depth + 1);
}

void
stacks_set_range(struct stacks *s, int64_t from_ns, int64_t until_ns)
{
	s->from_ns = from_ns;
	s->until_ns = until_ns;
}

void
stacks_range(const struct stacks *s, int64_t *from_ns, int64_t *until_ns)
{
	*from_ns = s->from_ns;
	*until_ns = s->until_ns;
}

void
stacks_set_mean(struct stacks *s, uint64_t bytes)
{
	s->mean = bytes;
}

uint64_t
stacks_mean(const struct stacks *s)
{
	return s->mean;
}

void
stacks_skip(struct stacks *s, const char *why, uint64_t n)
{
	size_t room = sizeof(s->skipped) / sizeof(s->skipped[0]);

	for (size_t i = 0; i < s->n_skipped; i++) {
		if (strcmp(s->skipped[i].why, why) == 0) {
			s->skipped[i].n += n;
			return;
		}
	}
	if (s->n_skipped == room) { /* more reasons than there are */
		s->skipped[room - 1].n += n;
		return;
	}
	s->skipped[s->n_skipped++] = (struct stacks_skipped){why, n};
}

/* ---- kept ones ---- */

bool
stacks_keep(struct stacks *s)
{
	return s->kept = fingerprint_key_init(&s->key);
}

void
stacks_clear(struct stacks *s)
{
	for (size_t t = 0; t < s->n_types; t++) {
		struct stacks_column *c = &s->types[t];

		for (size_t i = 0; i < c->n_touched; i++)
			c->values[c->touched[i]] = 0;
		c->n_touched = 0;
	}
	s->n_types = s->n_skipped = s->n_places = 0;
	s->from_ns = s->until_ns = 0;
	s->mean = 0;
	if (s->lines.n > LINES_KEPT)
		fingerprint_map_fini(&s->lines);
	s->limits.nodes = s->given.nodes + s->n_nodes;
	s->limits.bytes = s->given.bytes + s->strings.bytes.len;
	s->limits.labels = s->given.labels + s->sets.n;
}

const uint32_t *
stacks_touched(const struct stacks *s, uint32_t type, size_t *n)
{
	*n = s->types[type].n_touched;
	return s->types[type].touched;
}

struct stacks_edge *
stacks_take(struct stacks *s, uint32_t type, size_t *n, int64_t **values)
{
	struct stacks_column *c = &s->types[type];
	struct stacks_edge *nodes = s->nodes;

	children_fini(&s->children);
	if (c->n < s->n_nodes &&
	    !column_grow(s, c, (uint32_t)s->n_nodes - 1)) {
		stacks_fail(s, NULL);
		return NULL;
	}
	*n = s->n_nodes;
	*values = c->values;
	stacks_fail(s, "uses: they were taken");
	s->nodes = NULL;
	c->values = NULL;
	s->n_nodes = s->cap_nodes = c->n = c->cap = 0;
	return nodes;
}

/* ---- reading ---- */

size_t
stacks_n_types(const struct stacks *s)
{
	return s->n_types;
}

size_t
stacks_n_nodes(const struct stacks *s)
{
	return s->n_nodes;
}

size_t
stacks_n_frames(const struct stacks *s)
{
	return s->frames.n;
}

size_t
stacks_n_skipped(const struct stacks *s)
{
	return s->n_skipped;
}

void
stacks_get_type(const struct stacks *s, uint32_t i, struct stacks_type *type)
{
	const struct stacks_column *c = &s->types[i];

	type->name = intern_str(&s->strings, c->name);
	type->unit = intern_str(&s->strings, c->unit);
	type->period = c->period;
	type->kind = c->kind;
}

void
stacks_get_node(const struct stacks *s, uint32_t i, struct stacks_node *node)
{
	const struct stacks_edge *e = &s->nodes[i];

	node->parent = e->parent;
	node->edge = e->edge & ~EDGE_LABELS;
	node->labels = (e->edge & EDGE_LABELS) != 0;
}

void
stacks_get_frame(const struct stacks *s, uint32_t i, struct frame *f)
{
	const struct stacks_frame *key = intern_at(&s->frames, i);

	f->kind = (enum frame_kind)key->kind;
	f->name = intern_str(&s->strings, key->name);
	f->module = intern_str(&s->strings, key->module);
	f->build_id = intern_str(&s->strings, key->build_id);
	f->offset = key->offset;
}

size_t
stacks_get_labels(const struct stacks *s, uint32_t i,
    struct label labels[STACKS_LABELS_MAX])
{
	const uint32_t *pairs = intern_at(&s->sets, i);
	size_t n = s->sets.items[i].len / (2 * sizeof(*pairs));

	for (size_t k = 0; k < n; k++) {
		labels[k].name = intern_str(&s->strings, pairs[2 * k]);
		labels[k].value = intern_str(&s->strings, pairs[2 * k + 1]);
	}
	return n;
}

int64_t
stacks_value(const struct stacks *s, uint32_t node, uint32_t type)
{
	const struct stacks_column *c = &s->types[type];

	return node < c->n ? c->values[node] : 0;
}

int64_t
stacks_total(const struct stacks *s, uint32_t type)
{
	return s->types[type].total;
}

uint32_t
stacks_depth(const struct stacks *s, uint32_t node)
{
	return s->nodes[node].depth;
}

void
stacks_get_skipped(const struct stacks *s, size_t i,
    struct stacks_skipped *skipped)
{
	*skipped = s->skipped[i];
}
