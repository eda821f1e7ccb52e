/*
 * The index is made of each record as it comes, without its stacks; those are
 * resolved for the series of a question, and forgotten when the reader's table
 * of symbols begins anew.
 */
#include "store/journal/openspan.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/journal/journal_names.h"
#include "store/journal/open_numbers.h"

#define OPEN_HEAD_MAX 20 /* two varints */
#define OPEN_CHUNK 16    /* malloc's, less its own 8 bytes of the first */

static void
openspan_free_strips(struct openspan *o)
{
	for (uint32_t i = 0; i < o->n_strips; i++)
		if (o->strips[i].cap > 0)
			free(o->strips[i].bytes);
	free(o->strips);
	free(o->ends);
	free(o->row);
	o->strips = NULL;
	o->ends = NULL;
	o->row = NULL;
	o->n_strips = o->cap_strips = o->cap_ends = 0;
	o->strip_bytes = o->row_bytes = 0;
}

void
openspan_fini(struct openspan *o)
{
	struct open_pages pages = {.fd = o->pages.fd, .read = o->pages.read,
	    .arg = o->pages.arg};
	struct symtab *syms = o->syms;

	for (uint32_t i = 0; i < o->n_dicts; i++)
		open_dict_fini(&o->dicts[i]);
	openspan_free_strips(o);
	open_pages_fini(&o->pages);
	openspan_drop_ahead(o);
	openspan_drop_again(o);
	open_view_fini(&o->own);
	symtab_fini(&o->series);
	open_series_fini(&o->lists);
	map64_fini(&o->slot_map);
	free(o->dicts);
	free(o->symbols);
	free(o->places);
	free(o->slots);
	free(o->recent);
	free(o->facts);
	free(o->times);
	*o = (struct openspan){.syms = syms, .pages = pages};
}

size_t
openspan_bytes(const struct openspan *o)
{
	size_t n = open_pages_bytes(&o->pages) +
	    open_ahead_bytes(&o->ahead) + openspan_again_bytes(o) +
	    symtab_bytes(&o->series) + open_series_bytes(&o->lists) +
	    open_view_bytes(&o->own) + o->cap_strips * sizeof(*o->strips) +
	    o->cap_ends * sizeof(*o->ends) + o->strip_bytes + o->row_bytes +
	    (o->cap_symbols + o->cap_places) * sizeof(uint32_t) +
	    o->cap_slots * sizeof(*o->slots) +
	    o->slot_map.cap * sizeof(*o->slot_map.pairs) +
	    o->cap_recent * sizeof(*o->recent) +
	    o->cap_facts * sizeof(*o->facts) +
	    o->cap_times * sizeof(*o->times);

	for (uint32_t i = 0; i < o->n_dicts; i++)
		n += open_dict_bytes(&o->dicts[i]);
	return n;
}

/* ---- taking up ---- */

uint32_t
openspan_slot(struct openspan *o, uint64_t slot)
{
	uint32_t i;

	if (o->n_slots > 0 && o->slots[o->n_slots - 1].slot == slot)
		return o->n_slots - 1;
	if ((i = map64_get(&o->slot_map, slot)) != INTERN_NONE)
		return i;
	if (!open_room((void **)&o->slots, o->n_slots + 1, &o->cap_slots,
	        sizeof(*o->slots)) ||
	    !map64_add(&o->slot_map, slot, o->n_slots))
		return INTERN_NONE;
	if (o->until_slot == 0 || slot < o->first_slot)
		o->first_slot = slot;
	if (slot >= o->until_slot)
		o->until_slot = slot + 1;
	o->slots[o->n_slots] = (struct open_slot){.slot = slot,
	    .time = o->n_times};
	return o->n_slots++;
}

/* Room for n more bytes, growing by an eighth: there are thousands of strips,
 * which all grow.  As much as malloc gives for it. */
static bool
openspan_strip_room(struct open_strip *s, size_t n)
{
	size_t want = (size_t)s->cap + s->cap / 8;
	uint8_t *p;

	if (s->len + n <= s->cap)
		return true;
	if (want < s->len + n)
		want = s->len + n;
	want = (want + OPEN_CHUNK - 1) / OPEN_CHUNK * OPEN_CHUNK + 8;
	if (want > UINT32_MAX ||
	    (p = realloc(s->cap > 0 ? s->bytes : NULL, want)) == NULL)
		return false;
	if (s->cap == 0 && s->len > 0)
		memcpy(p, s->bytes, s->len);
	s->bytes = p;
	s->cap = (uint32_t)want;
	return true;
}

