/*
 * The way of a name that was not met by its address before.
 */
#include "fcgi/format/flame/flame_names.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/buf.h"

#define RECENT 4096u /* powers of two: of a small profile, of a large one */
#define RECENT_LARGE 16384u

bool
flame_names_init(struct flame_names *t, size_t n_nodes)
{
	*t = (struct flame_names){
	    .n_recent = n_nodes > RECENT ? RECENT_LARGE : RECENT};
	t->recent = calloc(t->n_recent, sizeof(*t->recent));
	return t->recent != NULL;
}

void
flame_names_fini(struct flame_names *t)
{
	free(t->names);
	free(t->recent);
	free(t->hashes);
	hashtable_fini(&t->table);
}

static uint32_t
flame_names_hash(const void *hashes, uint32_t i)
{
	return ((const uint32_t *)hashes)[i];
}

uint32_t
flame_names_put(struct flame_names *t, const char *text, enum flame_kind kind,
    bool inlined)
{
	uint32_t hash = (uint32_t)hash64(kind, text, strlen(text));

	if (t->failed)
		return 0;
	hashtable_each(i, &t->table, hash) {
		const struct flame_name *n = &t->names[i];

		if (n->kind == kind && n->inlined == inlined &&
		    strcmp(n->text, text) == 0)
			return i;
	}
	if (!array_room(&t->names, t->n + 1, &t->cap) ||
	    !array_room(&t->hashes, t->n + 1, &t->hashes_cap) ||
	    !hashtable_room(&t->table, t->n + 1, flame_names_hash,
	    t->hashes)) {
		t->failed = true;
		return 0;
	}
	t->names[t->n] = (struct flame_name){text, kind, inlined};
	t->hashes[t->n] = hash;
	hashtable_add(&t->table, hash, t->n);
	return t->n++;
}
