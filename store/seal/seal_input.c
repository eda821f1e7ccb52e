/*
 * The inputs of a file that is being made: what a span in memory needs, and
 * the leaves of all one after the other.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/seal/seal_private.h"

bool
seal_in_range(const struct seal_source *s, uint64_t slot)
{
	return slot >= s->from && slot < s->until &&
	    (slot < s->skip_from || slot >= s->skip_until);
}

static void
seal_mark_memory(struct seal *s, struct seal_input *in)
{
	const struct memspan *m = in->source->memory;

	for (size_t i = 0; i < m->n_blocks; i++) {
		uint32_t series = m->blocks[i].series, node = 0;
		struct block b;
		int64_t value;

		if (!seal_in_range(in->source, m->blocks[i].slot))
			continue;
		s->dict.series_used[series] = 1;
		if (!series_is_profile(symtab_series(m->syms, series)->kind))
			continue;
		memspan_block(m, i, &b);
		while (memspan_entry(&b.entries, &node, &value))
			s->dict.stack_used[node] = 1;
	}
	for (size_t i = 0; in->source->facts && i < m->n_facts; i++)
		if (seal_in_range(in->source, m->facts[i].slot))
			s->dict.string_used[m->facts[i].subject] = 1;
}

/* ---- streams of leaves ---- */

struct order_key {
	const struct memspan *m;
	const uint32_t *series; /* symbol -> new number */
};

static int
order_compare(const void *a, const void *b, void *arg)
{
	const struct order_key *k = arg;
	const struct mem_block *x = &k->m->blocks[*(const uint32_t *)a];
	const struct mem_block *y = &k->m->blocks[*(const uint32_t *)b];
	uint32_t i = k->series[x->series], j = k->series[y->series];

	if (i != j)
		return i < j ? -1 : 1;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return x < y ? -1 : x > y;
}

static const struct err *
seal_order_memory(struct seal *s, struct seal_input *in)
{
	const struct memspan *m = in->source->memory;
	struct order_key key = {m, s->dict.series_map};

	in->order = malloc((m->n_blocks + 1) * sizeof(*in->order));
	if (in->order == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < m->n_blocks; i++) {
		if (seal_in_range(in->source, m->blocks[i].slot))
			in->order[in->n_order++] = i;
	}
	qsort_r(in->order, in->n_order, sizeof(*in->order), order_compare,
	    &key);
	return NULL;
}

static const struct err *
seal_prepare_memory(struct seal *s, struct seal_input *in)
{
	const struct err *e = seal_dict_mark_begin(&s->dict,
	    in->source->memory->syms);

	if (e != NULL)
		return e;
	s->dict.last = in->source->last;
	seal_mark_memory(s, in);
	e = seal_dict_sort(&s->dict);
	return e == NULL ? seal_order_memory(s, in) : e;
}

static const struct err *
seal_seek(struct seal *s, struct seal_input *in, uint64_t slot)
{
	const struct seal_source *from = in->source;

	if (from->salvage != NULL)
		return salvage_seek(from->salvage, from->file, in->at_series,
		    slot, &in->at);
	return sealed_seek(from->file, in->at_series, s->meta->base, slot,
	    &in->at);
}

/* Sets in->at to the first leaf of the present series at `slot` or later. */
const struct err *
seal_advance(struct seal *s, struct seal_input *in, uint32_t series,
    uint64_t slot)
{
	const struct memspan *m = in->source->memory;
	const struct err *e;

	in->at = NULL;
	if (m != NULL) {
		uint32_t i;

		if (in->next == in->n_order)
			return NULL;
		i = in->order[in->next];
		if (s->dict.series_map[m->blocks[i].series] != series)
			return NULL;
		memspan_block(m, i, &in->block);
		in->at = &in->block;
		return NULL;
	}
	if (in->series[series] == INTERN_NONE)
		return NULL;
	if (slot < in->source->from)
		slot = in->source->from;
	in->at_series = in->series[series];
	do {
		e = seal_seek(s, in, slot);
		if (e == NULL && in->at != NULL)
			slot = in->at->start + 1;
	} while (e == NULL && in->at != NULL &&
	    in->at->start < in->source->until &&
	    (!seal_in_range(in->source, in->at->start) ||
	        seal_sieve_drops(&in->sieve, in->at_series, in->at)));
	if (e == NULL && in->at != NULL &&
	    in->at->start >= in->source->until)
		in->at = NULL;
	return e;
}

const struct err *
seal_prepare_inputs(struct seal *s)
{
	if (s->n_inputs == 1 && s->inputs[0].source->memory != NULL)
		return seal_prepare_memory(s, &s->inputs[0]);
	return seal_merge(s);
}

void
seal_input_fini(struct seal_input *in)
{
	seal_names_fini(&in->to);
	seal_sieve_fini(&in->sieve);
	free(in->stacks);
	free(in->series);
	free(in->order);
}
