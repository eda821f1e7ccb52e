/*
 * A walk without recursion.  Frames that are whole become nodes at once;
 * what is behind the last ';' waits for more bytes.
 */
#include "trie.h"

#include <stdlib.h>
#include <string.h>

#include "folded.h"
#include "stacks.h"
#include "store/base/buf.h"
#include "store/base/err.h"

#define DEPTH_MAX 65536u       /* nodes from the root */
#define KEY_MAX (1u << 20)     /* bytes of a stack */
#define WORK_MAX (1u << 30)    /* bytes of names looked up */

struct level {
	size_t len;     /* of the key */
	size_t frame;   /* where its last, open frame begins */
	uint32_t node;  /* of the frames before that */
	uint64_t left;  /* children to come */
};

struct trie {
	struct stacks *s;
	uint32_t type;
	struct cur c;
	const uint8_t *start;
	struct buf key;
	struct level *levels;
	size_t n, cap;
	size_t work;
};

static const struct err *
trie_bad(const struct trie *t, const char *why)
{
	size_t at = (size_t)(t->c.p - t->start);

	return err_new(ERR_FORMAT, (int)at, "trie: byte %zu: %s", at, why);
}

static uint32_t
trie_child(struct trie *t, uint32_t node, size_t from, size_t until)
{
	const char *name = (const char *)t->key.data + from;
	size_t n = until - from;
	int kind = folded_kind(name, &n);

	t->work += n;
	return stacks_child(t->s, node, stacks_frame_named(t->s,
	    (enum frame_kind)kind, name, n));
}

/* Frames of the key that a ';' has ended become nodes. */
static void
trie_close_frames(struct trie *t, struct level *l, size_t from)
{
	const char *key = (const char *)t->key.data, *end;

	while (from < l->len &&
	    (end = memchr(key + from, ';', l->len - from)) != NULL) {
		from = (size_t)(end - key) + 1;
		l->node = trie_child(t, l->node, l->frame, from - 1);
		l->frame = from;
	}
}

static const struct err *
trie_push(struct trie *t, const struct level *l)
{
	size_t cap = t->cap ? t->cap * 2 : 64;
	struct level *levels;

	if (t->n == DEPTH_MAX)
		return err_new(ERR_REQUEST, 413, "trie: deeper than %u",
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

static const struct err *
trie_node(struct trie *t)
{
	struct level l = {0, 0, 0, 0};
	const uint8_t *bytes;
	uint64_t value;
	size_t n, from;

	if (t->n > 0)
		l = t->levels[t->n - 1];
	bytes = cur_bytes(&t->c, &n);
	value = cur_varint(&t->c);
	l.left = cur_varint(&t->c);
	if (t->c.bad)
		return trie_bad(t, "ends early");
	if (value > INT64_MAX)
		return trie_bad(t, "a value is over 2^63");
	if (l.left > cur_left(&t->c) / 3)
		return trie_bad(t, "more children than bytes");
	if (l.len + n > KEY_MAX || t->work > WORK_MAX)
		return err_new(ERR_REQUEST, 413, "trie: too long a stack");
	from = t->key.len = l.len;
	buf_put(&t->key, bytes, n);
	if (t->key.failed)
		return err_nomem();
	l.len += n;
	trie_close_frames(t, &l, from);
	if (value > 0) {
		uint32_t node = l.node;

		if (l.frame < l.len || node == 0)
			node = trie_child(t, node, l.frame, l.len);
		stacks_add(t->s, node, t->type, (int64_t)value);
	}
	return trie_push(t, &l);
}

static const struct err *
trie_walk(struct trie *t)
{
	const struct err *e = trie_node(t);

	while (e == NULL && t->n > 0) {
		struct level *top = &t->levels[t->n - 1];

		if (top->left == 0) {
			t->n--;
			continue;
		}
		top->left--;
		e = trie_node(t);
		if (e == NULL)
			e = stacks_error(t->s);
	}
	if (e == NULL && cur_left(&t->c) > 0)
		e = trie_bad(t, "more bytes than the root's tree");
	return e;
}

const struct err *
trie_parse(struct stacks *s, const void *data, size_t n,
    const struct stacks_type *type)
{
	struct trie t = {.s = s, .c = cur_of(data, n), .start = data};
	const struct err *e;

	t.type = stacks_type(s, type != NULL ? type : &folded_samples);
	e = trie_walk(&t);
	buf_fini(&t.key);
	free(t.levels);
	return e;
}
