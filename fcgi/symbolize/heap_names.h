/*
 * The addresses of a heap dump by the programs and libraries on this
 * machine.
 */
#ifndef FCGI_SYMBOLIZE_HEAP_NAMES_H
#define FCGI_SYMBOLIZE_HEAP_NAMES_H

#include <stdbool.h>

#include "fcgi/format/heap/heap.h"

struct err;
struct heap_cache;

struct heap_names {
	const char *binary; /* for the module of its name, or NULL */
	bool lines;         /* names carry the file and line */
	struct heap_cache *cache; /* of names without lines, or NULL */
	/* told of a file that cannot be read; NULL: not */
	void (*complain)(void *arg, const char *why, size_t addresses);
	void *arg;
};

/*
 * Names addresses by the files that the dump's memory map names.  A file
 * that is not there, has been replaced or cannot be read leaves its addresses
 * as they are and is complained about, unless it is the one of `binary`, which
 * is an error.  With a cache a file must have the inode that the map says, and
 * what was asked of one that is gone is still known.
 */
const struct err *heap_names_find(struct heap *h,
    const struct heap_names *names);

#endif
