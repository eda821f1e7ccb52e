/*
 * The graph of a build.ninja: what ninja -t graph prints, file by file, from
 * its default targets or one that is asked for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/graph/read/graph_private.h"
#include "fcgi/graph/read/graph_read.h"
#include "fcgi/graph/read/linked.h"
#include "fcgi/graph/read/ninja.h"
#include "fcgi/graph/read/read_file.h"

#define ORDER_ONLY "order only"

struct ninja_walk {
	struct graph *g;
	struct ninja ninja;
	struct linked linked;
};

static bool
ninja_ends(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

/* ---- what a file is ---- */

static void
ninja_kind(struct ninja_walk *w, uint32_t node, bool built)
{
	struct graph_node *n = &w->g->nodes[node];
	char path[GRAPH_NAME_MAX * 2];
	bool library = strstr(n->name, ".so") != NULL;

	if (!built && linked_is_library(n->name)) {
		n->kind = GRAPH_LIBRARY;
		w->linked.found++;
		linked_set(&w->linked, node, n->name);
		return;
	}
	if (ninja_ends(n->name, ".o")) {
		n->kind = GRAPH_OBJECT;
	} else if (built && !ninja_ends(n->name, ".a") &&
	    read_join(path, sizeof(path), n->name[0] == '/' ? ""
	    : w->ninja.folder, n->name) && graph_is_elf(path)) {
		n->kind = library ? GRAPH_LIBRARY : GRAPH_PROGRAM;
		linked_set(&w->linked, node, path);
	}
}

/* Functions of a source are of what is compiled from it. */
static void
ninja_own(struct ninja_walk *w, const char *file, uint32_t node)
{
	const char *base = strrchr(file, '/');

	base = base != NULL ? base + 1 : file;
	if (strchr(base, '.') == NULL || ninja_ends(base, ".o") ||
	    ninja_ends(base, ".a") || strstr(base, ".so") != NULL)
		return;
	while (strncmp(file, "../", 3) == 0)
		file += 3;
	graph_own(w->g, GRAPH_BY_FILE, file, node);
}

static bool
ninja_is_input(const struct ninja_build *b, const char *file)
{
	for (size_t i = 0; i < b->n_inputs; i++)
		if (strcmp(b->inputs[i], file) == 0)
			return true;
	return false;
}

static void
ninja_visit(struct ninja_walk *w, uint32_t node)
{
	const struct ninja_build *b = ninja_find(&w->ninja,
	    w->g->nodes[node].name);
	uint32_t to;

	ninja_kind(w, node, b != NULL);
	if (b == NULL)
		return;
	for (size_t i = 0; i < b->n_inputs; i++) {
		to = graph_node(w->g, b->inputs[i]);
		graph_edge(w->g, node, to, NULL);
		if (strcmp(b->rule, "phony") != 0)
			ninja_own(w, b->inputs[i], node);
	}
	for (size_t i = 0; i < b->n_before; i++)
		if (!ninja_is_input(b, b->before[i]))
			graph_edge(w->g, node, graph_node(w->g,
			    b->before[i]), ORDER_ONLY);
}

/* ---- where to begin ---- */

/* Marks outputs, by their numbers. */
static void
ninja_mark(const struct ninja *n, char *const *names, size_t n_names,
    bool *marks)
{
	for (size_t i = 0; i < n_names; i++) {
		const struct ninja_file *f = ninja_find_file(n, names[i]);

		if (f != NULL)
			marks[f - n->files] = true;
	}
}

/* A node for the file itself, which holds what ninja builds if it is not
 * told what: the defaults, or all that nothing else needs. */
static void
ninja_tops(struct ninja_walk *w)
{
	struct ninja *n = &w->ninja;
	bool *needed = calloc(n->n_files + 1, sizeof(*needed));
	uint32_t root = graph_node(w->g, "(default)");

	if (needed == NULL) {
		w->g->failed = true;
		return;
	}
	for (size_t i = 0; i < n->n_defaults; i++)
		graph_edge_of(w->g, root, graph_node(w->g, n->defaults[i]),
		    GRAPH_HOLDS, NULL);
	for (size_t i = 0; n->n_defaults == 0 && i < n->n_builds; i++) {
		const struct ninja_build *b = &n->builds[i];

		ninja_mark(n, b->inputs, b->n_inputs, needed);
		ninja_mark(n, b->before, b->n_before, needed);
	}
	for (size_t i = 0; n->n_defaults == 0 && i < n->n_files; i++)
		if (!needed[i])
			graph_edge_of(w->g, root, graph_node(w->g,
			    n->files[i].name), GRAPH_HOLDS, NULL);
	free(needed);
}

static void
ninja_begin(struct ninja_walk *w, const char *root)
{
	const struct ninja *n = &w->ninja;

	if (root != NULL && ninja_find(n, root) != NULL)
		graph_node(w->g, root);
	else if (n->n_defaults == 1)
		graph_node(w->g, n->defaults[0]);
	else
		ninja_tops(w);
}

/* ---- all ---- */

static void
ninja_say_unknown(struct ninja_walk *w, const char *path)
{
	struct buf text = {0};

	if (w->ninja.unknown.len == 0)
		return;
	buf_printf(&text, "the build statements of ninja in %s, file by file, "
	    "without the headers that it learns%.*s", path,
	    (int)w->ninja.unknown.len, (const char *)w->ninja.unknown.data);
	buf_put_u8(&text, 0);
	if (text.failed)
		w->g->failed = true;
	else
		graph_set(w->g, &w->g->origin.source,
		    (const char *)text.data);
	buf_fini(&text);
}

bool
graph_is_ninja(const char *path)
{
	return ninja_ends(path, ".ninja") || read_has(path, "build.ninja");
}

bool
graph_load_ninja(struct graph *g, const struct graph_source *s)
{
	struct ninja_walk w = {.g = g, .linked = {.g = g}};
	char folder[GRAPH_NAME_MAX], *slash;
	const char *name = "build.ninja";

	snprintf(folder, sizeof(folder), "%s", s->path);
	if (ninja_ends(s->path, ".ninja") && !read_has(s->path, name)) {
		slash = strrchr(folder, '/');
		name = slash != NULL ? strrchr(s->path, '/') + 1 : s->path;
		if (slash != NULL)
			*slash = '\0';
		else
			folder[0] = '\0';
	}
	if (ninja_read(&w.ninja, folder, name) && w.ninja.n_builds > 0) {
		ninja_begin(&w, s->root);
		for (uint32_t i = 0; i < g->n_nodes; i++)
			ninja_visit(&w, i);
		g->cut = g->cut || w.ninja.cut;
		if (!g->cut)
			g->origin.complete = GRAPH_WHOLE;
		g->origin.time_ns = w.ninja.time_ns;
		ninja_say_unknown(&w, s->path);
	}
	g->failed = g->failed || w.ninja.failed;
	linked_fini(&w.linked);
	ninja_fini(&w.ninja);
	return !g->failed;
}
