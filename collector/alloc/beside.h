/*
 * Files that are installed with a program and found by where it lies: beside
 * it, as they are built, or in ../lib/memlens of its folder.
 */
#ifndef COLLECTOR_BESIDE_H
#define COLLECTOR_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

/* What programs preload to have their memory sampled. */
#define BESIDE_ALLOC "libmemlens-alloc.so"

/* The first variable of what `memlens run` executes is this and its pid: it was
 * meant to be seen, unlike what it executes itself. */
#define BESIDE_RUN "MEMLENS_RUN="

/*
 * The path of a file of that name, which may be read, without links and "..",
 * in out[size].  False: it is in neither place, or its path is longer.
 */
bool beside_find(const char *name, char *out, size_t size);

#endif
