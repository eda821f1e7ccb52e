/*
 * What the readers of graphs share: each reads foreign files in a child.
 */
#ifndef FCGI_GRAPH_PRIVATE_H
#define FCGI_GRAPH_PRIVATE_H

#include <stdbool.h>

#include "fcgi/graph/model/graph.h"

struct graph_source;

/*
 * A source of graphs: a row of the table in graph_read.c.  load() fills an
 * empty graph: nothing where the file is of another kind; begin, where its
 * reader knows the root; complete, where the source says so; the source's
 * text, where it is more than the row's.  False when out of memory.
 */
struct graph_reader {
	bool (*is)(const char *path);
	bool (*load)(struct graph *g, const struct graph_source *s);
	const char *what; /* for the source: a format with the path */
	bool rooted;      /* node 0 is the root that was asked for */
};
typedef bool graph_load_fn(struct graph *g, const struct graph_source *s);
typedef bool graph_is_fn(const char *path);

graph_is_fn graph_is_pkgconfig, graph_is_commands, graph_is_cmake,
    graph_is_meson, graph_is_ninja;
graph_load_fn graph_load_elf, graph_load_pkgconfig, graph_load_build,
    graph_load_commands, graph_load_cmake, graph_load_meson, graph_load_ninja,
    graph_load_workspace, graph_load_bazel;

/* Adds the modules of a Go program, whose node is the first. */
void graph_load_goinfo(struct graph *g, const char *path);

/* By the first of those that knows the file or folder, but no program. */
bool graph_load_file(struct graph *g, const char *path, const char *root);

/* A label's package, or its repository, where no other is known. */
void graph_label_packages(struct graph *g);

/* A label that is a file's is of the target that names it first: of functions
 * of that file, too. */
void graph_own_files(struct graph *g);

/* A package of Go by its path, as names of its functions begin. */
void graph_own_go(struct graph *g, const char *path, uint32_t node);

#endif
