/*
 * What a program is made of inside: the objects and archive members that it
 * was linked from, by the linker's own map, the folders of its sources, by its
 * debug information, or the targets, packages or crates of a build, by what
 * its builder says.  All make nodes of a graph that has the program as
 * node 0 and its libraries (fcgi/graph/read/graph_private.h), and say which
 * function is whose.  Foreign files: to be called in a child with limits.
 */
#ifndef FCGI_PROGRAM_PARTS_H
#define FCGI_PROGRAM_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct graph;

struct program_symbol {
	uint64_t address, size;
	char *name; /* for people */
	bool function;
	bool weak;  /* several files may have had it; one was kept */
};

struct program_range {
	uint64_t start, end;
};

/* What a program defines, by address, and where its code is. */
struct program_symbols {
	struct program_symbol *items;
	size_t n;
	struct program_range *code;
	size_t n_code;
};

/* False when it is no ELF file or has no table of symbols.
 * program_symbols_fini() after any outcome. */
bool program_symbols_read(struct program_symbols *s, const char *path);
void program_symbols_fini(struct program_symbols *s);

/* A file that a node is known by, for its package. */
struct program_files {
	char **paths; /* by node; or NULL */
	size_t cap;
};
bool program_files_set(struct program_files *f, uint32_t node,
    const char *path);
void program_files_fini(struct program_files *f);

/* The map that GNU ld writes with -Map=FILE --cref.  Its relative names are of
 * the folder that the linker ran in, which it does not say: the one around the
 * map, else around the program, that has the first of those files; g->cut
 * where a library can be found so by its name alone and is not.  False when it
 * is none, when it has the program's code elsewhere, so is another build's, or
 * when memory is short (g->failed). */
bool program_map_load(struct graph *g, const char *path, const char *program,
    const struct program_symbols *s, struct program_files *files);

/* False when the program has no debug information. */
bool program_folders_load(struct graph *g, const char *program,
    const struct program_symbols *s, struct program_files *files);

/* A graph of bazel's, go list's or cargo's (fcgi/graph/graph_private.h), from
 * the target `root` on, or from its own root (NULL).  Functions are a node's
 * by the package or crate in their names, else by the source file in which
 * debug information has their first line.  False when it is none, or has no
 * such target. */
bool program_build_load(struct graph *g, const char *path, const char *root,
    const char *program, const struct program_symbols *s);

#endif
