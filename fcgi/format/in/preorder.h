/*
 * The wire form that Pyroscope's trie and tree share: nodes in pre-order.
 *
 *	node := varint(n) bytes[n] varint(value) varint(children) node*
 *
 * Here are its walk, which does not recurse, and its bounds; what a node's
 * bytes mean is its reader's.
 */
#ifndef FCGI_FORMAT_PREORDER_H
#define FCGI_FORMAT_PREORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"

struct err;
struct stacks;
struct stacks_type;
struct preorder;

/* What a node hands down to its children. */
struct preorder_level {
	uint64_t left; /* children to come: the walk's own */
	uint32_t node; /* of the stacks */
	size_t len;    /* of the trie's key */
	size_t frame;  /* where its last, open frame begins */
};

/* Puts a node; value is below 2^63.  `l` is its parent's level, all zero
 * for the root, and becomes its own. */
typedef const struct err *preorder_fn(struct preorder *p, const char *bytes,
    size_t n, uint64_t value, struct preorder_level *l);

struct preorder {
	struct stacks *s;
	const char *what; /* "trie": in errors */
	preorder_fn *put;
	uint32_t type;    /* of the stacks */
	struct buf key;   /* the trie's: bytes from the root on */
	size_t work;      /* and those that were looked up as names */
	/* private */
	struct cur c;
	const uint8_t *start;
	struct preorder_level *levels;
	size_t n, cap;
};

/*
 * Reads all of data, with s, what and put set and the rest zero; `type`
 * NULL: folded_samples.  Errors: ERR_FORMAT with the byte offset,
 * ERR_REQUEST 413 for what is too deep, those of put and of the stacks.
 */
const struct err *preorder_read(struct preorder *p, const void *data,
    size_t n, const struct stacks_type *type);

/* Is this node the root? */
bool preorder_at_root(const struct preorder *p);

/* ERR_FORMAT with the place. */
const struct err *preorder_bad(const struct preorder *p, const char *why);

/* A frame by its folded name below a node. */
uint32_t preorder_child(struct preorder *p, uint32_t node, const char *name,
    size_t n);

#endif
