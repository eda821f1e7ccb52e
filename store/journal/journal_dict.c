/*
 * Five tables from the writer's numbers to the journal's; a symbol's bytes are
 * written with the first record that needs it.  Where the names are much a new
 * dictionary begins, so that nobody need keep all that ever was.
 */
#include "store/journal/journal_dict.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/err.h"

#define DICT_LEAST (4u << 20) /* memory, after which a new one begins; twice */
#define DICT_MOST (16u << 20) /* as much, up to this, where that would be too */
#define DICT_SOON 8           /* often: after so many records */
#define DICT_REST (1u << 20)  /* memory that nothing said may keep, */
#define DICT_SECTION (256u << 10) /* and sections between records */

static struct dict_numbers *
dict_table(struct journal_dict *d, int i)
{
	struct dict_numbers *const tables[] = {&d->strings, &d->frames,
	    &d->labels, &d->nodes, &d->series};

	return tables[i];
}
#define DICT_TABLES 5

void
journal_dict_fini(struct journal_dict *d)
{
	for (int i = 0; i < DICT_TABLES; i++) {
		free(dict_table(d, i)->of);
		buf_fini(&dict_table(d, i)->said);
	}
	free(d->order);
	name_cache_fini(&d->cache);
	buf_fini(&d->section);
	*d = (struct journal_dict){0};
}

void
journal_dict_begin(struct journal_dict *d)
{
	d->begun = false;
}

/* ---- numbers ---- */

static bool
dict_grow(uint32_t **array, uint32_t *cap, uint32_t n)
{
	uint32_t old = *cap;

	if (!array_room(array, n, cap))
		return false;
	if (*cap > old)
		memset(*array + old, 0xff, (*cap - old) * sizeof(**array));
	return true;
}

/* The journal's number of a symbol; INTERN_NONE: none yet. */
static inline uint32_t
dict_known(const struct dict_numbers *t, uint32_t symbol)
{
	return symbol < t->cap_of ? t->of[symbol] : INTERN_NONE;
}

static uint32_t
dict_give(struct dict_numbers *t, uint32_t symbol)
{
	if (!dict_grow(&t->of, &t->cap_of, symbol + 1))
		return INTERN_NONE;
	return t->of[symbol] = t->n++;
}

static uint32_t
dict_give_string(struct journal_dict *d, uint32_t string)
{
	if (!dict_grow(&d->order, &d->cap_order, d->strings.n + 1))
		return INTERN_NONE;
	d->order[d->strings.n] = string;
	return dict_give(&d->strings, string);
}

/* ---- symbols: their numbers, and the bytes that say them ---- */

static uint32_t
dict_string(struct journal_dict *d, uint32_t string)
{
	const struct intern *t = &d->cache.syms.strings;
	struct dict_numbers *s = &d->strings;
	uint32_t number = dict_known(s, string);
	size_t shared;

	if (number != INTERN_NONE ||
	    (number = dict_give_string(d, string)) == INTERN_NONE)
		return number;
	shared = batch_shared(t, d->order[number - 1], string);
	buf_put_varint(&s->said, shared);
	buf_put_bytes(&s->said, (const char *)intern_at(t, string) + shared,
	    t->items[string].len - shared);
	return number;
}

static uint32_t
dict_frame(struct journal_dict *d, uint32_t frame)
{
	uint32_t number = dict_known(&d->frames, frame), name, module, id;
	struct buf *said = &d->frames.said;
	const struct sym_frame *f;

	if (number != INTERN_NONE)
		return number;
	f = symtab_frame(&d->cache.syms, frame);
	name = dict_string(d, f->name);
	module = dict_string(d, f->module);
	id = dict_string(d, f->build_id);
	if (name == INTERN_NONE || module == INTERN_NONE ||
	    id == INTERN_NONE ||
	    (number = dict_give(&d->frames, frame)) == INTERN_NONE)
		return INTERN_NONE;
	buf_put_u8(said, (uint8_t)f->kind);
	buf_put_varint(said, name);
	buf_put_varint(said, module);
	buf_put_varint(said, id);
	buf_put_varint(said, f->offset);
	return number;
}

