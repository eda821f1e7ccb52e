/*
 * The walk: a level for each node from the root to where we are.
 */
#include "fcgi/format/in/preorder.h"

#include <stdlib.h>

#include "fcgi/format/in/folded.h"
#include "fcgi/format/stacks.h"
#include "store/base/array.h"
#include "store/base/err.h"

#define DEPTH_MAX 65536u /* nodes from the root */

const struct err *
preorder_bad(const struct preorder *p, const char *why)
{
	size_t at = (size_t)(p->c.p - p->start);

	return err_new(ERR_FORMAT, (int)at, "%s: byte %zu: %s", p->what, at,
	    why);
}

bool
preorder_at_root(const struct preorder *p)
{
	return p->n == 0;
}

uint32_t
preorder_child(struct preorder *p, uint32_t node, const char *name, size_t n)
{
	int kind = folded_kind(name, &n);

	return stacks_child(p->s, node, stacks_frame_named(p->s,
	    (enum frame_kind)kind, name, n));
}

static const struct err *
preorder_push(struct preorder *p, const struct preorder_level *l)
{
	if (p->n == DEPTH_MAX)
		return err_new(ERR_REQUEST, 413, "%s: deeper than %u",
		    p->what, DEPTH_MAX);
	if (!array_room(&p->levels, p->n + 1, &p->cap))
		return err_nomem();
	p->levels[p->n++] = *l;
	return NULL;
}

static const struct err *
preorder_node(struct preorder *p)
{
	struct preorder_level l = {0};
	const uint8_t *bytes;
	const struct err *e;
	uint64_t value, children;
	size_t n;

	bytes = cur_bytes(&p->c, &n);
	value = cur_varint(&p->c);
	children = cur_varint(&p->c);
	if (p->c.bad)
		return preorder_bad(p, "ends early");
	if (value > INT64_MAX)
		return preorder_bad(p, "a value is over 2^63");
	if (children > cur_left(&p->c) / 3)
		return preorder_bad(p, "more children than bytes");
	if (p->n > 0)
		l = p->levels[p->n - 1];
	if ((e = p->put(p, (const char *)bytes, n, value, &l)) != NULL)
		return e;
	l.left = children;
	return preorder_push(p, &l);
}

static const struct err *
preorder_walk(struct preorder *p)
{
	const struct err *e = preorder_node(p);

	while (e == NULL && p->n > 0) {
		struct preorder_level *top = &p->levels[p->n - 1];

		if (top->left == 0) {
			p->n--;
			continue;
		}
		top->left--;
		e = preorder_node(p);
		if (e == NULL)
			e = stacks_error(p->s);
	}
	if (e == NULL && cur_left(&p->c) > 0)
		e = preorder_bad(p, "more bytes than the root's tree");
	return e;
}

const struct err *
preorder_read(struct preorder *p, const void *data, size_t n,
    const struct stacks_type *type)
{
	const struct err *e;

	p->c = cur_of(data, n);
	p->start = data;
	p->type = stacks_type(p->s, type != NULL ? type : &folded_samples);
	e = preorder_walk(p);
	buf_fini(&p->key);
	free(p->levels);
	return e;
}
