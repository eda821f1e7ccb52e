/*
 * Pyroscope's transport tree: a call tree with its names in place.
 *
 *	node := varint(n) bytes[n] varint(self) varint(children) node*
 *
 * The root's name is empty.  {"a;b": 1, "a;c": 2} is
 *
 *	00 00 01  01 'a' 00 02  01 'b' 01 00  01 'c' 02 00
 */
#ifndef FCGI_FORMAT_TREE_H
#define FCGI_FORMAT_TREE_H

#include <stddef.h>

struct err;
struct stacks;
struct stacks_type;

/* `type` NULL: folded_samples.  Errors: as trie_parse(). */
const struct err *tree_parse(struct stacks *s, const void *data, size_t n,
    const struct stacks_type *type);

#endif
