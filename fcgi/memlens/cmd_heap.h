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

/* Appends a file, "-" for standard input, unpacked where gzip packed it. */
const struct err *cmd_heap_read_file(const char *path, struct buf *out);

/* heap_names_find(), with complaints on stderr. */
const struct err *cmd_heap_name(struct heap *h, const char *binary,
    bool lines);

/* Appends a flame graph, `base` against `h` where there is one.  Errors:
 * those of heap_put() and flame_new(). */
const struct err *cmd_heap_svg(const struct heap *h, const struct heap *base,
    enum heap_type type, const char *title, struct buf *out);

/* Appends flamebearer JSON.  What is negative is left out. */
const struct err *cmd_heap_json(const struct heap *h, enum heap_type type,
    struct buf *out);

#endif
