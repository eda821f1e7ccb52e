/*
 * Frames that are whole become nodes at once; what is behind the last ';'
 * waits for more bytes.
 */
#include "fcgi/format/in/trie.h"

#include <string.h>

#include "fcgi/format/in/preorder.h"
#include "fcgi/format/stacks.h"
#include "store/base/err.h"

#define KEY_MAX (1u << 20)  /* bytes of a stack */
#define WORK_MAX (1u << 30) /* bytes of names looked up */

static uint32_t
trie_child(struct preorder *p, uint32_t node, size_t from, size_t until)
{
	const char *key = p->key.data == NULL ? "" /* nameless */
	    : (const char *)p->key.data;

	p->work += until - from;
	return preorder_child(p, node, key + from, until - from);
}

/* Frames of the key that a ';' has ended become nodes. */
static void
trie_close_frames(struct preorder *p, struct preorder_level *l, size_t from)
{
	const char *key = (const char *)p->key.data, *end;

	while (from < l->len &&
	    (end = memchr(key + from, ';', l->len - from)) != NULL) {
		from = (size_t)(end - key) + 1;
		l->node = trie_child(p, l->node, l->frame, from - 1);
		l->frame = from;
	}
}

static const struct err *
trie_put(struct preorder *p, const char *bytes, size_t n, uint64_t value,
    struct preorder_level *l)
{
	size_t from = l->len;
	uint32_t node;

	if (from + n > KEY_MAX || p->work > WORK_MAX)
		return err_new(ERR_REQUEST, 413, "trie: too long a stack");
	p->key.len = from;
	buf_put(&p->key, bytes, n);
	if (p->key.failed)
		return err_nomem();
	l->len += n;
	trie_close_frames(p, l, from);
	if (value == 0)
		return NULL;
	node = l->node;
	if (l->frame < l->len || node == 0)
		node = trie_child(p, node, l->frame, l->len);
	stacks_add(p->s, node, p->type, (int64_t)value);
	return NULL;
}

const struct err *
trie_parse(struct stacks *s, const void *data, size_t n,
    const struct stacks_type *type)
{
	struct preorder p = {.s = s, .what = "trie", .put = trie_put};

	return preorder_read(&p, data, n, type);
}
