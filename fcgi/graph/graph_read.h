/*
 * Where dependency graphs come from.  Foreign files are read in a child
 * with limits.
 */
#ifndef FCGI_GRAPH_READ_H
#define FCGI_GRAPH_READ_H

#include "fcgi/graph/graph.h"

struct err;

#define GRAPH_DEPTH_MAX 4

/*
 * The output of `bazel query --output graph`: nodes are labels, several in
 * one where bazel has factored them, "...and N more items" included; the
 * condition of a select() is the label of its edge.
 */
const struct err *graph_read_bazel(const char *path, struct graph **out);

/*
 * The libraries that a program is linked with (DT_NEEDED), theirs, and so
 * on for `depth` levels.  They are looked up as the dynamic linker does: in
 * RPATH or RUNPATH, in ld.so.cache, in the standard folders.  A library that
 * is not found is a node that says so.  Node 0 is the program.
 */
const struct err *graph_read_elf(const char *path, unsigned depth,
    struct graph **out);

/* A file that holds a graph: a program, or what bazel has written. */
struct graph_source {
	const char *path;
	bool elf;
	const char *root; /* bazel: where to begin; NULL: the file's own */
	bool whole;       /* bazel: somebody says that the file lacks no
	                   * level; it does not say so itself */
};

/* Is it an ELF file?  False also when it cannot be read. */
bool graph_is_elf(const char *path);

/* What is at most `depth` edges from the root; node 0 is the root.  Errors:
 * ERR_REQUEST 503 for a file that cannot be used, with its path. */
const struct err *graph_read(const struct graph_source *s, unsigned depth,
    struct graph **out);

/* The command line that prints the same graph, for a shell. */
void graph_put_command(struct buf *out, const struct graph_source *s,
    unsigned depth);

#endif
