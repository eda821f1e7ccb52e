/* A heap dump as stacks: four types, whole numbers. */
#include <math.h>
#include <stdlib.h>

#include "fcgi/format/heap/heap.h"
#include "fcgi/format/stacks.h"
#include "store/base/err.h"
#include "store/model/types.h"

struct stacks_type
heap_type_of(enum heap_type type)
{
	const struct type *t = types_find(heap_type_name(type));

	return (struct stacks_type){t->name, t->unit, 1, t->kind};
}

/* The numbers of frames in the stacks, by those in the dump. */
static uint32_t *
put_frames(const struct heap *h, struct stacks *s)
{
	uint32_t *numbers = malloc((h->n_frames + 1) * sizeof(*numbers));

	for (uint32_t i = 0; numbers != NULL && i < h->n_frames; i++) {
		const struct heap_frame *x = &h->frames[i];
		struct frame f = {
		    .kind = x->kind,
		    .name = intern_str(&h->strings, x->name),
		    .module = intern_str(&h->strings, x->module),
		    .build_id = intern_str(&h->strings, x->build_id),
		    .offset = x->offset};

		numbers[i] = stacks_frame(s, &f);
	}
	return numbers;
}

static uint32_t
put_stack(const struct heap *h, struct stacks *s, const uint32_t *numbers,
    const struct heap_stack *stack)
{
	uint32_t node = 0;

	for (uint32_t i = stack->n; i-- > 0;) {
		const struct heap_address *a =
		    &h->addresses[h->places[stack->first + i]];

		for (uint32_t k = 0; k < a->n; k++)
			node = stacks_child(s, node, numbers[a->first + k]);
	}
	return node;
}

const struct err *
heap_put(const struct heap *h, struct stacks *s)
{
	return heap_put_types(h, s, HEAP_ALL);
}

const struct err *
heap_put_types(const struct heap *h, struct stacks *s, unsigned wanted)
{
	uint32_t columns[HEAP_TYPES], *numbers = put_frames(h, s);
	double rest[HEAP_TYPES] = {0}, all[HEAP_TYPES] = {0};

	if (numbers == NULL)
		return err_nomem();
	stacks_set_mean(s, h->mean);
	for (uint32_t i = 0; i < h->n_stacks; i++) {
		for (unsigned t = 0; t < HEAP_TYPES; t++)
			all[t] += fabs(h->stacks[i].value[t]);
	}
	/* what was not accumulated has no line of its own */
	for (unsigned t = 0; t < HEAP_TYPES; t++) {
		const struct stacks_type of = heap_type_of((enum heap_type)t);

		columns[t] = all[t] > 0 && (wanted >> t & 1) != 0 ?
		    stacks_type(s, &of) : 0;
	}
	for (uint32_t i = 0; i < h->n_stacks; i++) {
		const struct heap_stack *stack = &h->stacks[i];
		uint32_t node = put_stack(h, s, numbers, stack);

		if (stacks_error(s) != NULL)
			break;
		for (unsigned t = 0; t < HEAP_TYPES; t++) {
			double v = stack->value[t];

			if ((wanted >> t & 1) == 0)
				continue;
			if (v < 0)
				stacks_skip(s, "stacks that shrank", 1);
			if (v <= 0)
				continue;
			v += rest[t];
			rest[t] = v - floor(v);
			stacks_add(s, node, columns[t], (int64_t)v);
		}
	}
	if (h->unknown_lines > 0)
		stacks_skip(s, "lines not understood", h->unknown_lines);
	free(numbers);
	return stacks_error(s);
}
