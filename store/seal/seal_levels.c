/*
 * The blocks of a series: leaves are added up slot by slot, parents derived
 * from them level by level, all written as strips.
 */
#include <stdlib.h>

#include "store/base/err.h"
#include "store/model/histogram.h"
#include "store/seal/seal_private.h"

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
	struct entry_reader r = {in->at->entries, 0};
	bool profile = series_is_profile(kind);
	uint32_t key = 0, limit;
	int64_t add;
	int128 value;

	if (in->source->memory != NULL) {
		while (memspan_entry(&r.c, &key, &add))
			seal_add_value(a,
			    profile ? s->dict.stack_map[key] : key, add);
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
			uint32_t key = (uint32_t)(w * 64) +
			    (uint32_t)__builtin_ctzll(bits);

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
			uint32_t key = (uint32_t)(i * 64) +
			    (uint32_t)__builtin_ctzll(bits);

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
	const struct err *e;
	uint64_t last;

	if (a->strip.n == 0)
		return NULL;
	last = strip_last(&a->strip);
	buf_clear(&s->bytes);
	if ((e = strip_take(&a->strip, &s->bytes)) != NULL)
		return e;
	if (a->strip.level > s->meta->base) {
		buf_put_be64(&a->held, last);
		buf_put_be32(&a->held, (uint32_t)s->bytes.len);
		buf_put(&a->held, s->bytes.data, s->bytes.len);
		return a->held.failed ? err_nomem() : NULL;
	}
	sealed_strip_key(&s->key, series, a->strip.level, last);
	return sealed_put_strip(&s->writer, &s->key, s->bytes.data,
	    s->bytes.len);
}

/* Writes the held strips of a level. */
static const struct err *
seal_release(struct seal *s, uint32_t series, unsigned level)
{
	struct buf *held = &s->level[level].held;
	struct cur c = cur_of(held->data, held->len);
	const struct err *e = NULL;

	while (e == NULL && cur_left(&c) > 0) {
		uint64_t last = cur_be64(&c);
		uint32_t size = cur_be32(&c);

		sealed_strip_key(&s->key, series, level, last);
		e = sealed_put_strip(&s->writer, &s->key,
		    cur_raw(&c, size), size);
	}
	buf_clear(held);
	return e;
}

static const struct err *seal_open_block(struct seal *s, uint32_t series,
    enum series_kind kind, unsigned level, uint64_t slot);

/* The next level above one that the file has; more than its highest: none. */
static unsigned
seal_level_above(const struct seal *s, unsigned level)
{
	do
		level++;
	while (level <= s->meta->top && (s->levels >> level & 1) == 0);
	return level;
}

/* Ends the open block of a level: fold it upwards, write it. */
static const struct err *
seal_close_block(struct seal *s, uint32_t series, enum series_kind kind,
    unsigned level)
{
	struct accumulator *a = &s->level[level];
	uint64_t end = a->b.start + seg_slots(level);
	unsigned above = seal_level_above(s, level);
	const struct err *e = NULL;

	if (!a->open)
		return NULL;
	a->open = false;
	if (above <= s->meta->top) {
		e = seal_open_block(s, series, kind, above, a->b.start);
		if (e == NULL)
			e = seal_fold_up(s, kind, a, &s->level[above]);
	}
	if (e != NULL)
		return e;
	seal_encode_entries(s, a);
	if (s->entries.failed)
		return err_nomem();
	if (end > s->meta->first + s->meta->slots)
		return NULL; /* not complete: its time has not come */
	if (strip_full(&a->strip, a->b.start, s->entries.len))
		e = seal_flush_strip(s, series, a);
	strip_add(&a->strip, &a->b, &s->entries);
	if (e == NULL && level == s->lives.level && s->index.n_services > 0 &&
	    !lives_put(&s->lives, (uint32_t)(a->b.start / seg_slots(level))))
		e = err_nomem();
	return e;
}

/* Makes sure that the block of `level` around `slot` is the open one. */
static const struct err *
seal_open_block(struct seal *s, uint32_t series, enum series_kind kind,
    unsigned level, uint64_t slot)
{
	struct accumulator *a = &s->level[level];
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
	struct accumulator *a = &s->level[s->meta->base];
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

const struct err *
seal_series(struct seal *s, uint32_t series)
{
	enum series_kind kind = (enum series_kind)
	    s->dict.out->series[series].kind;
	const struct err *e = NULL;

	for (unsigned l = s->meta->base; l <= s->meta->top; l++)
		strip_begin(&s->level[l].strip, kind, l);
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
		e = seal_flush_strip(s, series, &s->level[l]);
	for (unsigned l = s->meta->base + 1; l <= s->meta->top && e == NULL;
	     l++)
		e = seal_release(s, series, l);
	if (e == NULL && s->index.n_services > 0 && !lives_end(&s->lives))
		e = err_nomem();
	return e;
}

void
seal_levels_fini(struct seal *s)
{
	for (unsigned l = 0; l <= SEG_MAX_LEVEL; l++) {
		free(s->level[l].values);
		free(s->level[l].dirty);
		strip_fini(&s->level[l].strip);
		buf_fini(&s->level[l].held);
	}
}
