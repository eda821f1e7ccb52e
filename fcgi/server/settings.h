/*
 * The worker's configuration, memlens-fcgi.conf.  One table of keys
 * (settings.c) is the defaults, the ranges, the errors and, by a test, the
 * manual page.  An empty file works, and so does none.
 */
#ifndef FCGI_SETTINGS_H
#define FCGI_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/conf.h"

struct err;

#define SETTINGS_GRAPHS_MAX 32

#define SETTINGS_GRAPH_NAME_MAX 255 /* bytes */

/* [graph NAME]: one of elf and bazel is set. */
struct settings_graph {
	char *name;
	char *elf;   /* service, or path of an executable */
	char *bazel; /* path of the output of bazel query --output graph */
	char *root;  /* bazel: label of the root; NULL: the first node */
	char *complete; /* bazel: not "" where the operator says that the file
	                 * lacks no level; or NULL */
};

struct settings {
	/* [worker] */
	char *hosts; /* names of this server, for guard.h; NULL: none */
	int64_t deadline_ns;  /* of a request, after which its worker dies */
	int64_t memory_bytes; /* of a worker; 0: no limit */
	int64_t cache_bytes;  /* for the store, of all workers of a pool */
	char *draw; /* path of memlens-draw; never NULL once loaded */
	/* [collector] */
	char *collector_socket; /* of memlensd: where batches go */
	/* [health] */
	int64_t stale_ns; /* age of the newest slot at which we are down */
	/* [kv] */
	char *kv_target; /* "address:port", a URL of it, or "unix:/path";
	                  * NULL: none */
	char *kv_ca; /* of an https target; NULL: the system's */
	bool kv_allow_put;
	int64_t kv_timeout_ns;
	/* [fault] */
	char *fault_command; /* a program's path and its arguments, parted by
	                      * blanks; NULL: none */
	int64_t fault_time_ns; /* that it may take */
	int64_t fault_span_ns; /* to be compared before it, and after */
	/* [graph NAME] */
	struct settings_graph graphs[SETTINGS_GRAPHS_MAX];
	size_t n_graphs;
};

extern const struct conf_spec settings_spec;

/* Defaults, then the file unless path is NULL.  Errors as conf_load(). */
const struct err *settings_load(struct settings *s, const char *path);
void settings_free(struct settings *s);

/* The graph of this name; the first for NULL; NULL when there is none. */
const struct settings_graph *settings_find_graph(const struct settings *s,
    const char *name);

#endif
