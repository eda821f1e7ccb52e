/*
 * Building a sealed file: dictionary first, then one series after the other,
 * leaves streamed in from all sources and folded upwards level by level.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/batch/batch_private.h"
#include "store/file/format.h"
#include "store/journal/open_marks.h"
#include "store/model/histogram.h"
#include "store/seal/seal_private.h"

/* Two pages of a file hold next to nothing, and who reads a record reads and
 * checks the whole of its page. */
#define SEAL_PAGE 8192

/* ---- facts and the streams ---- */

/* `subject` is a string of the new file. */
static const struct err *
seal_put_fact(struct seal *s, int64_t time_ns, uint8_t kind,
    uint32_t subject, const void *data, size_t n)
{
	struct batch *b = s->dict.out;

	if (!batch_room(b, (void **)&b->facts, b->n_facts,
	        &b->index->cap_facts, sizeof(*b->facts)))
		return err_nomem();
	b->facts[b->n_facts++] = (struct batch_fact){time_ns, kind, subject,
	    (uint32_t)b->fact_bytes.len, (uint32_t)n};
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

		if (!seal_in_range(in->source, f->slot))
			continue;
		e = seal_put_fact(s, f->time_ns, (uint8_t)f->kind,
		    s->dict.string_map[f->subject],
		    m->fact_bytes.data + f->first, f->n);
	}
	for (size_t i = 0; d != NULL && i < d->n_facts && e == NULL; i++) {
		const struct batch_fact *f = &d->facts[i];

		if (!seal_sieve_fact(&in->sieve, f))
			continue;
		e = seal_put_fact(s, f->time_ns, f->kind,
		    in->to.map[SEAL_STRINGS][f->subject],
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
seal_put_stacks(struct seal *s)
{
	struct buf bytes = {0};
	const struct err *e;
	uint32_t previous = 0;

	buf_put_varint(&bytes, s->dict.n_stacks);
	for (uint32_t i = 0; i < s->dict.n_stacks; i++) {
		buf_put_varint(&bytes, s->dict.stack_nodes[i] - previous);
		previous = s->dict.stack_nodes[i];
	}
	e = sealed_put_stream(s->db, &s->key, SEALED_STACKS, &bytes);
	buf_fini(&bytes);
	return e;
}

/* The names of the inputs are in the new dictionary: half of the memory. */
static void
seal_drop_names(struct seal *s)
{
	for (size_t i = 0; i < s->n_inputs; i++) {
		seal_names_fini(&s->inputs[i].to);
		if (s->inputs[i].source->file != NULL)
			sealed_drop_names(s->inputs[i].source->file);
	}
}

/* Of the dictionary only the series' kinds are needed any more. */
static void
seal_drop_dict(struct seal *s)
{
	struct batch *b = s->dict.out;

	free(s->dict.stack_nodes);
	s->dict.stack_nodes = NULL;
	b->n_nodes = 0;
	buf_fini(&s->bytes);
}

/* Where a large dictionary has what, for who does not want to read it. */
static const struct err *
seal_put_marks(struct seal *s)
{
	struct buf bytes = {0};
	const struct err *e = NULL;

	if (s->bytes.len < OPEN_MARKS_LEAST)
		return NULL;
	e = open_marks_make(s->bytes.data, s->bytes.len, &bytes);
	if (e == NULL)
		e = sealed_put_stream(s->db, &s->key, SEALED_MARKS, &bytes);
	buf_clear(&bytes);
	if (e == NULL)
		e = series_index_make(s->dict.out, s->dict.n_stacks, &bytes);
	if (e == NULL)
		e = sealed_put_stream(s->db, &s->key, SEALED_SERIES, &bytes);
	s->index = (struct series_index){.bytes = bytes, .whole = true};
	s->lives.level = (uint8_t)lives_level(s->meta->base, s->meta->top,
	    s->levels, s->meta->first + s->meta->slots);
	return e == NULL ? series_index_open(&s->index) : e;
}

/* When services lived. */
static const struct err *
seal_put_lives(struct seal *s)
{
	const struct series_index *x = &s->index;
	const struct err *e;

	if (x->n_services == 0)
		return NULL;
	buf_clear(&s->bytes);
	e = lives_make(x, x->bytes.data + x->head, &s->lives, &s->bytes);
	return e == NULL ? sealed_put_stream(s->db, &s->key, SEALED_LIVES,
	                       &s->bytes) : e;
}

/* The memory in which the dictionary is read, with its stacks. */
static uint64_t
seal_names(const struct seal_dict *d)
{
	const struct batch *b = d->out;

	return b->strings.bytes.len +
	    b->strings.n * sizeof(*b->strings.items) +
	    b->n_frames * sizeof(*b->frames) +
	    b->n_nodes * (sizeof(*b->nodes) + sizeof(*b->index->depths)) +
	    b->n_series * sizeof(*b->series) +
	    b->n_facts * sizeof(*b->facts) + b->fact_bytes.len +
	    d->n_stacks * sizeof(*d->stack_nodes);
}

/* The dictionary as bytes in s->bytes. */
static const struct err *
seal_encode_dict(struct seal *s)
{
	const struct err *e = NULL;

	for (size_t i = 0; i < s->n_inputs && e == NULL; i++) {
		if (s->inputs[i].source->facts)
			e = seal_take_facts(s, &s->inputs[i]);
	}
	if (e != NULL)
		return e;
	seal_drop_names(s);
	if (s->dict.out->n_facts > 0)
		qsort(s->dict.out->facts, s->dict.out->n_facts,
		    sizeof(*s->dict.out->facts), fact_compare);
	s->result->names = seal_names(&s->dict);
	buf_clear(&s->bytes);
	e = batch_encode_dict(s->dict.out, &s->bytes);
	buf_fini(&s->dict.out->index->node_bytes);
	return e;
}

static const struct err *
seal_put_dict(struct seal *s)
{
	const struct err *e = sealed_put_stream(s->db, &s->key, SEALED_DICT,
	    &s->bytes);

	if (e == NULL)
		e = seal_put_stacks(s);
	if (e == NULL)
		e = seal_put_marks(s);
	seal_drop_dict(s);
	return e;
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
	buf_put_varint(&s->bytes, s->levels);
	buf_put_varint(&s->bytes, s->result->until);
	buf_put_varint(&s->bytes, m->number);
	buf_put_varint(&s->bytes, s->result->names);
	return sealed_put_stream(s->db, &s->key, SEALED_META, &s->bytes);
}

/* ---- the whole ---- */

static const struct err *
seal_prepare(struct seal *s)
{
	const struct err *e = seal_prepare_inputs(s);

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
	const struct err *e = seal_encode_dict(s), *last;

	if (e == NULL) {
		apart_tell(s->dict.out, s->result->of);
		e = dbfile_create(&s->db, path, SEAL_PAGE);
	}
	if (e == NULL)
		e = seal_put_dict(s);
	s->writer.db = s->db;
	for (uint32_t i = 0; e == NULL && i < s->dict.out->n_series; i++)
		e = seal_series(s, i);
	if (e == NULL)
		e = sealed_put_end(&s->writer);
	if (e == NULL)
		e = seal_put_lives(s);
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
	for (size_t i = 0; s->inputs != NULL && i < s->n_inputs; i++)
		seal_input_fini(&s->inputs[i]);
	seal_levels_fini(s);
	sealed_writer_fini(&s->writer);
	series_index_fini(&s->index);
	lives_fini(&s->lives);
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
	s->levels = sealed_levels(meta->base, meta->top);
	s->result = result;
	s->n_inputs = n;
	s->inputs = calloc(n + 1, sizeof(*s->inputs));
	e = s->inputs == NULL ? err_nomem() : NULL;
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
