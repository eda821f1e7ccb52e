/*
 * The graph of a program's libraries, breadth first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/graph/read/debian.h"
#include "fcgi/graph/read/elf_deps.h"
#include "fcgi/graph/read/graph_private.h"
#include "fcgi/graph/read/graph_read.h"
#include "fcgi/graph/read/ld_cache.h"
#include "store/base/err.h"

#define PATH_ROOM 4096

static const char *const folders[] = {"/lib64", "/usr/lib64",
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib",
    "/usr/lib"};

struct elf_walk {
	const char *path; /* of the program */
	struct graph *g;
	struct ld_cache *cache;
	char *rpath;      /* of the program: its libraries inherit it */
	char *where[GRAPH_NODES_MAX]; /* path of each node, or NULL */
	int machine, class;
	struct buf partly; /* ", FILE" of each that is not whole */
};

/* Is there a library of the program's kind? */
static bool
elf_is_match(const struct elf_walk *w, const char *path)
{
	struct elf_deps d;
	bool match;

	if (access(path, R_OK) < 0)
		return false;
	match = elf_deps_read(&d, path) == NULL && d.machine == w->machine &&
	    d.class == w->class;
	elf_deps_fini(&d);
	return match;
}

/* One folder of a path list, with $ORIGIN replaced. */
static void
elf_expand(const char *folder, size_t n, const char *origin, char *out)
{
	const char *slash = strrchr(origin, '/');
	int dir = slash != NULL ? (int)(slash - origin) : 0;
	size_t skip = 0;

	if (n >= 7 && strncmp(folder, "$ORIGIN", 7) == 0)
		skip = 7;
	else if (n >= 9 && strncmp(folder, "${ORIGIN}", 9) == 0)
		skip = 9;
	snprintf(out, PATH_ROOM, "%.*s%.*s", skip ? dir : 0, origin,
	    (int)(n - skip), folder + skip);
}

/* Looks in each folder of "a:b:c"; the path in `out` when it is there. */
static bool
elf_search(const struct elf_walk *w, const char *list, const char *origin,
    const char *name, char *out)
{
	char folder[PATH_ROOM];

	while (list != NULL && *list != '\0') {
		size_t n = strcspn(list, ":");

		elf_expand(list, n, origin, folder);
		if (snprintf(out, PATH_ROOM, "%s/%s", folder, name) <
		    PATH_ROOM && folder[0] == '/' && elf_is_match(w, out))
			return true;
		list += n;
		list += *list == ':';
	}
	return false;
}

static bool
elf_resolve(const struct elf_walk *w, const struct elf_deps *d,
    const char *origin, const char *name, char *out)
{
	const char *cached;

	if (strchr(name, '/') != NULL) {
		snprintf(out, PATH_ROOM, "%s", name);
		return name[0] == '/' && elf_is_match(w, out);
	}
	if (d->runpath == NULL &&
	    (elf_search(w, d->rpath, origin, name, out) ||
	    elf_search(w, w->rpath, w->path, name, out)))
		return true;
	if (elf_search(w, d->runpath, origin, name, out))
		return true;
	cached = ld_cache_find(w->cache, name);
	if (cached != NULL && strlen(cached) < PATH_ROOM &&
	    elf_is_match(w, cached)) {
		memcpy(out, cached, strlen(cached) + 1);
		return true;
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (elf_search(w, folders[i], "", name, out))
			return true;
	return false;
}

static void
elf_add(struct elf_walk *w, uint32_t from, const struct elf_deps *d,
    const char *name)
{
	char path[PATH_ROOM], text[GRAPH_NAME_MAX];
	bool found = elf_resolve(w, d, w->where[from], name, path);
	size_t before = w->g->n_nodes;
	uint32_t to;

	snprintf(text, sizeof(text), "%s%s", name,
	    found ? "" : " (not found)");
	to = graph_node(w->g, text);
	graph_edge(w->g, from, to, NULL);
	if (to != before || to == UINT32_MAX)
		return;
	w->g->nodes[to].kind = found ? GRAPH_LIBRARY : GRAPH_MISSING;
	w->where[to] = found ? realpath(path, NULL) : NULL;
}

/* The name that stacks know a file by. */
static const char *
elf_module(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static void
elf_visit(struct elf_walk *w, uint32_t node)
{
	struct elf_deps d;

	if (w->where[node] == NULL) {
		w->g->cut = true; /* what it needs is not known */
		return;
	}
	graph_own(w->g, GRAPH_BY_MODULE, elf_module(w->where[node]), node);
	if (elf_deps_read(&d, w->where[node]) != NULL || d.partly)
		buf_printf(&w->partly, ", %s", w->where[node]);
	else
		w->g->nodes[node].bytes = d.code_bytes;
	for (size_t i = 0; i < d.n_needed; i++)
		elf_add(w, node, &d, d.needed[i]);
	elf_deps_fini(&d);
}

static bool
elf_begin_walk(struct elf_walk *w)
{
	struct elf_deps d;
	bool fine = elf_deps_read(&d, w->path) == NULL;
	uint32_t root;

	if (fine) {
		w->machine = d.machine;
		w->class = d.class;
		w->rpath = d.runpath == NULL && d.rpath != NULL
		    ? strdup(d.rpath) : NULL;
		root = graph_node(w->g, elf_module(w->path));
		w->where[root] = realpath(w->path, NULL);
		w->g->nodes[root].kind = GRAPH_PROGRAM;
		graph_set(w->g, &w->g->module, w->where[root] != NULL
		    ? elf_module(w->where[root]) : "");
		graph_set(w->g, &w->g->origin.build_id, d.build_id);
	}
	elf_deps_fini(&d);
	return fine;
}

/* Of those files neither all that they need nor their size is known. */
static void
elf_say_partly(struct elf_walk *w)
{
	struct buf text = {0};

	if (w->partly.len == 0 && !w->partly.failed)
		return;
	w->g->cut = true;
	buf_printf(&text, "the libraries that %s and they themselves ask for "
	    "(DT_NEEDED); damaged or cut short:%.*s", w->path,
	    (int)w->partly.len - 1, (const char *)w->partly.data + 1);
	buf_put_u8(&text, 0);
	if (text.failed || w->partly.failed)
		w->g->failed = true;
	else
		graph_set(w->g, &w->g->origin.source,
		    (const char *)text.data);
	buf_fini(&text);
}

bool
graph_load_elf(struct graph *g, const struct graph_source *s)
{
	struct elf_walk *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return false;
	*w = (struct elf_walk){.path = s->path, .g = g,
	    .cache = ld_cache_open("/etc/ld.so.cache")};
	if (elf_begin_walk(w)) {
		for (uint32_t i = 0; i < g->n_nodes; i++)
			elf_visit(w, i);
		debian_packages(g, w->where, g->n_nodes, DEBIAN_FOLDER);
		g->origin.complete = GRAPH_WHOLE;
		elf_say_partly(w);
	}
	for (size_t i = 0; i < g->n_nodes; i++)
		free(w->where[i]);
	free(w->rpath);
	buf_fini(&w->partly);
	ld_cache_close(w->cache);
	free(w);
	if (g->n_nodes > 0)
		graph_load_goinfo(g, s->path);
	return !g->failed;
}
