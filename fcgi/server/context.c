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
#include "store/base/heap.h"
#include "store/batch/batch_client.h"

/* What nobody asks for any more is among what somebody does: all of it goes
 * after so long, and what is still asked for comes back. */
#define CONTEXT_FRESH_NS (600 * NS_PER_S)
#define CONTEXT_TRIM_NS NS_PER_S
#define CONTEXT_REST_NS (120 * NS_PER_S)

void
context_init(struct context *c, const struct settings *settings,
    const char *store_dir)
{
	*c = (struct context){.settings = settings, .store_dir = store_dir,
	    .turns = -1, .fault = -1, .started_ns = clock_wall_ns()};
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

void
context_asked(struct context *c)
{
	if (c->store != NULL && store_rest(c->store))
		heap_trim();
	c->asked_ns = clock_mono_ns();
	if (c->first_ns == 0 || c->rested > 0)
		c->first_ns = c->asked_ns;
	c->rested = 0;
}

static void
context_trim(struct context *c, void (*rest)(struct context *c))
{
	(void)c;
	(void)rest;
	heap_trim();
}

static void
context_rest(struct context *c, void (*rest)(struct context *c))
{
	rest(c);
	store_close(c->store);
	c->store = NULL;
	heap_trim();
}

int
context_idle(struct context *c, void (*rest)(struct context *c))
{
	static const struct {
		int64_t after_ns;
		void (*go)(struct context *c, void (*rest)(struct context *c));
	} steps[] = {
	    {CONTEXT_TRIM_NS, context_trim},
	    {CONTEXT_REST_NS, context_rest},
	};

	if (c->asked_ns == 0)
		return -1;
	for (; c->rested < sizeof(steps) / sizeof(steps[0]); c->rested++) {
		int64_t since_ns = c->rested == 0 ? c->first_ns : c->asked_ns;
		int64_t left = since_ns + steps[c->rested].after_ns -
		    clock_mono_ns();

		if (left > 0)
			return (int)(left / NS_PER_MS) + 1;
		steps[c->rested].go(c, rest);
	}
	return -1;
}

/* At what a node takes in the reader and in a query's scratch where all nodes
 * are different.  The cache is no part of it: it decides how fast an answer
 * is, and not whether there is one. */
#define CONTEXT_NODE_BYTES 256

/* The workers of a pool share its cache by halves, thirds...: which of them
 * gets a question is chance. */
static int64_t
context_cache(const struct context *c)
{
	return c->settings->cache_bytes / (c->workers > 0 ? c->workers : 1);
}

static uint32_t
context_most_nodes(const struct context *c)
{
	int64_t most = c->settings->memory_bytes / CONTEXT_NODE_BYTES;

	return most == 0 || most > UINT32_MAX ? UINT32_MAX : (uint32_t)most;
}

static const struct err *
context_open(struct context *c)
{
	const struct err *e;

	c->fresh_ns = clock_mono_ns();
	e = store_open(&c->store, c->store_dir, (size_t)context_cache(c));
	if (e == NULL)
		store_bound_nodes(c->store, context_most_nodes(c));
	if (e == NULL)
		return NULL;
	c->store = NULL;
	if (e->domain == ERR_ERRNO && e->code == ENOENT)
		return err_new(ERR_REQUEST, 503,
		    "there is no store yet: has memlensd been started?");
	return err_new(ERR_REQUEST, 503, "the store cannot be read: %s",
	    e->text);
}

bool
context_forget(struct context *c)
{
	if (c->store == NULL)
		return false;
	store_close(c->store);
	c->store = NULL;
	heap_trim();
	return true;
}

const struct err *
context_store(struct context *c, struct store **s)
{
	const struct err *e = NULL;

	watch_spare(true);
	if (c->store != NULL &&
	    clock_mono_ns() - c->fresh_ns > CONTEXT_FRESH_NS) {
		store_forget(c->store);
		c->fresh_ns = clock_mono_ns();
	}
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
