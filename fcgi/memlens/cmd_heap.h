/*
 * What `memlens heap` and `memlens import` share: a file in memory, and the
 * names of a heap dump's addresses from the programs it was taken of.
 */
#ifndef FCGI_CMD_HEAP_H
#define FCGI_CMD_HEAP_H

#include <stdbool.h>

#include "fcgi/format/heap/heap.h"

struct buf;
struct err;

struct cmd_heap_names {
	const char *binary; /* for the module of its name, or NULL */
	bool lines;         /* names carry the file and line */
};

/* Appends a file, "-" for standard input, unpacked where gzip packed it. */
const struct err *cmd_heap_read_file(const char *path, struct buf *out);

/*
 * Names addresses by the files that the dump's memory map names.  A file
 * that is not there or cannot be read leaves its addresses as they are and
 * is complained about on stderr, unless it is the one of `binary`, which is
 * an error.
 */
const struct err *cmd_heap_name(struct heap *h,
    const struct cmd_heap_names *names);

/* Appends a flame graph, `base` against `h` where there is one.  Errors:
 * those of heap_put() and flame_new(). */
const struct err *cmd_heap_svg(const struct heap *h, const struct heap *base,
    enum heap_type type, const char *title, struct buf *out);

/* Appends flamebearer JSON.  What is negative is left out. */
const struct err *cmd_heap_json(const struct heap *h, enum heap_type type,
    struct buf *out);

#endif
