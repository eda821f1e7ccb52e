/*
 * Building a sealed file: dictionary first, then one series after the other,
 * leaves streamed in from all sources and folded upwards level by level.
 */
#include "seal.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

#include "batch_private.h"
#include "dbfile.h"
#include "format.h"
#include "seal_dict.h"
#include "seal_sieve.h"
#include "segtree.h"

/* The block of one level that is being added up. */
struct accumulator {
	struct block b;
	bool open;
	int128 *values;  /* dense, by stack or bucket; NULL until needed */
	uint64_t *dirty; /* bitmap of non-zero values */
	struct strip_writer strip;
	struct buf held; /* finished strips: be64 last, be32 size, bytes */
};

/* A source with its numbers translated to those of the new file. */
struct seal_input {
	const struct seal_source *source;
	struct symtab_map map;
	struct seal_sieve sieve;/* what a purge takes out of the file */
	uint32_t *stacks;       /* file's stack number -> new one */
	uint32_t *series;       /* new series -> file's, or INTERN_NONE */
	size_t *order;          /* memory: blocks by (series, slot) */
	size_t next, n_order;   /* position in order */
	const struct block *at; /* next leaf of the present series, or NULL */
	uint32_t at_series;     /* file's number of that series */
	bool adopted; /* the memory's table is lent to the dictionary */
};

struct seal {
	const struct sealed_meta *meta;
	struct seal_dict dict;
	struct seal_input *inputs;
	size_t n_inputs;
	struct accumulator levels[SEG_MAX_LEVEL + 1];
	size_t n_keys; /* size of the dense arrays */
	struct dbfile *db;
	struct buf key, bytes, entries;
	struct seal_result *result;
};

/* ---- what the sources hold ---- */

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
static const struct err *
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

/* ---- adding up ---- */

static const struct err *
seal_need_values(struct seal *s, struct accumulator *a)
{
	if (a->values != NULL)
		return NULL;
	a->values = calloc(s->n_keys + 1, sizeof(*a->values));
	a->dirty = calloc(s->n_keys / 64 + 1, sizeof(*a->dirty));
	return a->values != NULL && a->dirty != NULL ? NULL : err_nomem();
}

static inline void
seal_add_value(struct accumulator *a, uint32_t key, int128 value)
{
	a->values[key] += value;
	a->dirty[key / 64] |= UINT64_C(1) << key % 64;
}

static const struct err *
seal_add_entries(struct seal *s, struct seal_input *in, enum series_kind kind,
    struct accumulator *a)
{
	const struct memspan *m = in->source->memory;
	struct entry_reader r = {in->at->entries, 0};
	bool profile = series_is_profile(kind);
	uint32_t key, limit;
	int128 value;

	if (m != NULL) {
		const struct mem_block *b = &m->blocks[in->order[in->next]];

		for (size_t i = b->first; i < b->first + b->n; i++) {
			key = m->entries[i].node;
			seal_add_value(a,
			    profile ? s->dict.stack_map[key] : key,
			    m->entries[i].value);
		}
		return NULL;
	}
	limit = profile ? in->source->file->n_stacks : HISTOGRAM_BUCKETS;
	while (entry_next(&r, &key, &value)) {
		if (key >= limit)
			r.c.bad = true;
		else if (!profile || !seal_sieve_drops_stack(&in->sieve,
		                         in->at_series, in->at, key))
			seal_add_value(a, profile ? in->stacks[key] : key,
			    value);
	}
	return r.c.bad ? err_new(ERR_FORMAT, 0, "a block's entries are bad")
	               : NULL;
}

