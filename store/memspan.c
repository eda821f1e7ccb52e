#include "memspan.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

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

/* Room for `more` elements, at least doubling. */
static bool
memspan_room(void **array, size_t n, size_t *cap, size_t more, size_t size)
{
	size_t want = *cap ? *cap * 2 : 64;
	void *p;

	if (*cap - n >= more)
		return true;
	if (want < n + more)
		want = n + more;
	p = realloc(*array, want * size);
	if (p == NULL)
		return false;
	*array = p;
	*cap = want;
	return true;
}

static void
memspan_add_block(struct memspan *m, const struct batch *b,
    const struct batch_block *k, const struct symtab_map *map)
{
	bool profile = series_is_profile(
	    (enum series_kind)b->series[k->series].kind);
	struct mem_block *out = &m->blocks[m->n_blocks++];

	memset(out, 0, sizeof(*out));
	out->series = map->series[k->series];
	out->numbers = (struct block){.start = k->slot, .count = k->count,
	    .min = k->min, .max = k->max, .sum = k->sum, .last = k->last,
	    .last_ns = k->last_ns};
	if (b->series[k->series].kind == SERIES_COUNTER)
		out->numbers.sum = k->increase;
	out->first = m->n_entries;
	out->n = k->n;
	for (uint32_t i = k->first; i < k->first + k->n; i++) {
		const struct batch_entry *e = &b->entries[i];

		m->entries[m->n_entries++] = (struct mem_entry){
		    profile ? map->nodes[e->key] : e->key, e->value};
	}
}

static void
memspan_add_facts(struct memspan *m, const struct batch *b,
    const struct symtab_map *map)
{
	for (size_t i = 0; i < b->n_facts; i++) {
		const struct batch_fact *f = &b->facts[i];

		m->facts[m->n_facts++] = (struct mem_fact){f->time_ns,
		    f->kind, map->strings[f->subject],
		    m->fact_bytes.len + f->first, f->n};
	}
	buf_put(&m->fact_bytes, b->fact_bytes.data, b->fact_bytes.len);
}

const struct err *
memspan_add(struct memspan *m, const struct batch *b)
{
	struct symtab_map map = {0};
	const struct err *e = symtab_add(m->syms, b, &map);

	if (e != NULL)
		return e;
	if (!memspan_room((void **)&m->blocks, m->n_blocks, &m->cap_blocks,
	        b->n_blocks, sizeof(*m->blocks)) ||
	    !memspan_room((void **)&m->entries, m->n_entries, &m->cap_entries,
	        b->n_entries, sizeof(*m->entries)) ||
	    !memspan_room((void **)&m->facts, m->n_facts, &m->cap_facts,
	        b->n_facts, sizeof(*m->facts)) ||
	    !buf_reserve(&m->fact_bytes, b->fact_bytes.len)) {
		symtab_map_fini(&map);
		m->fact_bytes.failed = false; /* the span goes on */
		return err_nomem();
	}
	for (size_t i = 0; i < b->n_blocks; i++)
		memspan_add_block(m, b, &b->blocks[i], &map);
	memspan_add_facts(m, b, &map);
	symtab_map_fini(&map);
	return NULL;
}
