/*
 * A walk without recursion; the wire's tree is ours.
 */
#include "tree.h"

#include <stdlib.h>

#include "folded.h"
#include "stacks.h"
#include "store/base/buf.h"
#include "store/base/err.h"

#define DEPTH_MAX 65536u
#define NAME_MAX_BYTES 65535u

struct level {
	uint32_t node;
	uint64_t left; /* children to come */
};

struct tree {
	struct stacks *s;
	uint32_t type;
	struct cur c;
	const uint8_t *start;
	struct level *levels;
	size_t n, cap;
};

static const struct err *
tree_bad(const struct tree *t, const char *why)
{
	size_t at = (size_t)(t->c.p - t->start);

	return err_new(ERR_FORMAT, (int)at, "tree: byte %zu: %s", at, why);
}

static const struct err *
tree_push(struct tree *t, const struct level *l)
{
	size_t cap = t->cap ? t->cap * 2 : 64;
	struct level *levels;

	if (t->n == DEPTH_MAX)
		return err_new(ERR_REQUEST, 413, "tree: deeper than %u",
		    DEPTH_MAX);
	if (t->n == t->cap) {
		levels = realloc(t->levels, cap * sizeof(*levels));
		if (levels == NULL)
			return err_nomem();
		t->levels = levels;
		t->cap = cap;
	}
	t->levels[t->n++] = *l;
	return NULL;
}

/* The root has no frame, unless it has samples of its own. */
static uint32_t
tree_place(struct tree *t, const char *name, size_t n, uint64_t self)
{
	uint32_t parent = t->n > 0 ? t->levels[t->n - 1].node : 0;
	int kind;

	if (t->n == 0 && n == 0 && self == 0)
		return 0;
	kind = folded_kind(name, &n);
	return stacks_child(t->s, parent, stacks_frame_named(t->s,
	    (enum frame_kind)kind, name, n));
}

static const struct err *
tree_node(struct tree *t)
{
	struct level l = {0, 0};
	const uint8_t *name;
	uint64_t self;
	uint32_t node;
	size_t n;

	name = cur_bytes(&t->c, &n);
	self = cur_varint(&t->c);
	l.left = cur_varint(&t->c);
	if (t->c.bad)
		return tree_bad(t, "ends early");
	if (self > INT64_MAX)
		return tree_bad(t, "a value is over 2^63");
	if (l.left > cur_left(&t->c) / 3)
		return tree_bad(t, "more children than bytes");
	if (n > NAME_MAX_BYTES)
		return tree_bad(t, "a name is longer than 65535 bytes");
	node = tree_place(t, (const char *)name, n, self);
	if (self > 0)
		stacks_add(t->s, node, t->type, (int64_t)self);
	/* what hangs on the root does so whether that has samples or not */
	l.node = t->n == 0 && n == 0 ? 0 : node;
	return tree_push(t, &l);
}

static const struct err *
tree_walk(struct tree *t)
{
	const struct err *e = tree_node(t);

	while (e == NULL && t->n > 0) {
		struct level *top = &t->levels[t->n - 1];

		if (top->left == 0) {
			t->n--;
			continue;
		}
		top->left--;
		e = tree_node(t);
		if (e == NULL)
			e = stacks_error(t->s);
	}
	if (e == NULL && cur_left(&t->c) > 0)
		e = tree_bad(t, "more bytes than the root's tree");
	return e;
}

const struct err *
tree_parse(struct stacks *s, const void *data, size_t n,
    const struct stacks_type *type)
{
	struct tree t = {.s = s, .c = cur_of(data, n), .start = data};
	const struct err *e;

	t.type = stacks_type(s, type != NULL ? type : &folded_samples);
	e = tree_walk(&t);
	free(t.levels);
	return e;
}
