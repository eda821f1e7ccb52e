/*
 * The batch's numbers are mapped to the table's once for a batch; a value whose
 * stack was lost goes to the stack that says so.
 */
#include "store/seal/memspan.h"

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
	free(m->facts);
	buf_fini(&m->bytes);
	buf_fini(&m->fact_bytes);
	*m = (struct memspan){.syms = syms};
}

size_t
memspan_bytes(const struct memspan *m)
{
	return m->cap_blocks * sizeof(*m->blocks) +
	    m->cap_facts * sizeof(*m->facts) + m->bytes.cap +
	    m->fact_bytes.cap;
}

/* The batch's numbers -> those of the table; `lost` is where values of
 * unknown stacks go. */
struct memspan_map {
	struct symtab_map to;
	uint32_t lost;
};

/* ---- numbers as bytes ---- */

/*
 * A block: varint count, zigzag last, last_ns, min - last, max - last, sum -
 * last, so that one observation has three zeros.  An entry: zigzag of its node
 * less the one before, zigzag value.
 */
#define BLOCK_MOST (5 * 10 + 19)
#define ENTRY_MOST (2 * 10)

/* Differences of any two numbers, as they wrap. */
static int64_t
less(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t
plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void
put_numbers(struct buf *out, const struct batch_block *k)
{
	int128 sum = k->kind == SERIES_COUNTER ? k->increase : k->sum;

	buf_put_varint(out, k->count);
	buf_put_zigzag(out, k->last);
	buf_put_zigzag(out, k->last_ns);
	buf_put_zigzag(out, less(k->min, k->last));
	buf_put_zigzag(out, less(k->max, k->last));
	buf_put_zigzag128(out, (int128)((uint128)sum - (uint128)k->last));
}

static void
put_entry(struct buf *out, uint32_t *before, uint32_t node, int64_t value)
{
	buf_put_zigzag(out, (int64_t)node - *before);
	buf_put_zigzag(out, value);
	*before = node;
}

void
memspan_block(const struct memspan *m, size_t i, struct block *out)
{
	size_t at = m->blocks[i].at;
	size_t end = i + 1 < m->n_blocks ? m->blocks[i + 1].at : m->bytes.len;
	struct cur c = cur_of(m->bytes.data + at, end - at);

	*out = (struct block){.start = m->blocks[i].slot,
	    .count = cur_varint(&c)};
	out->last = cur_zigzag(&c);
	out->last_ns = cur_zigzag(&c);
	out->min = plus(cur_zigzag(&c), out->last);
	out->max = plus(cur_zigzag(&c), out->last);
	out->sum = (int128)((uint128)cur_zigzag128(&c) + (uint128)out->last);
	out->entries = c;
}

bool
memspan_entry(struct cur *entries, uint32_t *node, int64_t *value)
{
	if (cur_left(entries) == 0)
		return false;
	*node = (uint32_t)(*node + cur_zigzag(entries));
	*value = cur_zigzag(entries);
	return true;
}

/* ---- batches ---- */

/* False when the series is not known. */
static bool
memspan_add_block(struct memspan *m, const struct batch *b,
    const struct batch_block *k, const struct memspan_map *map)
{
	bool profile = series_is_profile((enum series_kind)k->kind);
	uint32_t series = map->to.series[k->series], before = 0;

	if (series == INTERN_NONE ||
	    symtab_series(m->syms, series)->kind != k->kind)
		return false;
	m->blocks[m->n_blocks++] = (struct mem_block){k->slot, series,
	    (uint32_t)m->bytes.len};
	put_numbers(&m->bytes, k);
	for (uint32_t i = k->first; i < k->first + k->n; i++) {
		const struct batch_entry *e = &b->entries[i];
		uint32_t key = profile ? map->to.nodes[e->key] : e->key;

		put_entry(&m->bytes, &before,
		    key == INTERN_NONE ? map->lost : key, e->value);
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
		    f->time_ns < 0 ? 0 : (uint64_t)f->time_ns / b->slot_ns,
		    f->kind, subject, m->fact_bytes.len + f->first, f->n};
	}
	buf_put(&m->fact_bytes, b->fact_bytes.data, b->fact_bytes.len);
}

static bool
memspan_room_for(struct memspan *m, const struct batch *b)
{
	size_t most = b->n_blocks * BLOCK_MOST + b->n_entries * ENTRY_MOST;

	if (m->bytes.len + most <= UINT32_MAX &&
	    array_room(&m->blocks, m->n_blocks + b->n_blocks,
	        &m->cap_blocks) &&
	    array_room(&m->facts, m->n_facts + b->n_facts, &m->cap_facts) &&
	    buf_reserve(&m->bytes, most) &&
	    buf_reserve(&m->fact_bytes, b->fact_bytes.len))
		return true;
	m->bytes.failed = m->fact_bytes.failed = false; /* the span goes on */
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
