/*
 * What the stacks of a sealed file are called: only those of the series that
 * are asked for are named, so that what others have in the file costs a
 * query nothing but the length of its dictionary's marks, once.
 *
 *	its marks (open_marks.h), or dictionary -> marks
 *	                                          when stacks are first named
 *	series -> its stacks, by its top blocks   when it is first asked for
 *	stack -> node of the reader               f->stack_nodes
 *
 * Of a series with many stacks only those of the blocks that a range is read
 * from are named, so that a short range of a service that pushes 200,000 of
 * them costs what it has; and so of further series where a question is of many.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/journal/open_marks.h"
#include "store/read/reader.h"

/* Stacks of a series that are named as a whole, at a byte or more each. */
#define NAMES_WHOLE 65536u
#define NAMES_WANTED (INTERN_NONE - 1) /* a stack that is listed already */

/* Stacks that are to be named. */
struct names_want {
	struct reader_file *f;
	uint32_t *stacks;
	uint32_t n, cap;
	size_t bytes, whole; /* of entries: of a series; at most to name all, */
	size_t *left;        /* and of all series of a question that are */
};

typedef const struct err *names_block_fn(struct names_want *w,
    const struct block *b);

/* ---- opening ---- */

static const struct err *
names_set_stacks(struct reader_file *f)
{
	uint32_t nodes = f->names.dicts[0].marks[OPEN_NODES].end;
	const struct err *e = sealed_read_stacks(f->sealed,
	    nodes > 0 ? nodes : 1);
	size_t n = f->sealed->n_stacks;

	if (e != NULL)
		return e;
	f->stack_nodes = malloc((n + 1) * sizeof(*f->stack_nodes));
	f->named = calloc(f->sealed->n_series / 8 + 1, 1);
	f->large = calloc(f->sealed->n_series / 8 + 1, 1);
	if (f->stack_nodes == NULL || f->named == NULL || f->large == NULL)
		return err_nomem();
	memset(f->stack_nodes, 0xff, (n + 1) * sizeof(*f->stack_nodes));
	return NULL;
}

/* Files of before, and small ones, have no marks; and what they say in vain
 * the dictionary says itself. */
static const struct err *
names_take_dict(struct reader_file *f, bool series, struct buf *bytes)
{
	struct openspan *o = &f->names;
	const struct err *e = sealed_read_stream(f->sealed, SEALED_MARKS,
	    bytes);

	if (e != NULL)
		return e;
	if (bytes->len > 0) {
		e = openspan_take_marks(o, bytes->data, bytes->len,
		    f->sealed->meta.version < 3 ? 1 : BATCH_VERSION_DICT,
		    series);
		buf_clear(bytes);
		if (e == NULL || e->domain != ERR_FORMAT)
			return e;
	}
	e = sealed_read_stream(f->sealed, SEALED_DICT, bytes);
	return e == NULL ? openspan_take_dict(o, bytes->data, bytes->len) : e;
}

/* The index of series that the file has not. */
static const struct err *
names_make_index(struct reader_file *f)
{
	const struct openspan *o = &f->names;
	struct series_index *x = &f->index;
	uint32_t kinds = 0;
	const struct err *e;

	for (uint32_t i = 0; i < o->n_facts; i++)
		kinds |= 1u << (o->facts[i].kind & 31);
	x->whole = true;
	e = series_index_make_of(&o->series, kinds, f->sealed->n_stacks,
	    &x->bytes);
	return e == NULL ? series_index_open(x) : e;
}

const struct err *
reader_read_dict(struct store *s, struct reader_file *f, bool series)
{
	struct openspan *o = &f->names;
	struct buf dict = {0};
	const struct err *e;

	*o = (struct openspan){.syms = &s->syms, .pages = {.fd = -1,
	    .read = sealed_read_dict, .arg = f->sealed}};
	e = names_take_dict(f, series, &dict);
	if (e == NULL && series)
		e = sealed_set_series(f->sealed, o->n_strips);
	if (e == NULL)
		e = names_set_stacks(f);
	if (e == NULL && series)
		e = names_make_index(f);
	if (e != NULL || dict.len == 0) {
		buf_fini(&dict);
	} else { /* most are asked at once */
		buf_fini(&o->pages.window);
		o->pages.window = dict;
		o->pages.record = o->pages.page = 0;
	}
	if (e == NULL)
		openspan_settle(o);
	return e;
}

const struct err *
reader_need_dict(struct store *s, struct reader_file *f)
{
	const struct err *e;

	if (f->sealed == NULL || f->named != NULL)
		return NULL;
	e = reader_read_dict(s, f, false);
	return e == NULL ? NULL : reader_failed(s, f, e);
}

/* ---- which stacks ---- */

