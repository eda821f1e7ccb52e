/*
 * What the readers of graphs share: each reads foreign files in a child.
 */
#ifndef FCGI_GRAPH_PRIVATE_H
#define FCGI_GRAPH_PRIVATE_H

#include <stdbool.h>

#include "fcgi/graph/model/graph.h"

/* A program and its libraries, into an empty graph; graph_read.h says how.
 * Nothing is put of what is no ELF file.  False when out of memory. */
bool graph_load_elf(struct graph *g, const char *path);

/* The same of what go list or cargo metadata has written. */
bool graph_load_build(struct graph *g, const char *path);

/* The same of what bazel has written. */
bool graph_load_bazel(struct graph *g, const char *path);

/* A label that is a file's is of the target that names it first: of functions
 * of that file, too. */
void graph_own_files(struct graph *g);

/* The same of the BUILD files of a workspace, from the target `root` on; what
 * is not understood is said in the graph's source. */
bool graph_load_workspace(struct graph *g, const char *path,
    const char *root);

#endif
