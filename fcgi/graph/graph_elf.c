/*
 * The graph of a program's libraries, breadth first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/graph/elf_deps.h"
#include "fcgi/graph/graph_read.h"
#include "fcgi/graph/ld_cache.h"
#include "fcgi/server/child.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define PATH_ROOM 4096

static const struct child_limits limits = {10 * NS_PER_S, 256u << 20,
    32u << 20};

static const char *const folders[] = {"/lib64", "/usr/lib64",
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib",
    "/usr/lib"};

struct elf_walk {
	const char *path; /* of the program */
	unsigned depth;
	struct graph *g;
	struct ld_cache *cache;
	char *rpath;      /* of the program: its libraries inherit it */
	char *where[GRAPH_NODES_MAX]; /* path of each node, or NULL */
	unsigned level[GRAPH_NODES_MAX];
	int machine, class;
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
	if (to == before) { /* it is new */
		w->where[to] = found ? strdup(path) : NULL;
		w->level[to] = w->level[from] + 1;
	}
}

static void
elf_visit(struct elf_walk *w, uint32_t node)
{
	struct elf_deps d;

	if (w->where[node] == NULL) {
		w->g->cut = true; /* what it needs is not known */
		return;
	}
	if (elf_deps_read(&d, w->where[node]) == NULL)
		for (size_t i = 0; i < d.n_needed; i++)
			elf_add(w, node, &d, d.needed[i]);
	else
		w->g->cut = true;
	elf_deps_fini(&d);
}

static bool
elf_begin_walk(struct elf_walk *w)
{
	const char *slash = strrchr(w->path, '/');
	struct elf_deps d;
	bool fine = elf_deps_read(&d, w->path) == NULL;

	if (fine) {
		w->machine = d.machine;
		w->class = d.class;
		w->rpath = d.runpath == NULL && d.rpath != NULL
		    ? strdup(d.rpath) : NULL;
		w->where[graph_node(w->g, slash ? slash + 1 : w->path)] =
		    strdup(w->path);
	}
	elf_deps_fini(&d);
	return fine;
}

/* Runs in a child that ends right after: nothing is freed.  Writes nothing of
 * what is no ELF file. */
static bool
elf_load(void *arg, struct buf *out)
{
	struct elf_walk *w = arg;

	w->g = graph_new();
	w->cache = ld_cache_open("/etc/ld.so.cache");
	if (w->g == NULL)
		return false;
	if (!elf_begin_walk(w))
		return true;
	for (uint32_t i = 0; i < w->g->n_nodes; i++)
		if (w->level[i] < w->depth)
			elf_visit(w, i);
	graph_encode(w->g, out);
	return !w->g->failed;
}

const struct err *
graph_read_elf(const char *path, unsigned depth, struct graph **out)
{
	struct elf_walk *w = calloc(1, sizeof(*w));
	struct buf data = {0};
	const struct err *e;

	*out = NULL;
	if (w == NULL)
		return err_nomem();
	w->path = path;
	w->depth = depth;
	e = access(path, R_OK) < 0 ? err_errno("%s", path)
	    : child_run("reading the program", &limits, elf_load, w, &data);
	if (e == NULL && data.len == 0)
		e = err_new(ERR_REQUEST, 422, "%.200s is no ELF file of a "
		    "program or library", path);
	if (e == NULL)
		e = graph_decode(data.data, data.len, out);
	buf_fini(&data);
	free(w);
	return e;
}