static const struct err *
names_want_stack(struct names_want *w, uint32_t stack)
{
	struct openspan *o = &w->f->names;

	if (w->f->stack_nodes[stack] != INTERN_NONE)
		return NULL;
	if (!open_room((void **)&w->stacks, w->n + 1, &w->cap,
	        sizeof(*w->stacks)) ||
	    !open_names_need(&o->dicts[0], &o->dicts[0].asked, OPEN_NODES,
	        w->f->sealed->stack_nodes[stack]))
		return err_nomem();
	w->f->stack_nodes[stack] = NAMES_WANTED;
	w->stacks[w->n++] = stack;
	return NULL;
}

static const struct err *
names_want_block(struct names_want *w, const struct block *b)
{
	struct entry_reader r = {b->entries, 0};
	const struct err *e = NULL;
	uint32_t key;
	int128 value;

	while (e == NULL && entry_next(&r, &key, &value)) {
		if (key >= w->f->sealed->n_stacks)
			r.c.bad = true;
		else
			e = names_want_stack(w, key);
		if (r.c.bad)
			break;
	}
	if (e == NULL && r.c.bad)
		e = err_new(ERR_FORMAT, 0, "a block is malformed");
	return e;
}

static const struct err *
names_measure_block(struct names_want *w, const struct block *b)
{
	w->bytes += cur_left(&b->entries);
	return NULL;
}

/*
 * Blocks that have all stacks of a series: its highest ones, and lower ones
 * where the file ends within a block of the level above.
 */
static const struct err *
names_each_block(struct names_want *w, uint32_t number, names_block_fn *fn)
{
	struct sealed *f = w->f->sealed;
	uint64_t end = f->meta.first + f->meta.slots;
	uint64_t at = seg_align(f->meta.first, f->meta.top), until;
	const struct err *e = NULL;
	const struct block *b;

	for (unsigned l = f->meta.top + 1; l-- > f->meta.base && e == NULL;) {
		if ((f->meta.levels >> l & 1) == 0)
			continue;
		until = l > f->meta.base ? seg_align(end, l) : UINT64_MAX;
		while (e == NULL && at < until) {
			e = sealed_seek(f, number, l, at, &b);
			if (e != NULL || b == NULL || b->start >= until)
				break;
			at = b->start + seg_slots(l);
			e = fn(w, b);
		}
		at = until;
	}
	return e;
}

/* Stacks of the blocks that answer a range. */
static const struct err *
names_want_pieces(struct names_want *w, const struct plan *p, uint32_t number)
{
	const struct err *e = NULL;
	const struct block *b;

	for (size_t i = 0; i < p->n && e == NULL; i++) {
		const struct plan_piece *x = &p->pieces[i];
		uint64_t at = x->start;

		while (x->file == w->f && e == NULL) {
			e = sealed_part(w->f->sealed, number, x->level,
			    x->start, &at, &b);
			if (e != NULL || b == NULL)
				break;
			e = names_want_block(w, b);
		}
	}
	return e;
}

/* Has the series anything in the blocks that answer a range? */
static const struct err *
names_in_range(struct names_want *w, const struct plan *p, uint32_t number,
    bool *any)
{
	const struct err *e = NULL;
	const struct block *b;

	*any = false;
	for (size_t i = 0; i < p->n && e == NULL && !*any; i++) {
		const struct plan_piece *x = &p->pieces[i];
		uint64_t at = x->start;

		if (x->file != w->f)
			continue;
		e = sealed_part(w->f->sealed, number, x->level, x->start, &at,
		    &b);
		*any = e == NULL && b != NULL;
	}
	return e;
}

/* ---- naming ---- */

/* What was wanted gets the reader's numbers. */
static const struct err *
names_resolve(struct names_want *w, uint32_t most)
{
	struct openspan *o = &w->f->names;
	struct open_view *v = &o->dicts[0].asked;
	const struct err *e = openspan_resolve(o, most);

	for (uint32_t i = 0; i < w->n && e == NULL; i++) {
		uint32_t stack = w->stacks[i];
		uint32_t node = open_names_get(v, OPEN_NODES,
		    w->f->sealed->stack_nodes[stack]);

		if (node == INTERN_NONE || v->lost)
			e = err_new(ERR_FORMAT, 0,
			    "the file's dictionary is malformed");
		w->f->stack_nodes[stack] = node;
	}
	open_view_fini(v);
	if (o->pages.window.cap > READER_WINDOW)
		buf_fini(&o->pages.window);
	return e;
}

static bool
names_bit(const uint8_t *bits, uint32_t number)
{
	return bits[number / 8] >> number % 8 & 1;
}

static void
names_set_bit(uint8_t *bits, uint32_t number)
{
	bits[number / 8] |= (uint8_t)(1u << number % 8);
}