/* Adds what a finished block holds to its parent. */
static const struct err *
seal_fold_up(struct seal *s, enum series_kind kind,
    const struct accumulator *from, struct accumulator *to)
{
	const struct err *e;

	block_fold(kind, &to->b, &from->b, s->meta->slot_ns);
	if (!series_has_entries(kind))
		return NULL;
	if ((e = seal_need_values(s, to)) != NULL)
		return e;
	for (size_t w = 0; w <= (s->n_keys - 1) / 64; w++) {
		uint64_t bits = from->dirty[w];

		for (; bits != 0; bits &= bits - 1) {
			uint32_t key =
			    (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(bits);

			seal_add_value(to, key, from->values[key]);
		}
	}
	return NULL;
}

static void
seal_encode_entries(struct seal *s, struct accumulator *a)
{
	struct entry_writer w = {&s->entries, 0};

	buf_clear(&s->entries);
	if (a->values == NULL)
		return;
	for (size_t i = 0; i <= (s->n_keys - 1) / 64; i++) {
		uint64_t bits = a->dirty[i];

		for (; bits != 0; bits &= bits - 1) {
			uint32_t key =
			    (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(bits);

			entry_put(&w, key, a->values[key]);
			a->values[key] = 0;
		}
		a->dirty[i] = 0;
	}
}

/*
 * Strips of the base level are written at once, those above it when it is
 * done: keys then come in their order, and pages of the tree are left full
 * instead of split in halves.
 */
static const struct err *
seal_flush_strip(struct seal *s, uint32_t series, struct accumulator *a)
{
	uint64_t last;

	if (a->strip.n == 0)
		return NULL;
	last = strip_last(&a->strip);
	buf_clear(&s->bytes);
	strip_take(&a->strip, &s->bytes);
	if (s->bytes.failed)
		return err_nomem();
	if (a->strip.level > s->meta->base) {
		buf_put_be64(&a->held, last);
		buf_put_be32(&a->held, (uint32_t)s->bytes.len);
		buf_put(&a->held, s->bytes.data, s->bytes.len);
		return a->held.failed ? err_nomem() : NULL;
	}
	sealed_strip_key(&s->key, series, a->strip.level, last);
	return dbfile_put(s->db, &s->key, s->bytes.data, s->bytes.len);
}

/* Writes the held strips of a level. */
static const struct err *
seal_release(struct seal *s, uint32_t series, unsigned level)
{
	struct buf *held = &s->levels[level].held;
	struct cur c = cur_of(held->data, held->len);
	const struct err *e = NULL;

	while (e == NULL && cur_left(&c) > 0) {
		uint64_t last = cur_be64(&c);
		uint32_t size = cur_be32(&c);

		sealed_strip_key(&s->key, series, level, last);
		e = dbfile_put(s->db, &s->key, cur_raw(&c, size), size);
	}
	buf_clear(held);
	return e;
}

static const struct err *seal_open_block(struct seal *s, uint32_t series,
    enum series_kind kind, unsigned level, uint64_t slot);

/* Ends the open block of a level: fold it upwards, write it. */
static const struct err *
seal_close_block(struct seal *s, uint32_t series, enum series_kind kind,
    unsigned level)
{
	struct accumulator *a = &s->levels[level];
	uint64_t end = a->b.start + seg_slots(level);
	const struct err *e = NULL;

	if (!a->open)
		return NULL;
	a->open = false;
	if (level < s->meta->top) {
		e = seal_open_block(s, series, kind, level + 1, a->b.start);
		if (e == NULL)
			e = seal_fold_up(s, kind, a, &s->levels[level + 1]);
	}
	if (e != NULL)
		return e;
	seal_encode_entries(s, a);
	if (end > s->meta->first + s->meta->slots)
		return NULL; /* not complete: its time has not come */
	if (strip_full(&a->strip, a->b.start, s->entries.len))
		e = seal_flush_strip(s, series, a);
	strip_add(&a->strip, &a->b, &s->entries);
	return e;
}

/* Makes sure that the block of `level` around `slot` is the open one. */
static const struct err *
seal_open_block(struct seal *s, uint32_t series, enum series_kind kind,
    unsigned level, uint64_t slot)
{
	struct accumulator *a = &s->levels[level];
	uint64_t start = seg_align(slot, level);
	const struct err *e;

	if (a->open && a->b.start == start)
		return NULL;
	if ((e = seal_close_block(s, series, kind, level)) != NULL)
		return e;
	a->b = (struct block){.start = start};
	a->open = true;
	return series_has_entries(kind) ? seal_need_values(s, a) : NULL;
}

/* Adds all leaves that begin at `slot`, and moves their sources on. */
static const struct err *
seal_add_slot(struct seal *s, uint32_t series, enum series_kind kind,
    uint64_t slot)
{
	struct accumulator *a = &s->levels[s->meta->base];
	const struct err *e =
	    seal_open_block(s, series, kind, s->meta->base, slot);

	for (size_t i = 0; i < s->n_inputs && e == NULL; i++) {
		struct seal_input *in = &s->inputs[i];

		while (e == NULL && in->at != NULL && in->at->start == slot) {
			block_fold(kind, &a->b, in->at, s->meta->slot_ns);
			if (series_has_entries(kind))
				e = seal_add_entries(s, in, kind, a);
			in->next += in->source->memory != NULL;
			if (e == NULL)
				e = seal_advance(s, in, series, slot + 1);
		}
	}
	if (s->result->blocks++ == 0 || slot < s->result->since)
		s->result->since = slot;
	slot += seg_slots(s->meta->base);
	if (slot > s->result->until)
		s->result->until = slot;
	return e;
}

static const struct err *
seal_series(struct seal *s, uint32_t series)
{
	enum series_kind kind = (enum series_kind)
	    s->dict.out->series[series].kind;
	const struct err *e = NULL;

	for (unsigned l = s->meta->base; l <= s->meta->top; l++)
		strip_begin(&s->levels[l].strip, kind, l);
	for (size_t i = 0; i < s->n_inputs && e == NULL; i++)
		e = seal_advance(s, &s->inputs[i], series, 0);
	while (e == NULL) {
		uint64_t slot = UINT64_MAX;

		for (size_t i = 0; i < s->n_inputs; i++) {
			const struct block *at = s->inputs[i].at;

			if (at != NULL && at->start < slot)
				slot = at->start;
		}
		if (slot == UINT64_MAX)
			break;
		e = seal_add_slot(s, series, kind, slot);
	}
	for (unsigned l = s->meta->base; l <= s->meta->top && e == NULL; l++)
		e = seal_close_block(s, series, kind, l);
	for (unsigned l = s->meta->base; l <= s->meta->top && e == NULL; l++)
		e = seal_flush_strip(s, series, &s->levels[l]);
	for (unsigned l = s->meta->base + 1; l <= s->meta->top && e == NULL; l++)
		e = seal_release(s, series, l);
	return e;
}

/* ---- facts and the streams ---- */

static const struct err *
seal_put_fact(struct seal *s, int64_t time_ns, uint8_t kind,
    uint32_t subject, const void *data, size_t n)
{
	struct batch *b = s->dict.out;

	if (!batch_room(b, (void **)&b->facts, b->n_facts,
	        &b->index->cap_facts, sizeof(*b->facts)))
		return err_nomem();
	b->facts[b->n_facts++] = (struct batch_fact){time_ns, kind,
	    s->dict.string_map[subject], (uint32_t)b->fact_bytes.len,
	    (uint32_t)n};
	buf_put(&b->fact_bytes, data, n);
	s->result->facts++;
	return b->fact_bytes.failed ? err_nomem() : NULL;
}

static const struct err *
seal_take_facts(struct seal *s, const struct seal_input *in)
{
	const struct memspan *m = in->source->memory;
	const struct batch *d = m ? NULL : in->source->file->dict;
	const struct err *e = NULL;

	for (size_t i = 0; m != NULL && i < m->n_facts && e == NULL; i++) {
		const struct mem_fact *f = &m->facts[i];

		e = seal_put_fact(s, f->time_ns, (uint8_t)f->kind,
		    in->map.strings[f->subject],
		    m->fact_bytes.data + f->first, f->n);
	}
	for (size_t i = 0; d != NULL && i < d->n_facts && e == NULL; i++) {
		const struct batch_fact *f = &d->facts[i];

		if (!seal_sieve_fact(&in->sieve, f))
			continue;
		e = seal_put_fact(s, f->time_ns, f->kind,
		    in->map.strings[f->subject],
		    d->fact_bytes.data + f->first, f->n);
	}
	return e;
}

static int
fact_compare(const void *a, const void *b)
{
	const struct batch_fact *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static const struct err *
seal_put_stream(struct seal *s, enum sealed_stream stream,
    const struct buf *bytes)
{
	const struct err *e = bytes->failed ? err_nomem() : NULL;
	uint32_t chunk = 0;

	for (size_t at = 0; at < bytes->len && e == NULL;
	     at += SEALED_CHUNK) {
		size_t n = bytes->len - at;

		sealed_stream_key(&s->key, stream, chunk++);
		e = dbfile_put(s->db, &s->key, bytes->data + at,
		    n < SEALED_CHUNK ? n : SEALED_CHUNK);
	}
	return e;
}

static const struct err *
seal_put_stacks(struct seal *s)
{
	uint32_t previous = 0;

	buf_clear(&s->bytes);
	buf_put_varint(&s->bytes, s->dict.n_stacks);
	for (uint32_t i = 0; i < s->dict.n_stacks; i++) {
		buf_put_varint(&s->bytes, s->dict.stack_nodes[i] - previous);
		previous = s->dict.stack_nodes[i];
	}
	return seal_put_stream(s, SEALED_STACKS, &s->bytes);
}

static const struct err *
seal_put_dict(struct seal *s)
{
	const struct err *e = NULL;

	for (size_t i = 0; i < s->n_inputs && e == NULL; i++) {
		if (s->inputs[i].source->facts)
			e = seal_take_facts(s, &s->inputs[i]);
	}
	if (e != NULL)
		return e;
	if (s->dict.out->n_facts > 0)
		qsort(s->dict.out->facts, s->dict.out->n_facts,
		    sizeof(*s->dict.out->facts), fact_compare);
	buf_clear(&s->bytes);
	e = batch_encode_dict(s->dict.out, &s->bytes);
	if (e == NULL)
		e = seal_put_stream(s, SEALED_DICT, &s->bytes);
	return e == NULL ? seal_put_stacks(s) : e;
}

static const struct err *
seal_put_meta(struct seal *s)
{
	const struct sealed_meta *m = s->meta;

	buf_clear(&s->bytes);
	buf_put_varint(&s->bytes, FORMAT_VERSION);
	buf_put_varint(&s->bytes, (uint64_t)m->slot_ns);
	buf_put_varint(&s->bytes, m->first);
	buf_put_varint(&s->bytes, m->slots);
	buf_put_u8(&s->bytes, (uint8_t)m->base);
	buf_put_u8(&s->bytes, (uint8_t)m->top);
	buf_put_varint(&s->bytes, s->result->until);
	return seal_put_stream(s, SEALED_META, &s->bytes);
}

/* ---- the whole ---- */

static const struct err *
seal_prepare(struct seal *s)
{
	const struct err *e = seal_collect(s);

	for (size_t i = 0; i < s->n_inputs && e == NULL; i++) {
		if (s->inputs[i].source->memory != NULL)
			e = seal_prepare_memory(s, &s->inputs[i]);
		else
			e = seal_prepare_file(s, &s->inputs[i]);
	}
	s->n_keys = s->dict.n_stacks;
	if (s->n_keys < HISTOGRAM_BUCKETS)
		for (size_t i = 0; e == NULL && i < s->dict.out->n_series; i++)
			if (s->dict.out->series[i].kind == SERIES_HISTOGRAM)
				s->n_keys = HISTOGRAM_BUCKETS;
	if (s->n_keys == 0)
		s->n_keys = 1;
	return e;
}

static const struct err *
seal_write(struct seal *s, const char *path)
{
	uint32_t page = s->meta->slots > 256 ? 65536 : 16384;
	const struct err *e = dbfile_create(&s->db, path, page), *last;

	if (e == NULL)
		e = seal_put_dict(s);
	for (uint32_t i = 0; e == NULL && i < s->dict.out->n_series; i++)
		e = seal_series(s, i);
	if (e == NULL)
		e = seal_put_meta(s);
	if (s->db == NULL)
		return e;
	if (e != NULL) {
		dbfile_close(s->db);
		return e;
	}
	last = dbfile_finish(s->db);
	return last;
}

static void
seal_fini(struct seal *s)
{
	bool borrowed = false;

	for (size_t i = 0; s->inputs != NULL && i < s->n_inputs; i++) {
		struct seal_input *in = &s->inputs[i];

		symtab_map_fini(&in->map);
		seal_sieve_fini(&in->sieve);
		free(in->stacks);
		free(in->series);
		free(in->order);
		if (in->adopted) {
			*in->source->memory->syms = s->dict.syms;
			borrowed = true;
		}
	}
	if (borrowed)
		s->dict.syms = (struct symtab){0};
	for (unsigned l = 0; l <= SEG_MAX_LEVEL; l++) {
		free(s->levels[l].values);
		free(s->levels[l].dirty);
		strip_fini(&s->levels[l].strip);
		buf_fini(&s->levels[l].held);
	}
	free(s->inputs);
	seal_dict_fini(&s->dict);
	buf_fini(&s->key);
	buf_fini(&s->bytes);
	buf_fini(&s->entries);
}

const struct err *
seal_build(const char *path, const struct sealed_meta *meta,
    const struct seal_source *sources, size_t n, struct seal_result *result)
{
	struct seal *s = calloc(1, sizeof(*s));
	const struct err *e;

	*result = (struct seal_result){0};
	if (s == NULL)
		return err_nomem();
	s->meta = meta;
	s->result = result;
	s->n_inputs = n;
	s->inputs = calloc(n + 1, sizeof(*s->inputs));
	e = s->inputs == NULL ? err_nomem() : seal_dict_init(&s->dict);
	for (size_t i = 0; e == NULL && i < n; i++)
		s->inputs[i].source = &sources[i];
	if (e == NULL)
		e = seal_prepare(s);
	if (e == NULL) {
		result->series = s->dict.out->n_series;
		result->stacks = s->dict.n_stacks;
		e = seal_write(s, path);
	}
	seal_fini(s);
	free(s);
	return e;
}