static uint32_t
dict_labels(struct journal_dict *d, uint32_t set)
{
	uint32_t number = dict_known(&d->labels, set);
	const uint32_t *pairs = intern_at(&d->cache.syms.labels, set);
	size_t n = symtab_n_labels(&d->cache.syms, set);

	if (number != INTERN_NONE)
		return number;
	for (size_t i = 0; i < 2 * n; i++) {
		if (dict_string(d, pairs[i]) == INTERN_NONE)
			return INTERN_NONE;
	}
	if ((number = dict_give(&d->labels, set)) == INTERN_NONE)
		return INTERN_NONE;
	buf_put_varint(&d->labels.said, n);
	for (size_t i = 0; i < 2 * n; i++)
		buf_put_varint(&d->labels.said, d->strings.of[pairs[i]]);
	return number;
}

/* One whose parent has a number. */
static uint32_t
dict_new_node(struct journal_dict *d, uint32_t node, uint32_t parent)
{
	const struct sym_node *k = &d->cache.syms.nodes[node];
	uint32_t number, edge = k->parent == 0 ? dict_labels(d, k->edge)
	                                       : dict_frame(d, k->edge);

	if (edge == INTERN_NONE ||
	    (number = dict_give(&d->nodes, node)) == INTERN_NONE)
		return INTERN_NONE;
	buf_put_varint(&d->nodes.said, number - parent);
	buf_put_varint(&d->nodes.said, edge);
	return number;
}

/* A node comes after all above it. */
static uint32_t
dict_node(struct journal_dict *d, uint32_t node)
{
	uint32_t path[BATCH_MAX_DEPTH + 1], n = 0;
	uint32_t number;

	while ((number = dict_known(&d->nodes, node)) == INTERN_NONE) {
		path[n++] = node;
		node = d->cache.syms.nodes[node].parent;
	}
	while (n-- > 0 && number != INTERN_NONE)
		number = dict_new_node(d, path[n], number);
	return number;
}

static uint32_t
dict_series(struct journal_dict *d, uint32_t series)
{
	uint32_t number = dict_known(&d->series, series), name, unit, labels;
	const struct sym_series *s = symtab_series(&d->cache.syms, series);
	struct buf *said = &d->series.said;

	if (number != INTERN_NONE)
		return number;
	name = dict_string(d, s->name);
	unit = dict_string(d, s->unit);
	labels = dict_labels(d, s->labels);
	if (name == INTERN_NONE || unit == INTERN_NONE ||
	    labels == INTERN_NONE ||
	    (number = dict_give(&d->series, series)) == INTERN_NONE)
		return INTERN_NONE;
	buf_put_u8(said, (uint8_t)s->kind);
	buf_put_varint(said, name);
	buf_put_varint(said, unit);
	buf_put_varint(said, labels);
	buf_put_zigzag(said, s->period);
	buf_put_varint(said, s->scale);
	return number;
}

static bool
dict_is_full(const struct journal_dict *d)
{
	return name_cache_bytes(&d->cache) > d->most;
}

/* Forgets the names of journals before, too.  Those that are in use come back
 * with the next records: where they alone are much they may be so. */
static const struct err *
dict_clear(struct journal_dict *d)
{
	size_t most = d->records > DICT_SOON ? d->most / 2 : 2 * d->most;

	d->most = most < DICT_LEAST ? DICT_LEAST
	    : most > DICT_MOST      ? DICT_MOST
	                            : most;
	d->records = 0;
	for (int i = 0; i < DICT_TABLES; i++) {
		free(dict_table(d, i)->of);
		dict_table(d, i)->of = NULL;
		dict_table(d, i)->cap_of = 0;
	}
	return name_cache_clear(&d->cache);
}

