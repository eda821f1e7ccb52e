/*
 * The store of a worker: opened when it is first asked for, refreshed for
 * each request, opened anew after an error.
 */
#include "fcgi/server/context.h"

#include <errno.h>

#include "fcgi/server/settings.h"
#include "fcgi/server/watch.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch_client.h"

void
context_init(struct context *c, const struct settings *settings,
    const char *store_dir)
{
	*c = (struct context){.settings = settings, .store_dir = store_dir,
	    .started_ns = clock_wall_ns()};
}

void
context_fini(struct context *c)
{
	store_close(c->store);
	batch_client_close(c->post);
	tally_fini(&c->ingest.totals);
	told_fini(&c->told);
	c->store = NULL;
}

/* What is left beside the cache, at what a node takes in the reader, in a
 * query's scratch and in the answer where all nodes are different. */
#define CONTEXT_NODE_BYTES 560

static uint32_t
context_most_nodes(const struct settings *s)
{
	int64_t half = s->memory_bytes / 2;
	int64_t room = s->cache_bytes < half ? s->memory_bytes -
	    s->cache_bytes : half;

	if (s->memory_bytes == 0 || room / CONTEXT_NODE_BYTES > UINT32_MAX)
		return UINT32_MAX;
	return (uint32_t)(room / CONTEXT_NODE_BYTES);
}

static const struct err *
context_open(struct context *c)
{
	const struct err *e;

	e = store_open(&c->store, c->store_dir,
	    (size_t)c->settings->cache_bytes);
	if (e == NULL)
		store_bound_nodes(c->store, context_most_nodes(c->settings));
	if (e == NULL)
		return NULL;
	c->store = NULL;
	if (e->domain == ERR_ERRNO && e->code == ENOENT)
		return err_new(ERR_REQUEST, 503,
		    "there is no store yet: has memlensd been started?");
	return err_new(ERR_REQUEST, 503, "the store cannot be read: %s",
	    e->text);
}

const struct err *
context_store(struct context *c, struct store **s)
{
	const struct err *e = NULL;

	watch_spare(true);
	if (c->store != NULL && store_refresh(c->store) != NULL) {
		store_close(c->store);
		c->store = NULL;
	}
	if (c->store == NULL)
		e = context_open(c);
	watch_spare(false);
	*s = c->store;
	return e;
}
