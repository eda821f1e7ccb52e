/*
 * Scanning a record of an open journal: where its names stand, which series
 * it has, the numbers of its blocks.  What batch_decode_journal() refuses is
 * refused here, but for what is wrong in frames and nodes of a whole record:
 * these are looked at when somebody asks for them, and are lost then.
 */
#include "store/journal/open_skim.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/journal/open_marks.h"
#include "store/journal/open_numbers.h"
#include "store/model/histogram.h"

#define SKIM_SLOT_BITS 40
#define SKIM_SERIES 5 /* tags of sections */
#define SKIM_FACTS 7
#define SKIM_TIMES 16 /* that are looked at */

/* ---- series ---- */

static bool
skim_series_room(struct open_dict *d, size_t n)
{
	if (!open_room((void **)&d->series, n, &d->cap_series,
	        sizeof(*d->series)))
		return false;
	if (n > d->n_series) {
		memset(d->series + d->n_series, 0xff,
		    (n - d->n_series) * sizeof(*d->series));
		d->n_series = (uint32_t)n;
	}
	return true;
}

static bool
skim_need_series(struct skim *k, const struct batch_series *s)
{
	struct open_view *v = &k->o->own;

	return open_names_need(k->d, v, OPEN_STRINGS, s->name) &&
	    open_names_need(k->d, v, OPEN_STRINGS, s->unit) &&
	    open_names_need(k->d, v, OPEN_LABELS, s->labels);
}

/* One with a lost name is lost. */
static bool
skim_put_series(struct skim *k, const struct batch_series *s, uint32_t number)
{
	struct openspan *o = k->o;
	struct sym_series key = {s->period, s->kind, s->scale,
	    open_names_get(&o->own, OPEN_STRINGS, s->name),
	    open_names_get(&o->own, OPEN_STRINGS, s->unit),
	    open_names_get(&o->own, OPEN_LABELS, s->labels), 0};
	uint32_t strip;

	if (key.name == INTERN_NONE || key.unit == INTERN_NONE ||
	    key.labels == INTERN_NONE)
		return true;
	strip = intern_put(&o->series.series, &key, sizeof(key));
	if (strip == INTERN_NONE ||
	    !open_room((void **)&o->strips, strip + 1, &o->cap_strips,
	        sizeof(*o->strips)) ||
	    !open_room((void **)&o->ends, strip + 1, &o->cap_ends,
	        sizeof(*o->ends)))
		return false;
	if (strip == o->n_strips) {
		o->ends[o->n_strips] = 0;
		o->strips[o->n_strips++] = (struct open_strip){0};
	}
	if (!open_series_take(&o->lists, &o->series))
		return false;
	k->d->series[number] = strip;
	return true;
}

/* Twice: what they need, and then them. */
static const struct err *
skim_series(struct skim *k, struct cur *c)
{
	const struct err *e = NULL;
	size_t n = skim_count(c, 6);
	struct batch_series s;
	struct cur again = *c;

	k->series = k->first.series + n;
	if (!skim_series_room(k->d, k->series))
		return err_nomem();
	for (size_t i = 0; i < n && !c->bad; i++) {
		batch_one_series(c, k->strings, k->labels, &s);
		if (!c->bad &&
		    k->d->series[k->first.series + i] == INTERN_NONE &&
		    !skim_need_series(k, &s))
			return err_nomem();
	}
	e = open_names_resolve(k->d, &k->o->own, &k->o->pages,
	    &k->o->series);
	for (size_t i = 0; i < n && !c->bad && e == NULL; i++) {
		uint32_t number = (uint32_t)(k->first.series + i);

		batch_one_series(&again, k->strings, k->labels, &s);
		if (k->d->series[number] == INTERN_NONE &&
		    !skim_put_series(k, &s, number))
			e = err_nomem();
	}
	return e;
}

/* ---- blocks ---- */

struct skim_block {
	struct batch_block numbers; /* entries left out */
	uint32_t strip;             /* INTERN_NONE: lost */
	uint32_t at, n, size;       /* of its entries in the record */
};

static void
skim_entries(struct skim *k, struct cur *c, struct skim_block *b,
    size_t bound)
{
	size_t n = skim_count(c, 2);
	uint64_t key = 0, count = 0;
	int64_t value;

	b->at = skim_at(k, c);
	for (size_t i = 0; i < n && !c->bad; i++) {
		batch_one_entry(c, k->plain, i == 0, bound, &key, &value);
		count += (uint64_t)value;
	}
	b->n = (uint32_t)n;
	b->size = skim_at(k, c) - b->at;
	if (b->numbers.kind == SERIES_HISTOGRAM)
		b->numbers.count = count;
}