/* Begins a new dictionary. */
static const struct err *
dict_fresh(struct journal_dict *d)
{
	const struct err *e = NULL;

	if (d->cache.syms.n_nodes == 0 || dict_is_full(d))
		e = dict_clear(d);
	if (e != NULL)
		return e;
	d->number++;
	for (int i = 0; i <= JOURNAL_RESTATE; i++)
		d->from[i] = BATCH_FIRST;
	for (int i = 0; i < DICT_TABLES; i++) {
		struct dict_numbers *t = dict_table(d, i);

		t->n = 0;
		buf_clear(&t->said);
		memset(t->at, 0, sizeof(t->at));
		if (t->cap_of > 0)
			memset(t->of, 0xff, t->cap_of * sizeof(*t->of));
	}
	if (dict_give_string(d, 0) == INTERN_NONE ||
	    dict_give(&d->labels, 0) == INTERN_NONE ||
	    dict_give(&d->nodes, 0) == INTERN_NONE)
		return err_nomem();
	d->begun = true;
	return NULL;
}

/* What the next record does not say is forgotten. */
static void
dict_forget(struct dict_numbers *t)
{
	size_t gone = t->at[1];

	for (int i = 0; i < JOURNAL_RESTATE; i++)
		t->at[i] = t->at[i + 1] - gone;
	t->said.len -= gone;
	t->at[JOURNAL_RESTATE] = t->said.len;
	if (t->said.len == 0 && t->said.cap > DICT_REST)
		buf_fini(&t->said);
	else if (gone > 0)
		memmove(t->said.data, t->said.data + gone, t->said.len);
}

void
journal_dict_sent(struct journal_dict *d)
{
	d->records++;
	if (d->section.cap > DICT_SECTION)
		buf_fini(&d->section);
	for (int i = 0; i < DICT_TABLES; i++)
		dict_forget(dict_table(d, i));
	memmove(&d->from[0], &d->from[1],
	    JOURNAL_RESTATE * sizeof(d->from[0]));
	d->from[JOURNAL_RESTATE] = (struct batch_first){d->strings.n,
	    d->frames.n, d->labels.n, d->nodes.n, d->series.n};
}

uint32_t
journal_dict_brought(const struct journal_dict *d)
{
	return d->from[JOURNAL_RESTATE].nodes -
	    d->from[JOURNAL_RESTATE - 1].nodes;
}

/* ---- sections ---- */

/* The first one of a record shares nothing with the one before. */
static void
dict_put_strings(const struct journal_dict *d, uint32_t from, struct buf *out)
{
	const struct intern *t = &d->cache.syms.strings;
	const struct dict_numbers *s = &d->strings;
	struct cur rest = cur_of(s->said.data, s->said.len);
	size_t skip;

	buf_put_varint(out, s->n - from);
	if (from == s->n)
		return;
	buf_put_varint(out, 0);
	buf_put_bytes(out, intern_at(t, d->order[from]),
	    t->items[d->order[from]].len);
	cur_varint(&rest);
	cur_bytes(&rest, &skip);
	buf_put(out, rest.p, cur_left(&rest));
}

static void
dict_put_said(const struct dict_numbers *t, uint32_t from, struct buf *out)
{
	buf_put_varint(out, t->n - from);
	buf_put(out, t->said.data, t->said.len);
}

/* A histogram's keys are buckets. */
static void
dict_put_entries(struct journal_dict *d, const struct batch *b,
    const struct batch_block *k, struct buf *out)
{
	bool buckets = k->kind == SERIES_HISTOGRAM;
	int64_t previous = 0;

	buf_put_varint(out, k->n);
	for (uint32_t i = k->first; i < k->first + k->n; i++) {
		uint32_t own = b->entries[i].key;
		int64_t key = buckets
		    ? own
		    : d->nodes.of[name_cache_node(&d->cache, own)];

		buf_put_zigzag(out, key - previous);
		buf_put_varint(out, (uint64_t)b->entries[i].value);
		previous = key;
	}
}

