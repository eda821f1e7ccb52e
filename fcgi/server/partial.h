/*
 * What answers say of data that they lack by damage: in JSON a list, in all
 * formats the header MemLens-Partial, in pictures and names a few words.
 * The store notes it while it answers (store_missing()).
 */
#ifndef FCGI_PARTIAL_H
#define FCGI_PARTIAL_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct store;
struct writer;

/* Does what was read of [from, until) lack anything? */
bool partial_is(struct store *s, int64_t from_ns, int64_t until_ns);

/* The member "partial" of an open object: [{from, until, why}], of what
 * touches the range; [] when all is there. */
void partial_put(struct writer *w, struct store *s, int64_t from_ns,
    int64_t until_ns);

/* The same for answers without a state of their own: "state": "partial"
 * before it, where it is. */
void partial_put_state(struct writer *w, struct store *s, int64_t from_ns,
    int64_t until_ns);

/* The header's value: "1700000000-1700000640 why; ..." of the whole answer;
 * nothing when all is there. */
void partial_put_header(struct buf *out, struct store *s);

/* "lacks 2026-11-21 10:00:00 to 10:10:40 UTC: why; ..." and nothing when all
 * is there; not NUL-terminated. */
void partial_put_words(struct buf *out, struct store *s, int64_t from_ns,
    int64_t until_ns);

#endif
