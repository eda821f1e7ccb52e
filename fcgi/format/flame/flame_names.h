/*
 * The functions of a tree, numbered in the order of first sight: a name, a
 * kind of code, and whether it is one that is inlined.
 */
#ifndef FCGI_FORMAT_FLAME_NAMES_H
#define FCGI_FORMAT_FLAME_NAMES_H

#include "fcgi/format/flame/flame.h"
#include "store/base/hashtable.h"

/* A profile has few distinct strings, and most come by the same address. */
struct flame_recent {
	const char *text, *module;
	enum frame_kind kind;
	uint32_t name;
};

struct flame_names {
	struct flame_name *names; /* strings are borrowed */
	uint32_t n, cap;
	struct hashtable table; /* of them */
	uint32_t *hashes;       /* of each */
	uint32_t hashes_cap;
	struct flame_recent *recent; /* by address */
	uint32_t n_recent;
	bool failed; /* out of memory: all numbers are 0 from then on */
};

/* For a tree of so many nodes; false when out of memory. */
bool flame_names_init(struct flame_names *t, size_t n_nodes);
void flame_names_fini(struct flame_names *t);

/* The number of a name, new or old. */
uint32_t flame_names_put(struct flame_names *t, const char *text,
    enum flame_kind kind, bool inlined);
/* That of a node. */
static inline uint32_t
flame_names_of(struct flame_names *t, const struct profile_node *n,
    bool merge_inlined)
{
	struct flame_recent *r = &t->recent[
	    ((uintptr_t)n->name * 0x9e3779b1u >> 12) & (t->n_recent - 1)];

	if (r->text != n->name || r->module != n->module ||
	    r->kind != n->kind)
		*r = (struct flame_recent){n->name, n->module, n->kind,
		    flame_names_put(t, n->name,
		        flame_kind_of(n->kind, n->module),
		        n->kind == FRAME_INLINED && !merge_inlined)};
	return r->name;
}

#endif