/* A block's head: how far its slot's place is from the one before, and the
 * bytes of its numbers. */
static size_t
openspan_put_head(uint8_t *p, uint32_t place, uint32_t before, size_t n)
{
	struct buf head = {.data = p, .cap = OPEN_HEAD_MAX};

	buf_put_zigzag(&head, (int64_t)place - before);
	buf_put_varint(&head, n);
	return head.len;
}

bool
openspan_put_block(struct openspan *o, uint32_t strip, uint32_t place,
    const void *numbers, size_t n)
{
	struct open_strip *s = &o->strips[strip];
	uint64_t slot = o->slots[place].slot;
	size_t before = s->cap, head_len;
	uint8_t head[OPEN_HEAD_MAX];

	head_len = openspan_put_head(head, place, s->last_place, n);
	if (!openspan_strip_room(s, head_len + n))
		return false;
	if (s->n > 0 && o->slots[s->last_place].slot > slot)
		s->falls = true;
	s->n++;
	s->last_at = s->len;
	s->last_before = s->last_place;
	s->last_place = place;
	memcpy(s->bytes + s->len, head, head_len);
	s->len += (uint32_t)head_len;
	if (n > 0)
		memcpy(s->bytes + s->len, numbers, n);
	s->len += (uint32_t)n;
	if (slot >= o->ends[strip])
		o->ends[strip] = slot + 1;
	open_series_saw(&o->lists, strip, slot + 1);
	o->slots[place].blocks++;
	o->strip_bytes += s->cap - before;
	return true;
}

/* ---- the reader's numbers ---- */

/* A string, or a label set, of the span's own table in the reader's. */
static uint32_t
openspan_copy_string(struct openspan *o, uint32_t string)
{
	const struct intern *from = &o->series.strings;

	return intern_put(&o->syms->strings, intern_at(from, string),
	    from->items[string].len);
}

static uint32_t
openspan_copy_labels(struct openspan *o, uint32_t set)
{
	const uint32_t *pairs = intern_at(&o->series.labels, set);
	size_t n = 2 * symtab_n_labels(&o->series, set);
	uint32_t key[2 * BATCH_MAX_LABELS];

	for (size_t i = 0; i < n; i++) {
		key[i] = openspan_copy_string(o, pairs[i]);
		if (key[i] == INTERN_NONE)
			return INTERN_NONE;
	}
	return intern_put(&o->syms->labels, key, n * sizeof(*key));
}

static uint32_t
openspan_copy_series(struct openspan *o, uint32_t strip)
{
	struct sym_series key = *symtab_series(&o->series, strip);

	key.name = openspan_copy_string(o, key.name);
	key.unit = openspan_copy_string(o, key.unit);
	key.labels = openspan_copy_labels(o, key.labels);
	if (key.name == INTERN_NONE || key.unit == INTERN_NONE ||
	    key.labels == INTERN_NONE)
		return INTERN_NONE;
	return symtab_put_series(o->syms, key);
}

static bool
openspan_symbols_room(struct openspan *o, uint32_t n)
{
	if (!open_room((void **)&o->symbols, n, &o->cap_symbols,
	        sizeof(*o->symbols)))
		return false;
	for (; o->n_named < n; o->n_named++)
		o->symbols[o->n_named] = INTERN_NONE;
	return true;
}

const struct err *
openspan_name_strip(struct openspan *o, uint32_t strip)
{
	uint32_t symbol;

	if (strip < o->n_named && o->symbols[strip] != INTERN_NONE)
		return NULL;
	symbol = openspan_copy_series(o, strip);
	if (symbol == INTERN_NONE || !openspan_symbols_room(o, strip + 1) ||
	    !open_room((void **)&o->places, symbol + 1, &o->cap_places,
	        sizeof(*o->places)))
		return err_nomem();
	for (; o->n_places <= symbol; o->n_places++)
		o->places[o->n_places] = INTERN_NONE;
	o->places[symbol] = strip;
	o->symbols[strip] = symbol;
	return NULL;
}

const struct err *
openspan_name(struct openspan *o)
{
	const struct err *e = NULL;

	for (uint32_t i = 0; i < o->n_strips && e == NULL; i++)
		e = openspan_name_strip(o, i);
	return e;
}

void
openspan_settle(struct openspan *o)
{
	openspan_free_strips(o);
	open_view_fini(&o->own);
	symtab_fini(&o->series);
	open_series_fini(&o->lists);
}

