/*
 * Open addressing with linear probing, at most half full.
 */
#include "fcgi/format/stacks_cache.h"

#include <stdlib.h>

void
stacks_cache_fini(struct stacks_cache *c)
{
	buf_fini(&c->text);
	free(c->table);
	*c = (struct stacks_cache){0};
}

static void
cache_place(struct stacks_cache *c, const struct stacks_cache_entry *e)
{
	uint32_t at = e->hash & c->mask;

	while (c->table[at].len != 0)
		at = (at + 1) & c->mask;
	c->table[at] = *e;
}

static bool
cache_grow(struct stacks_cache *c)
{
	struct stacks_cache old = *c;
	size_t n = old.table == NULL ? 1024 : 2 * ((size_t)old.mask + 1);

	c->table = calloc(n, sizeof(*c->table));
	if (c->table == NULL) {
		c->table = old.table;
		return false;
	}
	c->mask = (uint32_t)n - 1;
	for (size_t i = 0; old.table != NULL && i <= old.mask; i++)
		if (old.table[i].len != 0)
			cache_place(c, &old.table[i]);
	free(old.table);
	return true;
}

bool
stacks_cache_add(struct stacks_cache *c, uint32_t hash, const char *p,
    size_t n, uint32_t value)
{
	struct stacks_cache_entry e = {hash, (uint32_t)c->text.len,
	    (uint32_t)n, value};

	if (c->text.len + n > UINT32_MAX ||
	    ((c->table == NULL || c->n >= c->mask / 2) && !cache_grow(c)))
		return false;
	buf_put(&c->text, p, n);
	if (c->text.failed)
		return false;
	cache_place(c, &e);
	c->n++;
	return true;
}
