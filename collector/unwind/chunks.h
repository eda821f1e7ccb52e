/*
 * The cells of unwind rows: chunks of them, made when they are needed up to a
 * bound, and which parts of each are in use.  A part lies within a chunk.
 */
#ifndef COLLECTOR_UNWIND_CHUNKS_H
#define COLLECTOR_UNWIND_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/unwind/unwind_kernel.h"

#define CHUNKS_NONE UINT32_MAX

struct chunks;

/* `kernel` is borrowed.  NULL when out of memory. */
struct chunks *chunks_new(const struct unwind_kernel *kernel);
void chunks_free(struct chunks *c);

/* The first of n > 0 cells in a row; CHUNKS_NONE when there is no such gap
 * and no chunk can be made. */
uint32_t chunks_take(struct chunks *c, uint32_t n, int64_t now_ns);

/* Gives back exactly what was taken; it rests for a while (extents.h). */
void chunks_give(struct chunks *c, uint32_t first, uint32_t n,
    int64_t now_ns);

/* Cells of the chunks that are there, and of all that there may be. */
uint32_t chunks_cells(const struct chunks *c);
uint32_t chunks_cells_max(const struct chunks *c);

#endif