static void
skim_value(struct skim *k, struct cur *c, struct skim_block *b)
{
	struct batch_block *n = &b->numbers;

	switch (n->kind) {
	case SERIES_FLOW:
	case SERIES_STOCK:
		n->count = cur_varint(c);
		skim_entries(k, c, b, k->nodes);
		break;
	case SERIES_GAUGE:
	case SERIES_COUNTER:
		batch_one_number(c, n);
		break;
	default:
		skim_entries(k, c, b, HISTOGRAM_BUCKETS);
		n->sum = cur_zigzag128(c);
		n->min = cur_zigzag(c);
		n->max = cur_zigzag(c);
		break;
	}
}

/* The next block; *slot is that of the one before. */
static void
skim_block(struct skim *k, struct cur *c, uint64_t *slot,
    struct skim_block *b)
{
	uint64_t series = cur_varint(c);
	enum series_kind kind = 0;

	*b = (struct skim_block){.strip = INTERN_NONE};
	if (series >= k->series)
		c->bad = true;
	else
		b->strip = k->d->series[series];
	if (b->strip != INTERN_NONE)
		kind = (enum series_kind)symtab_series(&k->o->series,
		    b->strip)->kind;
	b->numbers.kind = k->plain ? (uint8_t)kind : cur_u8(c);
	if (b->numbers.kind != kind)
		b->strip = INTERN_NONE;
	*slot += (uint64_t)cur_zigzag(c);
	b->numbers.slot = *slot;
	if (c->bad || *slot >> SKIM_SLOT_BITS != 0 ||
	    b->numbers.kind < SERIES_FLOW ||
	    b->numbers.kind > SERIES_HISTOGRAM)
		c->bad = true;
	else
		skim_value(k, c, b);
}

/* A histogram's entries as a file has them. */
static void
skim_put_entries(const struct skim *k, const struct skim_block *b,
    struct buf *out)
{
	struct cur c = cur_of(k->start + (b->at - k->base), b->size);
	struct entry_writer w = {out, 0};
	uint64_t key = 0;
	int64_t value;

	for (uint32_t i = 0; i < b->n; i++) {
		batch_one_entry(&c, k->plain, i == 0, HISTOGRAM_BUCKETS, &key,
		    &value);
		entry_put(&w, (uint32_t)key, value);
	}
}

/* Which of the span's times this is: one of those that came last, or a new
 * one; INTERN_NONE: out of memory. */
static uint32_t
skim_time(struct openspan *o, int64_t time_ns)
{
	for (uint32_t i = 0; i < SKIM_TIMES && i < o->n_times; i++) {
		if (o->times[o->n_times - 1 - i] == time_ns)
			return o->n_times - 1 - i;
	}
	if (!open_room((void **)&o->times, o->n_times + 1, &o->cap_times,
	        sizeof(*o->times)))
		return INTERN_NONE;
	o->times[o->n_times] = time_ns;
	return o->n_times++;
}

/* A gauge's or counter's, of the slot at this place. */
static bool
skim_put_metric(struct skim *k, const struct batch_block *n, uint32_t strip,
    uint32_t place)
{
	struct open_strip *s = &k->o->strips[strip];
	struct batch_block told = *n;
	uint32_t time = skim_time(k->o, n->last_ns);

	told.last_ns = time - k->o->slots[place].time;
	open_numbers_put(&k->text, &told, s->value);
	s->value_before = s->value;
	s->value = n->last;
	return time != INTERN_NONE;
}

static bool
skim_put_block(struct skim *k, const struct skim_block *b)
{
	const struct batch_block *n = &b->numbers;
	struct buf *out = &k->text;
	uint32_t place;

	if (b->strip == INTERN_NONE) {
		k->o->lost++;
		return true;
	}
	if ((place = openspan_slot(k->o, n->slot)) == INTERN_NONE)
		return false;
	buf_clear(out);
	if (n->kind == SERIES_HISTOGRAM)
		buf_put_varint(out, n->count);
	if (n->kind != SERIES_GAUGE && n->kind != SERIES_COUNTER)
		batch_put_numbers(n, out);
	else if (!skim_put_metric(k, n, b->strip, place))
		return false;
	if (n->kind == SERIES_HISTOGRAM) {
		skim_put_entries(k, b, out);
	} else if (series_is_profile((enum series_kind)n->kind)) {
		buf_put_varint(out, k->record);
		buf_put_varint(out, b->at);
		buf_put_varint(out, b->n);
		buf_put_varint(out, b->size);
	}
	return !out->failed && openspan_put_block(k->o, b->strip, place,
	    out->data, out->len);
}

