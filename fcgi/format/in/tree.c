/*
 * The wire's tree is ours.
 */
#include "fcgi/format/in/tree.h"

#include "fcgi/format/in/preorder.h"
#include "fcgi/format/stacks.h"

#define NAME_MAX_BYTES 65535u

static const struct err *
tree_put(struct preorder *p, const char *name, size_t n, uint64_t self,
    struct preorder_level *l)
{
	bool nameless = preorder_at_root(p) && n == 0;
	uint32_t node = 0;

	if (n > NAME_MAX_BYTES)
		return preorder_bad(p, "a name is longer than 65535 bytes");
	/* the root has no frame, unless it has samples of its own */
	if (!nameless || self > 0)
		node = preorder_child(p, l->node, name, n);
	if (self > 0)
		stacks_add(p->s, node, p->type, (int64_t)self);
	/* what hangs on the root does so whether that has samples or not */
	l->node = nameless ? 0 : node;
	return NULL;
}

const struct err *
tree_parse(struct stacks *s, const void *data, size_t n,
    const struct stacks_type *type)
{
	struct preorder p = {.s = s, .what = "tree", .put = tree_put};

	return preorder_read(&p, data, n, type);
}
