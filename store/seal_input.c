/*
 * The inputs of a file that is being made: which symbols they need, under
 * which numbers, and their leaves one after the other.
 */
#include "seal_private.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

static bool
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
		const struct mem_block *b = &m->blocks[i];
		enum series_kind kind =
		    symtab_series(m->syms, b->series)->kind;

		if (!seal_in_range(in->source, b->numbers.start))
			continue;
		s->dict.series_used[in->map.series[b->series]] = 1;
		for (size_t k = 0; series_is_profile(kind) && k < b->n; k++)
			s->dict.stack_used[in->map.nodes[
			    m->entries[b->first + k].node]] = 1;
	}
	for (size_t i = 0; in->source->facts && i < m->n_facts; i++)
		s->dict.string_used[in->map.strings[m->facts[i].subject]] = 1;
}

static const struct err *
seal_mark_file(struct seal *s, struct seal_input *in)
{
	struct sealed *f = in->source->file;
	const struct err *e = seal_sieve_init(&in->sieve, f,
	    in->source->drop, s->meta->base);

	if (e != NULL)
		return e;
	for (uint32_t i = 0; i < f->dict->n_series; i++)
		if (seal_sieve_series(&in->sieve, i))
			s->dict.series_used[in->map.series[i]] = 1;
	for (uint32_t i = 0; i < f->n_stacks; i++)
		if (seal_sieve_stack(&in->sieve, i))
			s->dict.stack_used[in->map.nodes[
			    f->stack_nodes[i]]] = 1;
	for (size_t i = 0; in->source->facts && i < f->dict->n_facts; i++)
		if (seal_sieve_fact(&in->sieve, &f->dict->facts[i]))
			s->dict.string_used[in->map.strings[
			    f->dict->facts[i].subject]] = 1;
	return NULL;
}

/* A symbol table as a dictionary, so that symtab_add() takes it. */
static void
seal_identity(struct symtab_map *map, const struct symtab *t, bool *fine)
{
	uint32_t n[5] = {t->strings.n, t->frames.n, t->labels.n, t->n_nodes,
	    t->series.n};
	uint32_t **maps[5] = {&map->strings, &map->frames, &map->labels,
	    &map->nodes, &map->series};

	for (int i = 0; i < 5; i++) {
		*maps[i] = malloc((n[i] + 1) * sizeof(uint32_t));
		if (*maps[i] == NULL) {
			*fine = false;
			return;
		}
		for (uint32_t k = 0; k < n[i]; k++)
			(*maps[i])[k] = k;
	}
}

/* A span in memory lends its table: it must be the first source, and the
 * only one in memory, so numbers stay the same. */
static const struct err *
seal_adopt_memory(struct seal *s, struct seal_input *in)
{
	bool fine = true;

	symtab_fini(&s->dict.syms);
	s->dict.syms = *in->source->memory->syms;
	in->adopted = true;
	seal_identity(&in->map, &s->dict.syms, &fine);
	return fine ? NULL : err_nomem();
}

static const struct err *
seal_collect(struct seal *s)
{
	const struct err *e = NULL;

	for (size_t i = 0; i < s->n_inputs && e == NULL; i++) {
		struct seal_input *in = &s->inputs[i];

		if (in->source->memory != NULL)
			e = seal_adopt_memory(s, in);
		else
			e = symtab_add(&s->dict.syms, in->source->file->dict,
			    &in->map);
	}
	if (s->n_inputs > 0 && !s->inputs[0].adopted)
		symtab_settle(&s->dict.syms);
	if (e == NULL)
		e = seal_dict_mark_begin(&s->dict);
	for (size_t i = 0; i < s->n_inputs && e == NULL; i++) {
		if (s->inputs[i].source->memory != NULL)
			seal_mark_memory(s, &s->inputs[i]);
		else
			e = seal_mark_file(s, &s->inputs[i]);
	}
	return e == NULL ? seal_dict_sort(&s->dict) : e;
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
	const struct mem_block *x = &k->m->blocks[*(const size_t *)a];
	const struct mem_block *y = &k->m->blocks[*(const size_t *)b];
	uint32_t i = k->series[x->series], j = k->series[y->series];

	if (i != j)
		return i < j ? -1 : 1;
	if (x->numbers.start != y->numbers.start)
		return x->numbers.start < y->numbers.start ? -1 : 1;
	return x < y ? -1 : x > y;
}

static const struct err *
seal_prepare_memory(struct seal *s, struct seal_input *in)
{
	const struct memspan *m = in->source->memory;
	struct order_key key = {m, s->dict.series_map};

	in->order = malloc((m->n_blocks + 1) * sizeof(*in->order));
	if (in->order == NULL)
		return err_nomem();
	for (size_t i = 0; i < m->n_blocks; i++) {
		if (seal_in_range(in->source, m->blocks[i].numbers.start))
			in->order[in->n_order++] = i;
	}
	qsort_r(in->order, in->n_order, sizeof(*in->order), order_compare,
	    &key);
	return NULL;
}

static const struct err *
seal_prepare_file(struct seal *s, struct seal_input *in)
{
	const struct sealed *f = in->source->file;
	size_t n = s->dict.out->n_series;

	in->stacks = malloc((f->n_stacks + 1) * sizeof(*in->stacks));
	in->series = malloc((n + 1) * sizeof(*in->series));
	if (in->stacks == NULL || in->series == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < f->n_stacks; i++)
		in->stacks[i] =
		    s->dict.stack_map[in->map.nodes[f->stack_nodes[i]]];
	memset(in->series, 0xff, (n + 1) * sizeof(*in->series));
	for (uint32_t i = 0; i < f->dict->n_series; i++)
		if (seal_sieve_series(&in->sieve, i))
			in->series[s->dict.series_map[in->map.series[i]]] = i;
	return NULL;
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
		const struct mem_block *b;

		if (in->next == in->n_order)
			return NULL;
		b = &m->blocks[in->order[in->next]];
		if (s->dict.series_map[b->series] == series)
			in->at = &b->numbers;
		return NULL;
	}
	if (in->series[series] == INTERN_NONE)
		return NULL;
	if (slot < in->source->from)
		slot = in->source->from;
	in->at_series = in->series[series];
	do {
		e = sealed_seek(in->source->file, in->at_series,
		    s->meta->base, slot, &in->at);
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
	const struct err *e = seal_collect(s);

	for (size_t i = 0; i < s->n_inputs && e == NULL; i++) {
		if (s->inputs[i].source->memory != NULL)
			e = seal_prepare_memory(s, &s->inputs[i]);
		else
			e = seal_prepare_file(s, &s->inputs[i]);
	}
	return e;
}

void
seal_input_fini(struct seal_input *in)
{
	symtab_map_fini(&in->map);
	seal_sieve_fini(&in->sieve);
	free(in->stacks);
	free(in->series);
	free(in->order);
}