static void
dict_put_blocks(struct journal_dict *d, const struct batch *b,
    struct buf *out)
{
	uint64_t previous = 0;

	buf_put_varint(out, b->n_blocks);
	for (size_t i = 0; i < b->n_blocks; i++) {
		const struct batch_block *k = &b->blocks[i];

		buf_put_varint(out, 
		    d->series.of[name_cache_series(&d->cache, k->series)]);
		buf_put_u8(out, k->kind);
		buf_put_zigzag(out, (int64_t)(k->slot - previous));
		if (k->kind == SERIES_HISTOGRAM)
			dict_put_entries(d, b, k, out);
		batch_put_numbers(k, out);
		if (series_is_profile((enum series_kind)k->kind))
			dict_put_entries(d, b, k, out);
		previous = k->slot;
	}
}

static void
dict_put_facts(struct journal_dict *d, const struct batch *b,
    struct buf *out)
{
	buf_put_varint(out, b->n_facts);
	for (size_t i = 0; i < b->n_facts; i++) {
		const struct batch_fact *f = &b->facts[i];

		fact_put(out, &(struct fact){f->time_ns, f->kind,
		    d->strings.of[name_cache_string(&d->cache, f->subject)],
		    b->fact_bytes.data + f->first, f->n});
	}
}

/* ---- records ---- */

/* Readers refuse what is deeper, and files are read as batches are. */
static const struct err *
dict_check_depth(const struct batch *b)
{
	uint16_t *depth, most = 0;

	if (b->stream != 0 || /* as received, so checked */
	    b->n_nodes <= BATCH_MAX_DEPTH)
		return NULL;
	depth = calloc(b->n_nodes + 1, sizeof(*depth));
	if (depth == NULL)
		return err_nomem();
	for (size_t i = 1; i < b->n_nodes && most <= BATCH_MAX_DEPTH; i++) {
		depth[i] = (uint16_t)(depth[b->nodes[i].parent] + 1);
		if (depth[i] > most)
			most = depth[i];
	}
	free(depth);
	return most <= BATCH_MAX_DEPTH
	    ? NULL
	    : err_new(ERR_LIMIT, 413, "a stack is over %u deep",
	          BATCH_MAX_DEPTH);
}

static void
dict_put_section(struct journal_dict *d, unsigned tag, struct buf *out)
{
	buf_put_varint(out, tag);
	buf_put_bytes(out, d->section.data, d->section.len);
	if (d->section.failed)
		out->failed = true;
	buf_clear(&d->section);
}

static void
dict_put_sections(struct journal_dict *d, const struct batch *b,
    struct buf *out)
{
	const struct batch_first *from = &d->from[0];

	buf_clear(&d->section);
	dict_put_strings(d, from->strings, &d->section);
	dict_put_section(d, 1, out);
	dict_put_said(&d->frames, from->frames, &d->section);
	dict_put_section(d, 2, out);
	dict_put_said(&d->labels, from->labels, &d->section);
	dict_put_section(d, 3, out);
	dict_put_said(&d->nodes, from->nodes, &d->section);
	dict_put_section(d, 4, out);
	dict_put_said(&d->series, from->series, &d->section);
	dict_put_section(d, 5, out);
	dict_put_blocks(d, b, &d->section);
	dict_put_section(d, 6, out);
	dict_put_facts(d, b, &d->section);
	dict_put_section(d, 7, out);
}

/* What each stack needs is fetched while others are looked up: from one slot
 * to the next the processor's caches have lost all of it. */
#define DICT_AHEAD 12

static bool
dict_number_entries(struct journal_dict *d, const struct batch *b,
    const struct batch_block *k)
{
	const struct batch_entry *at = b->entries + k->first;
	const struct batch_entry *end = at + k->n;

	for (; at < end; at++) {
		uint32_t node;

		if (at + DICT_AHEAD < end)
			name_cache_prefetch(&d->cache, at[DICT_AHEAD].key);
		node = name_cache_node(&d->cache, at->key);
		if (node == INTERN_NONE)
			return false;
		if (node < d->nodes.cap_of)
			__builtin_prefetch(&d->nodes.of[node]);
	}
	for (at = b->entries + k->first; at < end; at++) {
		if (dict_node(d, name_cache_node(&d->cache, at->key)) ==
		    INTERN_NONE)
			return false;
	}
	return true;
}

