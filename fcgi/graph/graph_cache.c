/*
 * A ring of a few answers.
 */
#include "fcgi/graph/graph_cache.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES 12
#define ANSWER_MAX (4u << 20)

struct graph_cache_entry {
	char *key;
	uint64_t stamp;
	struct buf answer;
};

struct graph_cache {
	struct graph_cache_entry entries[ENTRIES];
	unsigned next;
};

static void
graph_cache_drop(struct graph_cache_entry *e)
{
	free(e->key);
	e->key = NULL;
	buf_fini(&e->answer);
}

bool
graph_cache_get(const struct graph_cache *c, const char *key, uint64_t stamp,
    struct buf *out)
{
	for (unsigned i = 0; c != NULL && i < ENTRIES; i++) {
		const struct graph_cache_entry *e = &c->entries[i];

		if (e->key != NULL && e->stamp == stamp &&
		    strcmp(e->key, key) == 0) {
			buf_put(out, e->answer.data, e->answer.len);
			return true;
		}
	}
	return false;
}

void
graph_cache_put(struct graph_cache **c, const char *key, uint64_t stamp,
    const struct buf *answer)
{
	struct graph_cache_entry *e;

	if (answer->failed || answer->len > ANSWER_MAX)
		return;
	if (*c == NULL && (*c = calloc(1, sizeof(**c))) == NULL)
		return;
	e = &(*c)->entries[(*c)->next++ % ENTRIES];
	graph_cache_drop(e);
	e->stamp = stamp;
	buf_put(&e->answer, answer->data, answer->len);
	e->key = strdup(key);
	if (e->answer.failed)
		graph_cache_drop(e);
}

void
graph_cache_free(struct graph_cache *c)
{
	for (unsigned i = 0; c != NULL && i < ENTRIES; i++)
		graph_cache_drop(&c->entries[i]);
	free(c);
}