void
openspan_forget(struct openspan *o)
{
	for (uint32_t i = 0; i < o->n_dicts; i++)
		open_view_fini(&o->dicts[i].asked);
	o->n_named = o->n_places = o->lost_node = 0;
}

static uint32_t
openspan_place(const struct openspan *o, uint32_t series)
{
	return series < o->n_places ? o->places[series] : INTERN_NONE;
}

/* ---- blocks ---- */

/* The slot of the next block, whose numbers are then at w->c; false at the
 * end. */
static bool
walk_head(struct open_walk *w, uint64_t *slot)
{
	const struct open_strip *s = w->strip;
	struct cur c;
	size_t n;

	if (s == NULL || w->i == s->n)
		return false;
	c = cur_of(s->bytes + w->next, s->len - w->next);
	w->place = (uint32_t)(w->place + cur_zigzag(&c));
	n = (size_t)cur_varint(&c);
	*slot = w->o->slots[w->place].slot;
	w->c = cur_of(c.p, n);
	w->next = (uint32_t)((size_t)(c.p - s->bytes) + n);
	w->i++;
	return true;
}

/* At a strip's first block, or its last where none before can be wanted: of a
 * slot there may be several. */
static void
walk_begin(struct open_walk *w, struct openspan *o, uint32_t strip,
    uint64_t from, uint64_t until)
{
	const struct open_strip *s = &o->strips[strip];

	*w = (struct open_walk){.o = o, .strip = s, .from = from,
	    .until = until};
	if (s->n > 1 && !s->falls && o->slots[s->last_before].slot < from) {
		w->i = s->n - 1;
		w->next = s->last_at;
		w->place = s->last_before;
		w->value = s->value_before;
	}
}

uint64_t
openspan_strip_newest(struct openspan *o, uint32_t strip, uint64_t from,
    uint64_t until)
{
	uint64_t newest = 0, slot;
	struct open_walk w;

	if (o->ends[strip] <= until)
		return o->ends[strip] > from ? o->ends[strip] : 0;
	walk_begin(&w, o, strip, from, until);
	while (walk_head(&w, &slot)) {
		if (slot >= from && slot < until && slot >= newest)
			newest = slot + 1;
		else if (slot >= until && !w.strip->falls)
			break;
	}
	return newest;
}

uint64_t
openspan_newest(struct openspan *o, uint32_t series, uint64_t from,
    uint64_t until)
{
	uint32_t strip = openspan_place(o, series);

	return strip == INTERN_NONE
	    ? 0
	    : openspan_strip_newest(o, strip, from, until);
}

void
openspan_walk(struct open_walk *w, struct openspan *o, uint32_t series,
    uint64_t from, uint64_t until)
{
	uint32_t strip = openspan_place(o, series);

	*w = (struct open_walk){.o = o};
	if (strip == INTERN_NONE || o->ends[strip] <= from)
		return;
	walk_begin(w, o, strip, from, until);
	w->kind = (enum series_kind)symtab_series(&o->series, strip)->kind;
}

/* The numbers as skim_put_block() has put them. */
static void
openspan_numbers(struct open_walk *w, struct cur c, struct block *b)
{
	struct batch_block k = {.kind = (uint8_t)w->kind};

	switch (w->kind) {
	case SERIES_FLOW:
	case SERIES_STOCK:
		b->count = cur_varint(&c);
		w->record = (uint32_t)cur_varint(&c);
		w->at = (uint32_t)cur_varint(&c);
		w->n = (uint32_t)cur_varint(&c);
		w->size = (uint32_t)cur_varint(&c);
		return;
	case SERIES_HISTOGRAM:
		b->count = cur_varint(&c);
		b->sum = cur_zigzag128(&c);
		b->min = cur_zigzag(&c);
		b->max = cur_zigzag(&c);
		b->entries = c;
		return;
	default:
		break;
	}
	open_numbers_take(&c, &k, w->value);
	w->value = k.last;
	b->count = k.count;
	b->min = k.min;
	b->max = k.max;
	b->sum = w->kind == SERIES_COUNTER ? k.increase : k.sum;
	b->last = k.last;
	b->last_ns = w->o->times[w->o->slots[w->place].time + k.last_ns];
}

bool
openspan_next(struct open_walk *w, struct block *b)
{
	uint64_t slot;

	while (walk_head(w, &slot)) {
		if (slot >= w->until && !w->strip->falls)
			return false;
		*b = (struct block){.start = slot};
		openspan_numbers(w, w->c, b);
		if (slot >= w->from && slot < w->until)
			return true;
	}
	return false;
}

/* ---- stacks ---- */

