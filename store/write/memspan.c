/*
 * The batch's numbers are mapped to the table's once for a batch; a value whose
 * stack was lost goes to the stack that says so.
 */
#include "store/write/memspan.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/batch/batch_private.h"

void
memspan_fini(struct memspan *m)
{
	struct symtab *syms = m->syms;

	free(m->blocks);
	free(m->entries);
	free(m->facts);
	buf_fini(&m->fact_bytes);
	*m = (struct memspan){.syms = syms};
}

size_t
memspan_bytes(const struct memspan *m)
{
	return m->cap_blocks * sizeof(*m->blocks) +
	    m->cap_entries * sizeof(*m->entries) +
	    m->cap_facts * sizeof(*m->facts) + m->fact_bytes.cap;
}

/* The batch's numbers -> those of the table; `lost` is where values of
 * unknown stacks go. */
struct memspan_map {
	struct symtab_map to;
	uint32_t lost;
};

/* False when the series is not known. */
static bool
memspan_add_block(struct memspan *m, const struct batch *b,
    const struct batch_block *k, const struct memspan_map *map)
{
	bool profile = series_is_profile((enum series_kind)k->kind);
	uint32_t series = map->to.series[k->series];
	struct mem_block *out;

	if (series == INTERN_NONE ||
	    symtab_series(m->syms, series)->kind != k->kind)
		return false;
	out = &m->blocks[m->n_blocks++];
	memset(out, 0, sizeof(*out));
	out->series = series;
	out->numbers = (struct block){.start = k->slot, .count = k->count,
	    .min = k->min, .max = k->max, .sum = k->sum, .last = k->last,
	    .last_ns = k->last_ns};
	if (k->kind == SERIES_COUNTER)
		out->numbers.sum = k->increase;
	out->first = m->n_entries;
	out->n = k->n;
	for (uint32_t i = k->first; i < k->first + k->n; i++) {
		const struct batch_entry *e = &b->entries[i];
		uint32_t key = profile ? map->to.nodes[e->key] : e->key;

		m->entries[m->n_entries++] = (struct mem_entry){
		    key == INTERN_NONE ? map->lost : key, e->value};
	}
	return true;
}

/* The string of a lost subject is that of the lost stack. */
static void
memspan_add_facts(struct memspan *m, const struct batch *b,
    const struct memspan_map *map)
{
	for (size_t i = 0; i < b->n_facts; i++) {
		const struct batch_fact *f = &b->facts[i];
		uint32_t subject = map->to.strings[f->subject];

		if (subject == INTERN_NONE)
			subject = symtab_frame(m->syms,
			    m->syms->nodes[map->lost].edge)->name;
		m->facts[m->n_facts++] = (struct mem_fact){f->time_ns,
		    f->kind, subject, m->fact_bytes.len + f->first, f->n};
	}
	buf_put(&m->fact_bytes, b->fact_bytes.data, b->fact_bytes.len);
}

static bool
memspan_room_for(struct memspan *m, const struct batch *b)
{
	if (array_room(&m->blocks, m->n_blocks + b->n_blocks,
	        &m->cap_blocks) &&
	    array_room(&m->entries, m->n_entries + b->n_entries,
	        &m->cap_entries) &&
	    array_room(&m->facts, m->n_facts + b->n_facts, &m->cap_facts) &&
	    buf_reserve(&m->fact_bytes, b->fact_bytes.len))
		return true;
	m->fact_bytes.failed = false; /* the span goes on */
	return false;
}

static bool
memspan_needs_lost(const struct batch *b, const struct symtab_map *to)
{
	for (size_t i = 0; i < b->n_facts; i++) {
		if (to->strings[b->facts[i].subject] == INTERN_NONE)
			return true;
	}
	for (size_t i = 0; i < b->n_blocks; i++) {
		const struct batch_block *k = &b->blocks[i];

		if (!series_is_profile((enum series_kind)k->kind))
			continue;
		for (uint32_t n = k->first; n < k->first + k->n; n++) {
			if (to->nodes[b->entries[n].key] == INTERN_NONE)
				return true;
		}
	}
	return false;
}

/* Fills the map from a journal's names, which it borrows. */
static const struct err *
memspan_map_journal(struct memspan *m, const struct batch *b,
    struct journal_names *names, struct memspan_map *map)
{
	const struct err *e = journal_names_add(names, m->syms, b);

	if (e != NULL)
		return e;
	map->to = (struct symtab_map){names->strings.to, names->frames.to,
	    names->labels.to, names->nodes.to, names->series.to};
	if (!memspan_needs_lost(b, &map->to))
		return NULL;
	map->lost = journal_names_lost(m->syms);
	return map->lost == INTERN_NONE ? err_nomem() : NULL;
}

const struct err *
memspan_add(struct memspan *m, const struct batch *b,
    struct journal_names *names)
{
	bool own = b->index->dictionary == 0;
	struct memspan_map map = {0};
	const struct err *e = own
	    ? symtab_add(m->syms, b, &map.to)
	    : memspan_map_journal(m, b, names, &map);

	names->sole &= !own;
	if (e == NULL && !memspan_room_for(m, b))
		e = err_nomem();
	for (size_t i = 0; e == NULL && i < b->n_blocks; i++)
		names->lost += !memspan_add_block(m, b, &b->blocks[i], &map);
	if (e == NULL)
		memspan_add_facts(m, b, &map);
	if (own)
		symtab_map_fini(&map.to);
	return e;
}