/* Also of blocks whose series is not known. */
static bool
skim_put_recent(struct openspan *o, uint64_t slot)
{
	if (o->n_recent > 0 && o->recent[o->n_recent - 1] == slot)
		return true;
	if (!open_room((void **)&o->recent, o->n_recent + 1, &o->cap_recent,
	        sizeof(*o->recent)))
		return false;
	o->recent[o->n_recent++] = slot;
	return true;
}

/* First without `put`: a record that is malformed leaves no block behind. */
static bool
skim_blocks(struct skim *k, struct cur *c, bool put)
{
	size_t n = skim_count(c, 3);
	struct skim_block b;
	uint64_t slot = 0;

	for (size_t i = 0; i < n && !c->bad; i++) {
		skim_block(k, c, &slot, &b);
		if (put && !c->bad && (!skim_put_block(k, &b) ||
		        !skim_put_recent(k->o, slot)))
			return false;
	}
	return true;
}

/* ---- facts ---- */

static bool
skim_facts(struct skim *k, struct cur *c, bool put)
{
	struct openspan *o = k->o;
	size_t n = skim_count(c, 4);

	if (put && !open_room((void **)&o->facts, o->n_facts + n,
	        &o->cap_facts, sizeof(*o->facts)))
		return false;
	for (size_t i = 0; i < n && !c->bad; i++) {
		struct fact f;

		fact_take(c, &f);
		if (f.subject >= k->strings || f.n > OPEN_FACT_MAX)
			c->bad = true;
		else if (put && !c->bad)
			o->facts[o->n_facts++] = (struct open_fact){
			    .time_ns = f.time_ns, .kind = f.kind,
			    .subject = (uint32_t)f.subject,
			    .record = k->record,
			    .n = (uint32_t)f.n & OPEN_FACT_MAX,
			    .at = skim_at(k, c) - (uint32_t)f.n};
	}
	return true;
}

/* ---- a record ---- */

/* The dictionary that the record goes on with, or a new one. */
static const struct err *
skim_dict(struct skim *k, uint32_t number)
{
	struct openspan *o = k->o;

	if (o->n_dicts == 0 || number == 0 ||
	    o->dicts[o->n_dicts - 1].number != number) {
		if (!open_room((void **)&o->dicts, o->n_dicts + 1,
		        &o->cap_dicts, sizeof(*o->dicts)))
			return err_nomem();
		o->dicts[o->n_dicts++] = (struct open_dict){.number = number};
		open_view_fini(&o->own);
		openspan_drop_again(o);
	}
	k->d = &o->dicts[o->n_dicts - 1];
	return NULL;
}

/* What stands before the sections. */
static const struct err *
skim_begin(struct skim *k, struct cur *c, uint8_t version)
{
	const struct err *e;
	uint32_t dictionary = 0;

	if (cur_u8(c) != version)
		c->bad = true;
	cur_raw(c, 16);
	cur_varint(c); /* slot length */
	k->first = BATCH_FIRST;
	k->plain = version != 2;
	k->later &= !k->plain;
	if (!k->plain)
		batch_one_first(c, &dictionary, &k->first);
	if (c->bad)
		return NULL;
	e = skim_dict(k, dictionary);
	if (e == NULL)
		k->d->coded = version == BATCH_VERSION_DICT;
	return e;
}

static const struct err *
skim_section(struct skim *k, struct cur *c, size_t tag, bool put)
{
	bool fine;

	switch (tag) {
	case 1:
	case 2:
	case 3:
	case 4:
		fine = skim_names(k, c, (enum open_kind)(tag - 1));
		break;
	case SKIM_SERIES:
		return skim_series(k, c);
	case 6:
		fine = skim_blocks(k, c, put);
		break;
	default:
		fine = skim_facts(k, c, put);
		break;
	}
	return fine ? NULL : err_nomem();
}

static void
skim_note_place(struct skim *k, const struct cur *c, size_t tag)
{
	struct open_place place = {skim_at(k, c), (uint32_t)cur_left(c)};

	if (tag == SKIM_SERIES)
		k->o->dict_at[OPEN_SERIES_AT] = place;
	if (tag == SKIM_FACTS)
		k->o->dict_at[OPEN_FACTS_AT] = place;
}

/* Names are taken up at once: what is malformed after them does not make
 * them wrong.  Blocks and facts come when all of the record is well. */