/* Numbers for all that the blocks and facts of a batch name. */
static bool
dict_number(struct journal_dict *d, const struct batch *b)
{
	for (size_t i = 0; i < b->n_blocks; i++) {
		const struct batch_block *k = &b->blocks[i];
		uint32_t series = name_cache_series(&d->cache, k->series);

		if (series == INTERN_NONE ||
		    dict_series(d, series) == INTERN_NONE)
			return false;
		if (series_is_profile((enum series_kind)k->kind) &&
		    !dict_number_entries(d, b, k))
			return false;
	}
	for (size_t i = 0; i < b->n_facts; i++) {
		uint32_t subject =
		    name_cache_string(&d->cache, b->facts[i].subject);

		if (subject == INTERN_NONE ||
		    dict_string(d, subject) == INTERN_NONE)
			return false;
	}
	return true;
}

/* Has a number been given whose bytes are not there? */
static bool
dict_unsaid(struct journal_dict *d)
{
	bool unsaid = false;

	for (int i = 0; i < DICT_TABLES; i++)
		unsaid |= dict_table(d, i)->said.failed;
	return unsaid;
}

static const struct err *
dict_put_record(struct journal_dict *d, const struct batch *b,
    struct buf *out)
{
	static const uint8_t blank[BATCH_RECORD_HEADER];
	const struct batch_first *from = &d->from[0];
	size_t start = out->len;

	if (!dict_number(d, b) || dict_unsaid(d)) {
		d->begun = false;
		return err_nomem();
	}
	buf_put(out, blank, sizeof(blank));
	buf_put_u8(out, 2);
	buf_put(out, b->id, sizeof(b->id));
	buf_put_varint(out, b->slot_ns);
	buf_put_varint(out, d->number);
	buf_put_varint(out, from->strings);
	buf_put_varint(out, from->frames);
	buf_put_varint(out, from->labels);
	buf_put_varint(out, from->nodes);
	buf_put_varint(out, from->series);
	dict_put_sections(d, b, out);
	d->section.failed = false;
	if (!out->failed)
		batch_put_header(out, start, "MLB2", b->more);
	return out->failed ? err_nomem() : NULL;
}

static bool
dict_too_long(const struct buf *out, size_t most)
{
	return out->len - BATCH_RECORD_HEADER > most;
}

static const struct err *
dict_encode(struct journal_dict *d, const struct batch *b, struct buf *out)
{
	const struct err *e = dict_put_record(d, b, out);

	if (e == NULL && dict_too_long(out, BATCH_MAX_BYTES)) {
		/* what is said again may be much more than what is new */
		d->begun = false;
		buf_clear(out);
		if ((e = dict_fresh(d)) == NULL)
			e = name_cache_batch(&d->cache, b);
		if (e == NULL)
			e = dict_put_record(d, b, out);
	}
	if (e == NULL && dict_too_long(out, BATCH_JOURNAL_BYTES))
		e = err_new(ERR_LIMIT, 413, "a batch is over %u bytes",
		    BATCH_JOURNAL_BYTES);
	return e;
}

const struct err *
journal_dict_encode(struct journal_dict *d, struct batch *b, struct buf *out)
{
	const struct err *e = batch_finish(b);
	bool full = dict_is_full(d);

	buf_clear(out);
	if (e == NULL)
		e = dict_check_depth(b);
	if (e == NULL && (!d->begun || full)) {
		d->begun = false;
		e = dict_fresh(d);
	}
	if (e == NULL)
		e = name_cache_batch(&d->cache, b);
	if (e == NULL)
		e = dict_encode(d, b, out);
	out->failed = false;
	return e;
}
