/*
 * Heap dumps of either form: any bytes are read or refused, a difference
 * with oneself is nothing, and whole numbers add up to the total.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "fcgi/format/heap/heap.h"
#include "fcgi/format/stacks.h"
#include "store/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
check_heap(const struct heap *h)
{
	for (uint32_t i = 0; i < h->n_stacks; i++) {
		const struct heap_stack *s = &h->stacks[i];

		if (s->first > h->n_places || s->n > h->n_places - s->first)
			abort();
		for (unsigned t = 0; t < HEAP_TYPES; t++) {
			if (!isfinite(s->value[t]) || s->value[t] < 0)
				abort();
		}
	}
	for (uint32_t i = 0; i < h->n_places; i++) {
		if (h->places[i] >= h->n_addresses)
			abort();
	}
}

static void
check_outputs(struct heap *h)
{
	struct buf out = {0};

	if (!heap_name_rest(h) || !heap_hide_allocator(h))
		abort();
	for (unsigned t = 0; t < HEAP_TYPES; t++) {
		if (heap_text(h, (enum heap_type)t, t == 0, t == 1, &out) !=
		    NULL || heap_folded(h, (enum heap_type)t, &out) != NULL)
			abort();
	}
	buf_fini(&out);
}

/* The sum of what a dump becomes is its total, cut. */
static void
check_stacks(const struct heap *h)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	double total = 0;
	int128 sum = 0;

	for (uint32_t i = 0; i < h->n_stacks; i++)
		total += h->stacks[i].value[HEAP_INUSE_SPACE];
	if (total > 0 && heap_put(h, s) == NULL) {
		for (uint32_t i = 0; i < stacks_n_nodes(s); i++)
			sum += stacks_value(s, i, 0);
		if (fabs((double)sum - total) > 1 + total * 1e-9)
			abort();
	}
	stacks_free(s);
}

/* But for the rounding of equal stacks that were added up. */
static void
check_nothing(const struct heap *h, double total)
{
	for (uint32_t i = 0; i < h->n_stacks; i++) {
		if (fabs(h->stacks[i].value[0]) > total * 1e-9)
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct heap h = {0};
	bool read = heap_read(&h, data, n, 1) == NULL;
	double total = 0;

	(void)heap_looks((const char *)data, n);
	(void)heap_looks_gperftools((const char *)data, n);
	if (read) {
		check_heap(&h);
		check_stacks(&h);
		for (uint32_t i = 0; i < h.n_stacks; i++)
			total += h.stacks[i].value[0];
		if (heap_read(&h, data, n, -1) != NULL)
			abort();
		check_nothing(&h, total);
		check_outputs(&h);
	}
	heap_fini(&h);
	return 0;
}
