/*
 * The parts of each chunk by extents.c; best fit over all chunks, so that what
 * is small leaves the large gaps to what is large.
 */
#include "collector/unwind/chunks.h"

#include <stdlib.h>

#include "collector/unwind/extents.h"

#define CELLS (1u << UNWIND_CHUNK_SHIFT)

struct chunks {
	const struct unwind_kernel *kernel;
	struct extents *parts[UNWIND_CHUNKS];
	uint32_t n, max;
};

struct chunks *
chunks_new(const struct unwind_kernel *kernel)
{
	struct chunks *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->kernel = kernel;
	c->max = kernel->chunks < UNWIND_CHUNKS ? kernel->chunks :
	    UNWIND_CHUNKS;
	return c;
}

void
chunks_free(struct chunks *c)
{
	if (c == NULL)
		return;
	while (c->n > 0)
		extents_free(c->parts[--c->n]);
	free(c);
}

/* One more; without memory for it the bound is what there is. */
static bool
chunks_grow(struct chunks *c)
{
	if (c->n == c->max)
		return false;
	c->parts[c->n] = extents_new(CELLS);
	if (c->parts[c->n] != NULL && c->kernel->add_chunk(c->kernel->arg)) {
		c->n++;
		return true;
	}
	extents_free(c->parts[c->n]);
	c->max = c->n;
	return false;
}

uint32_t
chunks_take(struct chunks *c, uint32_t n, int64_t now_ns)
{
	uint32_t i, fit, least = EXTENTS_NONE, best = 0, at;

	if (n > CELLS)
		return CHUNKS_NONE;
	for (i = 0; i < c->n; i++) {
		fit = extents_fit(c->parts[i], n, now_ns);
		if (fit < least) {
			least = fit;
			best = i;
		}
	}
	if (least == EXTENTS_NONE) {
		if (!chunks_grow(c))
			return CHUNKS_NONE;
		best = c->n - 1;
	}
	at = extents_take(c->parts[best], n, now_ns);
	return at != EXTENTS_NONE ? best * CELLS + at : CHUNKS_NONE;
}

void
chunks_give(struct chunks *c, uint32_t first, uint32_t n, int64_t now_ns)
{
	extents_give(c->parts[first / CELLS], first % CELLS, n, now_ns);
}

uint32_t
chunks_cells(const struct chunks *c)
{
	return c->n * CELLS;
}

uint32_t
chunks_cells_max(const struct chunks *c)
{
	return c->max * CELLS;
}
