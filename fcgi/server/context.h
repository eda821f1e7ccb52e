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
struct health_told;
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
	int turns;                       /* of its pool: turn.h */
	int fault; /* to who runs the command of [fault]; -1: nobody does */
	struct store *store;             /* NULL: not opened yet */
	struct graph_cache *graphs;      /* NULL: empty */
	struct health_told *health;      /* NULL: nothing is kept of it */
	struct context_ingest ingest;
	struct push_cache *kept;               /* of pushes; NULL: nothing */
	struct told told;                /* places of pushed functions */
	int kv_reads[2]; /* enum kv_reads (fcgi/kv/kv.h) of the target: of
	                  * keys in ASCII, and of others */
	struct batch_client *post; /* to memlensd; NULL: none open */
	int64_t slot_ns;                 /* of the store; 0: not known */
	int64_t started_ns;
	unsigned number;                 /* of this worker in its pool, */
	unsigned workers;                /* which has so many */
	int64_t fresh_ns; /* monotonic: when the store last knew no names */
	int64_t asked_ns; /* the same: the last answer's end; 0: none yet */
	int64_t first_ns; /* and of the first since memory was given back */
	unsigned rested;  /* steps of context_idle() since asked_ns */
};

void context_init(struct context *c, const struct settings *settings,
    const char *store_dir);
void context_fini(struct context *c);

/* The store as it is now.  Errors: ERR_REQUEST 503 while there is none. */
const struct err *context_store(struct context *c, struct store **s);

/* Closes the store until it is asked for: what earlier questions have left of
 * it is memory that one has lacked.  False: there was none. */
bool context_forget(struct context *c);

/*
 * What a worker does with its memory between questions: a second after the
 * first one what malloc has free goes back to the kernel (not sooner: a page
 * asks many questions, and each would fault it in again; not later: several
 * pages never let a second go by); after two minutes without one the store
 * is closed until somebody asks, and `rest` frees what pages keep.  In how
 * many milliseconds to call again, -1: not before another request.
 */
int context_idle(struct context *c, void (*rest)(struct context *c));
/* A request has been answered; what a large one has taken goes at once. */
void context_asked(struct context *c);

#endif
