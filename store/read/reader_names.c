/*
 * What the stacks of a sealed file are called: only those of the series that
 * are asked for are named, so that what others have in the file costs a
 * query nothing but the length of its dictionary's marks, once.
 *
 *	its marks (open_marks.h), or dictionary -> marks
 *	                                          when the file is opened
 *	series -> its stacks, by its top blocks   when it is first asked for
 *	stack -> node of the reader               f->stack_nodes
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/journal/open_marks.h"
#include "store/read/reader.h"

/* Stacks that are to be named. */
struct names_want {
	struct reader_file *f;
	uint32_t *stacks;
	uint32_t n, cap;
};

/* ---- opening ---- */

static const struct err *
names_set_series(struct reader_file *f)
{
	const struct openspan *o = &f->names;
	uint8_t *kinds = malloc(o->n_strips + 1);
	const struct err *e;

	if (kinds == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < o->n_strips; i++)
		kinds[i] = (uint8_t)symtab_series(&o->series, i)->kind;
	e = sealed_set_series(f->sealed, kinds, o->n_strips);
	free(kinds);
	return e;
}

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
	if (f->stack_nodes == NULL || f->named == NULL)
		return err_nomem();
	memset(f->stack_nodes, 0xff, (n + 1) * sizeof(*f->stack_nodes));
	return NULL;
}

/* Files of before, and small ones, have no marks; and what they say in vain
 * the dictionary says itself. */
static const struct err *
names_take_dict(struct reader_file *f, struct buf *bytes)
{
	struct openspan *o = &f->names;
	const struct err *e = sealed_read_stream(f->sealed, SEALED_MARKS,
	    bytes);

	if (e != NULL)
		return e;
	if (bytes->len > 0) {
		e = openspan_take_marks(o, bytes->data, bytes->len);
		buf_clear(bytes);
		if (e == NULL || e->domain != ERR_FORMAT)
			return e;
	}
	e = sealed_read_stream(f->sealed, SEALED_DICT, bytes);
	return e == NULL ? openspan_take_dict(o, bytes->data, bytes->len) : e;
}

const struct err *
reader_take_names(struct store *s, struct reader_file *f)
{
	struct openspan *o = &f->names;
	struct buf dict = {0};
	const struct err *e;

	*o = (struct openspan){.syms = &s->syms, .pages = {.fd = -1,
	    .read = sealed_read_dict, .arg = f->sealed}};
	e = names_take_dict(f, &dict);
	if (e == NULL)
		e = openspan_name(o);
	if (e == NULL)
		e = names_set_series(f);
	if (e == NULL)
		e = names_set_stacks(f);
	if (e != NULL || dict.len == 0) {
		buf_fini(&dict);
	} else { /* most are asked at once */
		buf_fini(&o->pages.window);
		o->pages.window = dict;
		o->pages.record = o->pages.page = 0;
	}
	if (e != NULL)
		return e;
	openspan_settle(o);
	f->facts_known = true;
	f->fact_kinds = 0;
	for (uint32_t i = 0; i < o->n_facts; i++)
		f->fact_kinds |= 1u << (o->facts[i].kind & 31);
	return NULL;
}

uint32_t
reader_series(const struct reader_file *f, uint32_t series)
{
	return series < f->names.n_places ? f->names.places[series]
	                                  : INTERN_NONE;
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

/*
 * All stacks of a series: of its highest blocks, and of lower ones where the
 * file ends within a block of the level above.
 */
static const struct err *
names_want_series(struct names_want *w, uint32_t number)
{
	struct sealed *f = w->f->sealed;
	uint64_t end = f->meta.first + f->meta.slots;
	uint64_t at = seg_align(f->meta.first, f->meta.top), until;
	const struct err *e = NULL;
	const struct block *b;

	for (unsigned l = f->meta.top + 1; l-- > f->meta.base && e == NULL;) {
		until = l > f->meta.base ? seg_align(end, l) : UINT64_MAX;
		while (e == NULL && at < until) {
			e = sealed_seek(f, number, l, at, &b);
			if (e != NULL || b == NULL || b->start >= until)
				break;
			at = b->start + seg_slots(l);
			e = names_want_block(w, b);
		}
		at = until;
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
names_known(const struct reader_file *f, uint32_t number)
{
	return f->named[number / 8] >> number % 8 & 1;
}

static const struct err *
names_want_new(struct names_want *w, const uint32_t *series, size_t n)
{
	const struct err *e = NULL;

	for (size_t i = 0; i < n && e == NULL; i++) {
		uint32_t number = reader_series(w->f, series[i]);

		if (number == INTERN_NONE || names_known(w->f, number) ||
		    !series_is_profile(
		        (enum series_kind)w->f->sealed->kinds[number]))
			continue;
		e = names_want_series(w, number);
		if (e != NULL && (e->domain == ERR_DB ||
		    e->domain == ERR_FORMAT) && e->code != ENOMEM) {
			/* blocks that nobody has asked for */
			w->f->unnamed = true;
			e = sealed_reopen(w->f->sealed);
		}
		w->f->named[number / 8] |= (uint8_t)(1u << number % 8);
	}
	for (uint32_t k = 0; w->f->unnamed && k < w->f->sealed->n_stacks &&
	     e == NULL; k++)
		e = names_want_stack(w, k);
	return e;
}

static const struct err *
names_of_file(struct store *s, struct reader_file *f, const uint32_t *series,
    size_t n, uint32_t most)
{
	struct names_want w = {.f = f};
	const struct err *e = names_want_new(&w, series, n);

	if (e == NULL && w.n > 0)
		e = names_resolve(&w, most);
	free(w.stacks);
	f->unnamed = f->unnamed && e != NULL;
	if (e == NULL)
		return NULL;
	memset(f->named, 0, f->sealed->n_series / 8 + 1);
	open_names_rest(&f->names.dicts[0].asked);
	return reader_failed(s, f, e);
}

const struct err *
reader_name_stacks(struct store *s, struct reader_file *f,
    const uint32_t *series, size_t n)
{
	return names_of_file(s, f, series, n, UINT32_MAX);
}

const struct err *
reader_need_names(struct store *s, const struct plan *p,
    const uint32_t *series, size_t n)
{
	const struct err *e = NULL;
	uint32_t before = s->syms.n_nodes, new;

	s->asks++;
	for (size_t i = 0; i < p->n && e == NULL; i++) {
		struct reader_file *f = p->pieces[i].file;

		if (f->sealed == NULL || f->asked == s->asks)
			continue;
		f->asked = s->asks;
		new = s->syms.n_nodes - before;
		e = names_of_file(s, f, series, n,
		    new < s->most_nodes ? s->most_nodes - new : 0);
	}
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