static const struct err *
skim_sections(struct skim *k, struct cur *c)
{
	struct cur sections[BATCH_SECTIONS];
	const struct err *e = NULL;

	for (size_t i = 0; i < BATCH_SECTIONS && e == NULL && !c->bad; i++) {
		uint64_t tag = cur_varint(c);
		size_t n;
		const uint8_t *p = cur_bytes(c, &n);

		if (p == NULL || tag != i + 1) {
			c->bad = true;
			break;
		}
		sections[i] = cur_of(p, n);
		skim_note_place(k, &sections[i], i + 1);
		e = skim_section(k, &sections[i], i + 1, false);
		c->bad |= sections[i].bad || cur_left(&sections[i]) > 0;
		sections[i] = cur_of(p, n);
	}
	c->bad |= cur_left(c) > 0;
	for (size_t i = BATCH_NAMES; i < BATCH_SECTIONS && e == NULL &&
	     !c->bad; i++)
		e = skim_section(k, &sections[i], i + 1, true);
	return e;
}

static const struct err *
openspan_take_within(struct openspan *o, const void *record, size_t size,
    uint64_t offset, const struct batch_form *form)
{
	struct skim k = {.o = o, .start = record,
	    .record = o->pages.n_records, .later = form == &batch_of_journal};
	const struct err *e;
	uint8_t version;
	struct cur c;

	e = batch_open_record(record, size, form, &c, &version);
	if (e != NULL)
		return e;
	o->n_recent = 0;
	if (o->series.n_nodes == 0)
		e = symtab_init_unshown(&o->series);
	if (e == NULL)
		e = skim_begin(&k, &c, version);
	if (e == NULL && !c.bad)
		e = open_pages_add(&o->pages, offset, record, size,
		    o->n_dicts - 1);
	if (e == NULL && !c.bad)
		e = skim_sections(&k, &c);
	buf_fini(&k.text);
	free(k.depths);
	if (e != NULL) {
		openspan_fini(o);
		return e;
	}
	return c.bad ? err_new(ERR_FORMAT, 0,
	    "a record of a journal is malformed") : NULL;
}

const struct err *
openspan_take(struct openspan *o, const void *record, size_t size,
    uint64_t offset)
{
	return openspan_take_within(o, record, size, offset,
	    &batch_of_journal);
}

/* The series of a file are all different, so that their numbers stay. */
static const struct err *
skim_check_numbers(const struct openspan *o)
{
	for (uint32_t i = 0; i < o->dicts[0].n_series; i++) {
		if (o->dicts[0].series[i] != i)
			return err_new(ERR_FORMAT, 0,
			    "the dictionary's series are malformed");
	}
	return NULL;
}

const struct err *
openspan_take_dict(struct openspan *o, const void *record, size_t size)
{
	const struct err *e = openspan_take_within(o, record, size, 0,
	    &batch_of_file);

	return e == NULL ? skim_check_numbers(o) : e;
}

/* One section of a dictionary whose other names are marked. */
static const struct err *
skim_place(struct skim *k, size_t tag, const struct open_place *place)
{
	struct buf copy = {0}; /* names are read beside it */
	const struct err *e;
	const uint8_t *p;
	struct cur c;

	e = open_pages_read(&k->o->pages, 0, place->at, place->size, &p);
	if (e != NULL)
		return e;
	buf_put(&copy, p, place->size);
	if (copy.failed)
		return err_nomem();
	k->start = copy.data;
	k->base = place->at;
	c = cur_of(copy.data, copy.len);
	e = skim_section(k, &c, tag, true);
	if (e == NULL && (c.bad || cur_left(&c) > 0))
		e = err_new(ERR_FORMAT, 0, "a dictionary is malformed");
	buf_fini(&copy);
	return e;
}

const struct err *
openspan_take_places(struct openspan *o, bool series)
{
	struct skim k = {.o = o, .d = &o->dicts[0]};
	const struct err *e = symtab_init_unshown(&o->series);

	k.strings = k.d->marks[OPEN_STRINGS].end;
	k.labels = k.d->marks[OPEN_LABELS].end;
	k.strings += k.strings == 0; /* number 0 is known to all */
	k.labels += k.labels == 0;
	if (e == NULL && series)
		e = skim_place(&k, SKIM_SERIES, &o->dict_at[OPEN_SERIES_AT]);
	if (e == NULL)
		e = skim_place(&k, SKIM_FACTS, &o->dict_at[OPEN_FACTS_AT]);
	return e == NULL ? skim_check_numbers(o) : e;
}