/*
 * All stacks of a series, or where those are many the ones of the plan's
 * blocks (NULL: all).  A file in which it has none of these, and of a loud
 * service there may be dozens for one span, is not asked for its names.
 */
static const struct err *
names_want_series(struct names_want *w, const struct plan *p,
    uint32_t number)
{
	const struct err *e = NULL;
	bool any = true;

	w->bytes = 0;
	if (p != NULL && !names_bit(w->f->large, number)) {
		e = names_in_range(w, p, number, &any);
		if (e != NULL || !any)
			return e;
		e = names_each_block(w, number, names_measure_block);
	}
	if (e == NULL && w->bytes > w->whole)
		names_set_bit(w->f->large, number);
	if (e == NULL && p != NULL &&
	    (names_bit(w->f->large, number) || w->bytes > *w->left))
		return names_want_pieces(w, p, number);
	if (p != NULL)
		*w->left -= w->bytes;
	if (e == NULL)
		e = names_each_block(w, number, names_want_block);
	names_set_bit(w->f->named, number);
	return e;
}

static const struct err *
names_want_new(struct names_want *w, const struct plan *p,
    const uint32_t *series, size_t n)
{
	const struct err *e = NULL;

	for (size_t i = 0; i < n && e == NULL; i++) {
		uint32_t number = reader_series(w->f, series[i]);

		if (number == INTERN_NONE ||
		    names_bit(w->f->named, number) || !series_is_profile(
		        (enum series_kind)w->f->sealed->kinds[number]))
			continue;
		e = names_want_series(w, p, number);
		if (e != NULL && (e->domain == ERR_DB ||
		    e->domain == ERR_FORMAT) && e->code != ENOMEM) {
			/* blocks that nobody has asked for */
			w->f->unnamed = true;
			e = sealed_reopen(w->f->sealed);
		}
	}
	for (uint32_t k = 0; w->f->unnamed && k < w->f->sealed->n_stacks &&
	     e == NULL; k++)
		e = names_want_stack(w, k);
	return e;
}

/* What was listed and has got no number is asked for again next time. */
static void
names_unwant(struct names_want *w)
{
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t *node = &w->f->stack_nodes[w->stacks[i]];

		*node = *node == NAMES_WANTED ? INTERN_NONE : *node;
	}
	memset(w->f->named, 0, w->f->sealed->n_series / 8 + 1);
	open_names_rest(&w->f->names.dicts[0].asked);
}

/* Does the file have any profile among these? */
static bool
names_has_any(const struct reader_file *f, const uint32_t *series, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t number = reader_series(f, series[i]);

		if (number != INTERN_NONE && series_is_profile(
		        (enum series_kind)f->sealed->kinds[number]))
			return true;
	}
	return false;
}

static const struct err *
names_of_file(struct store *s, struct reader_file *f, const struct plan *p,
    const uint32_t *series, size_t n, uint32_t most, size_t *left)
{
	struct names_want w = {.f = f,
	    .whole = most / 4 < NAMES_WHOLE ? most / 4 : NAMES_WHOLE,
	    .left = left};
	const struct err *e;

	if (!names_has_any(f, series, n))
		return NULL;
	e = reader_need_dict(s, f);
	if (e != NULL || f->sealed == NULL)
		return e;
	e = names_want_new(&w, p, series, n);
	if (e == NULL && w.n > 0)
		e = names_resolve(&w, most);
	f->unnamed = f->unnamed && e != NULL;
	if (e != NULL)
		names_unwant(&w);
	free(w.stacks);
	return e == NULL ? NULL : reader_failed(s, f, e);
}

const struct err *
reader_name_stacks(struct store *s, struct reader_file *f,
    const uint32_t *series, size_t n)
{
	return names_of_file(s, f, NULL, series, n, UINT32_MAX, NULL);
}

const struct err *
reader_need_names(struct store *s, const struct plan *p,
    const uint32_t *series, size_t n)
{
	const struct err *e = NULL;
	uint32_t before = s->syms.n_nodes;
	size_t left = s->most_nodes / 16;

	s->asks++;
	for (size_t i = 0; i < p->n && e == NULL; i++) {
		struct reader_file *f = p->pieces[i].file;

		if (f->sealed == NULL || f->asked == s->asks)
			continue;
		f->asked = s->asks;
		e = names_of_file(s, f, p, series, n, s->most_nodes, &left);
		if (e == NULL)
			e = openspan_bound(s->syms.n_nodes - before,
			    s->most_nodes);
	}
	s->refused |= e != NULL && e->code == 413;
	return e;
}

/* A block has a stack that those above it have not: no file of ours does, and
 * the answer is begun once more with all of its stacks. */
const struct err *
reader_unnamed(struct reader_file *f)
{
	f->unnamed = true;
	return err_new(ERR_ERRNO, ENOENT,
	    "a block has stacks that those above it lack");
}