const struct err *
openspan_entries(struct open_walk *w)
{
	const uint8_t *p = NULL;
	const struct err *e;

	w->dict = &w->o->dicts[w->o->pages.records[w->record].dict];
	w->plain = w->dict->number == 0;
	w->key = 0;
	w->c = cur_of(NULL, 0);
	if (w->n == 0)
		return NULL;
	p = open_ahead_get(&w->o->ahead, (uint32_t)(w->strip - w->o->strips),
	    w->i - 1);
	if (p != NULL) {
		w->c = cur_of(p, w->size);
		return NULL;
	}
	e = open_pages_read(&w->o->pages, w->record, w->at, w->size, &p);
	if (e == NULL)
		w->c = cur_of(p, w->size);
	return e;
}

/* The next entry with the dictionary's key. */
static bool
openspan_key(struct open_walk *w, uint32_t *key, int64_t *value)
{
	if (w->c.bad || w->c.p == w->c.end)
		return false;
	batch_one_entry(&w->c, w->plain, true, UINT32_MAX, &w->key, value);
	*key = (uint32_t)w->key;
	return !w->c.bad;
}

bool
openspan_entry(struct open_walk *w, uint32_t *node, int64_t *value)
{
	uint32_t key;

	if (!openspan_key(w, &key, value))
		return false;
	*node = open_names_get(&w->dict->asked, OPEN_NODES, key);
	if (*node == INTERN_NONE)
		*node = w->o->lost_node;
	return true;
}

const struct err *
openspan_need(struct openspan *o, uint32_t series, uint64_t from,
    uint64_t until)
{
	const struct err *e = NULL;
	struct open_walk w;
	struct block b;
	int64_t value;
	uint32_t key;

	openspan_walk(&w, o, series, from, until);
	while (e == NULL && openspan_next(&w, &b)) {
		if ((e = gone_check()) == NULL)
			e = openspan_entries(&w);
		while (e == NULL && openspan_key(&w, &key, &value)) {
			if (!open_names_need(w.dict, &w.dict->asked,
			        OPEN_NODES, key))
				e = err_nomem();
		}
	}
	return e;
}

const struct err *
openspan_bound(uint64_t n, uint32_t most)
{
	return n <= most ? NULL : err_field(ERR_REQUEST, 413, "from",
	    "the stacks of the range have %llu nodes of call trees or more, "
	    "and %u are the most for one question: ask for a shorter range "
	    "or one service, or give workers more memory",
	    (unsigned long long)n, most);
}

/* How many nodes that takes is known before one of them is put anywhere. */
static const struct err *
openspan_collect(struct openspan *o, uint32_t most)
{
	const struct err *e = NULL;
	uint64_t n = 0;

	for (uint32_t i = 0; i < o->n_dicts && e == NULL; i++)
		e = open_names_collect(&o->dicts[i], &o->dicts[i].asked,
		    &o->pages, o->syms, &n);
	return e == NULL ? openspan_bound(n, most) : e;
}

const struct err *
openspan_resolve(struct openspan *o, uint32_t most)
{
	const struct err *e = openspan_collect(o, most);
	bool lost = false;

	for (uint32_t i = 0; i < o->n_dicts; i++) {
		struct open_view *v = &o->dicts[i].asked;

		if (e == NULL)
			e = open_names_resolve(&o->dicts[i], v, &o->pages,
			    o->syms);
		else
			open_names_rest(v);
		lost |= v->lost;
	}
	if (e == NULL && lost && o->lost_node == 0) {
		uint32_t node = journal_names_lost(o->syms);

		if (node == INTERN_NONE)
			return err_nomem();
		o->lost_node = node;
	}
	return e;
}

/* ---- facts ---- */

bool
openspan_need_fact(struct openspan *o, const struct open_fact *f)
{
	struct open_dict *d = &o->dicts[o->pages.records[f->record].dict];

	return open_names_need(d, &d->asked, OPEN_STRINGS, f->subject);
}

uint32_t
openspan_subject(struct openspan *o, const struct open_fact *f)
{
	struct open_dict *d = &o->dicts[o->pages.records[f->record].dict];
	uint32_t s = open_names_get(&d->asked, OPEN_STRINGS, f->subject);

	return s != INTERN_NONE ? s : journal_names_lost_string(o->syms);
}

const struct err *
openspan_fact(struct openspan *o, const struct open_fact *f,
    const uint8_t **data)
{
	*data = (const uint8_t *)"";
	return f->n == 0 ? NULL
	                 : open_pages_read(&o->pages, f->record, f->at, f->n,
	                       data);
}
