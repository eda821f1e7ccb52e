/*
 * Where dependency graphs come from.  Foreign files are read in a child
 * with limits.
 */
#ifndef FCGI_GRAPH_READ_H
#define FCGI_GRAPH_READ_H

#include "fcgi/graph/model/graph.h"

struct err;

#define GRAPH_DEPTH_MAX 4 /* the deepest that is not GRAPH_ALL */

/* A file that holds a graph: a program, or what a builder has written. */
struct graph_source {
	const char *path;
	bool elf;
	const char *root; /* bazel: where to begin; NULL: the file's own */
	bool whole;       /* bazel: somebody says that the file lacks no
	                   * level; it does not say so itself */
	/* NULL; or what is known of a program's inside, which adds to the
	 * graph of its libraries, in the child.  False: there is nothing. */
	bool (*parts)(const struct graph_source *s, struct graph *g);
	const char *options;  /* of the command that reads it so, or NULL */
	const char *what;     /* "...; the parts by the map of ...", or NULL */
};

/* Is it an ELF file?  False also when it cannot be read. */
bool graph_is_elf(const char *path);

/*
 * All of it, with its origin; *root is where to begin.
 *
 * Of a program: the libraries that it is linked with (DT_NEEDED), theirs, and
 * so on.  They are looked up as the dynamic linker does: in RPATH or RUNPATH,
 * in ld.so.cache, in the standard folders.  A library that is not found is a
 * node that says so.  Node 0 is the program.
 *
 * Of the output of `bazel query --output graph`: nodes are labels, several in
 * one where bazel has factored them, "...and N more items" included; the
 * condition of a select() is the label of its edge.
 *
 * Of the JSON of `go list -deps -json` or `cargo metadata`: packages; what only
 * tests need is left out, a target's cfg() is the label of its edge.
 *
 * Errors: ERR_REQUEST 503 for a file that cannot be used, with its path, 422
 * for what is no such file or has no such root.
 */
const struct err *graph_read(const struct graph_source *s, struct graph **out,
    uint32_t *root);

/* A depth, "all" or a number; false where it is neither. */
bool graph_depth_parse(const char *text, unsigned *depth);
void graph_depth_put(struct buf *out, unsigned depth);

/* The command line that prints the same graph, for a shell. */
void graph_put_command(struct buf *out, const struct graph *g,
    unsigned depth, bool collapse);

/* A word of a shell's line after a blank, quoted where it has to be. */
void graph_put_word(struct buf *out, const char *word);
/* The same of a path, from the root on: the line is for any folder. */
void graph_put_path(struct buf *out, const char *path);

#endif
