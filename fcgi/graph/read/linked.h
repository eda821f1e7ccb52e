/*
 * Libraries as builders tell the linker of them, "-lz" and "/usr/lib/libz.so":
 * nodes that know which file is loaded for them, so that its code is theirs,
 * and its Debian package.
 */
#ifndef FCGI_LINKED_H
#define FCGI_LINKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct graph;

struct linked {
	struct graph *g;
	char **paths; /* of a node's file; or NULL */
	size_t cap;
	size_t found; /* libraries of the system */
};

/* Is it a library, by its name alone? */
bool linked_is_library(const char *word);

/* The file that the name "z" of "-lz" stands for, in the folder or those of
 * the system; false when there is none.  `folder` may be NULL. */
bool linked_find(const char *name, const char *folder, char out[4096]);

/* The node of such a word, made when it is new.  What is not found is said.
 * UINT32_MAX for what is no library. */
uint32_t linked_node(struct linked *l, const char *word);

/* A node's code is that of a file, and the package that file's. */
void linked_set(struct linked *l, uint32_t node, const char *path);

/* A node is what a build has made of it: that file's code is its, and so many
 * bytes.  Where it is the root that was asked for, its build id is the
 * graph's.  Nothing happens while it is not built. */
void linked_built(struct linked *l, uint32_t node, const char *path,
    const char *root);

/* Sets the packages. */
void linked_fini(struct linked *l);

#endif
