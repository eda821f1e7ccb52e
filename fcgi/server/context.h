/*
 * What a worker keeps from request to request: caches, nothing else.  It can
 * die at any time.
 */
#ifndef FCGI_CONTEXT_H
#define FCGI_CONTEXT_H

#include "fcgi/server/tally.h"
#include "fcgi/server/told.h"
#include "store/store.h"

struct err;
struct graph_cache;
struct push_cache;
struct batch_client;
struct draw;
struct settings;

/* Totals of this worker, for the counters that go with what is pushed. */
struct context_ingest {
	char key[33]; /* of the last push: sent again with it, it counts once;
	               * "" where the client has given one */
	struct tally totals;
	struct {
		const char *why; /* a constant; NULL: free */
		int64_t n;       /* requests; not told the store yet */
	} refused[8];
	int64_t tell_ns; /* monotonic: not told the store before that */
};

struct context {
	const struct settings *settings; /* borrowed */
	const char *store_dir;           /* borrowed */
	struct draw *draw;               /* borrowed */
	struct store *store;             /* NULL: not opened yet */
	struct graph_cache *graphs;      /* NULL: empty */
	struct context_ingest ingest;
	struct push_cache *kept;               /* of pushes; NULL: nothing */
	struct told told;                /* places of pushed functions */
	struct batch_client *post; /* to memlensd; NULL: none open */
	int64_t slot_ns;                 /* of the store; 0: not known */
	int64_t started_ns;
	unsigned number;                 /* of this worker in its pool */
};

void context_init(struct context *c, const struct settings *settings,
    const char *store_dir);
void context_fini(struct context *c);

/* The store as it is now.  Errors: ERR_REQUEST 503 while there is none. */
const struct err *context_store(struct context *c, struct store **s);

#endif
