/*
 * Pyroscope's transport trie: folded stacks that share their beginnings.
 *
 *	node := varint(n) bytes[n] varint(value) varint(children) node*
 *
 * A node's key is the bytes from the root on; with a value it is a stack,
 * "main;read".  Bytes are cut anywhere.  {"abc": 1, "abd": 2} is
 *
 *	00 00 01  02 'a' 'b' 00 02  01 'c' 01 00  01 'd' 02 00
 */
#ifndef FCGI_FORMAT_TRIE_H
#define FCGI_FORMAT_TRIE_H

#include <stddef.h>

struct err;
struct stacks;
struct stacks_type;

/* `type` NULL: folded_samples.  Errors: ERR_FORMAT with the byte offset,
 * ERR_REQUEST 413 for what is too deep, those of stacks. */
const struct err *trie_parse(struct stacks *s, const void *data, size_t n,
    const struct stacks_type *type);

#endif
