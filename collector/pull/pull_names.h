/*
 * Functions of a pprof that has none, as those of jemalloc in Rust: by the
 * program file at the path that it names, or the debug file, where that has
 * the same build id.  Another build would have other names.
 */
#ifndef COLLECTOR_PULL_NAMES_H
#define COLLECTOR_PULL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "fcgi/format/pprof/pprof.h"

struct heap_cache;
struct symbolizer;

#define PULL_NAMES_FILES 64 /* of one profile; others are not read */

struct pull_names_file {
	const char *path, *build_id; /* the profile's */
	uint32_t number;             /* of the cache, or INTERN_NONE */
	struct symbolizer *s;        /* or NULL: not the right one */
};

/* All zero but for the cache, for one profile. */
struct pull_names {
	struct heap_cache *cache;
	struct pull_names_file files[PULL_NAMES_FILES];
	uint32_t n_files, nameless; /* addresses without names */
};

/* A pprof_locate_fn; `arg` is a struct pull_names. */
size_t pull_names_locate(void *arg, const struct pprof_code *code,
    struct frame frames[PPROF_INLINED_MAX]);

void pull_names_fini(struct pull_names *n);

#endif
