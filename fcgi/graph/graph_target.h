/*
 * From the name of a target to its graph: what memlens graph has told the
 * store of it, else the file that the configuration names for it.
 */
#ifndef FCGI_GRAPH_TARGET_H
#define FCGI_GRAPH_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "fcgi/server/settings.h"
#include "store/base/buf.h"

struct context;
struct err;
struct graph;
struct request;

struct graph_target {
	char name[SETTINGS_GRAPH_NAME_MAX + 1];
	char path[4096];    /* of the file that it is read from, or "" */
	int64_t written_ns; /* when that file was */
	int64_t started_ns; /* of the process that runs it; 0: none is known */
	int64_t told_ns;    /* when the store was told of it; 0: not at all */
	int64_t until_ns;   /* end of the range that it is asked for */
	uint64_t stamp;     /* of what it is read from */
	struct buf code;    /* graph_decode()'s, where the store has it */
	const struct settings_graph *settings; /* NULL: not configured */
};

/* Finds it; name NULL: the first.  Errors: ERR_REQUEST 404 for what nobody
 * knows or what is gone.  graph_target_fini() after any outcome. */
const struct err *graph_target_find(struct graph_target *t,
    struct context *c, const struct request *rq, const char *name,
    int64_t until_ns);
void graph_target_fini(struct graph_target *t);

/* Is the file not what the process began with?  Then its libraries may not
 * be those that run. */
bool graph_target_is_newer(const struct graph_target *t);

/* The whole graph and its root, from the worker's cache where it is there. */
const struct err *graph_target_load(const struct graph_target *t,
    struct context *c, struct graph **out, uint32_t *root);

#endif
