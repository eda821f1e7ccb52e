/*
 * The order of frames, for trees that are made of stacks: names are compared
 * once here, and numbers from then on.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/stacks_private.h"
#include "store/base/err.h"

static int
stacks_ranks_order(const void *a, const void *b, void *arg)
{
	const struct frame *frames = arg;
	const struct frame *x = &frames[*(const uint32_t *)a];
	const struct frame *y = &frames[*(const uint32_t *)b];
	int c = strcmp(x->name, y->name);

	return c != 0 ? c : (int)x->kind - (int)y->kind;
}

const struct err *
stacks_ranks_init(struct stacks_ranks *r, const struct stacks *s)
{
	uint32_t n = (uint32_t)stacks_n_frames(s);

	r->n = 0;
	r->frames = malloc((n + 1) * sizeof(*r->frames));
	r->sorted = malloc((n + 1) * sizeof(*r->sorted));
	r->rank = malloc((n + 1) * sizeof(*r->rank));
	if (r->frames == NULL || r->sorted == NULL || r->rank == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < n; i++) {
		stacks_get_frame(s, i, &r->frames[i]);
		r->sorted[i] = i;
	}
	qsort_r(r->sorted, n, sizeof(*r->sorted), stacks_ranks_order,
	    r->frames);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t frame = r->sorted[i];

		/* that of the last rank is behind, or here already */
		if (r->n == 0 || stacks_ranks_order(&r->sorted[r->n - 1],
		    &frame, r->frames) != 0)
			r->sorted[r->n++] = frame;
		r->rank[frame] = r->n - 1;
	}
	return NULL;
}

void
stacks_ranks_fini(struct stacks_ranks *r)
{
	free(r->frames);
	free(r->sorted);
	free(r->rank);
}
