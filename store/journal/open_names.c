/*
 * Two passes over the marks' bytes: from the newest symbol to the oldest to
 * find what is needed, then forwards to put it into the table.
 */
#include "store/journal/open_names.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/batch/frame_code.h"
#include "store/journal/journal_names.h"
#include "store/journal/open_marks.h"

void
open_view_fini(struct open_view *v)
{
	for (int i = 0; i < OPEN_KINDS; i++)
		open_table_fini(&v->of[i]);
	*v = (struct open_view){0};
}

size_t
open_view_bytes(const struct open_view *v)
{
	size_t n = 0;

	for (int i = 0; i < OPEN_KINDS; i++)
		n += v->of[i].bytes;
	return n;
}

void
open_dict_fini(struct open_dict *d)
{
	for (int i = 0; i < OPEN_KINDS; i++)
		free(d->marks[i].marks);
	buf_fini(&d->prefixes);
	free(d->series);
	open_view_fini(&d->asked);
	*d = (struct open_dict){0};
}

size_t
open_dict_bytes(const struct open_dict *d)
{
	size_t n = sizeof(*d) + d->prefixes.cap +
	    d->cap_series * sizeof(*d->series) + open_view_bytes(&d->asked);

	for (int i = 0; i < OPEN_KINDS; i++)
		n += d->marks[i].cap * sizeof(*d->marks[i].marks);
	return n;
}

/* ---- marks ---- */

static bool
open_mark_begin(struct open_dict *d, struct open_marks *m, uint32_t number,
    uint32_t record, uint32_t at, const void *text, uint32_t shared)
{
	if (!open_room((void **)&m->marks, m->n + 1, &m->cap,
	        sizeof(*m->marks)))
		return false;
	m->marks[m->n++] = (struct open_mark){.first = number,
	    .record = record, .at = at,
	    .prefix = (uint32_t)d->prefixes.len, .shared = shared};
	if (shared > 0)
		buf_put(&d->prefixes, text, shared);
	return !d->prefixes.failed;
}

bool
open_dict_put_mark(struct open_dict *d, enum open_kind kind,
    const struct open_mark *mark, const void *text)
{
	struct open_marks *m = &d->marks[kind];

	if (!open_mark_begin(d, m, mark->first, 0, mark->at, text,
	        mark->shared))
		return false;
	m->marks[m->n - 1].n = mark->n;
	m->marks[m->n - 1].size = mark->size;
	m->end = mark->first + mark->n;
	return true;
}

bool
open_dict_mark_next(struct open_dict *d, enum open_kind kind,
    uint32_t number, uint32_t record, uint32_t at, uint32_t end,
    const void *text, uint32_t shared)
{
	struct open_marks *m = &d->marks[kind];

	if (!open_mark_begin(d, m, number, record, at, text, shared))
		return false;
	m->marks[m->n - 1].n = 1;
	m->marks[m->n - 1].size = end - at;
	m->end = number + 1;
	return true;
}

bool
open_dict_mark_unread(struct open_dict *d, enum open_kind kind,
    uint32_t number, uint32_t n, uint32_t record, uint32_t at, uint32_t end)
{
	struct open_marks *m = &d->marks[kind];
	uint32_t first = number > m->end ? number : m->end;

	if (number + n <= m->end)
		return true;
	if (!open_mark_begin(d, m, first, record, at, NULL, 0))
		return false;
	m->end = number + n;
	m->marks[m->n - 1].n = m->end - first;
	m->marks[m->n - 1].size = end - at;
	m->marks[m->n - 1].prefix = number;
	m->marks[m->n - 1].shared = OPEN_UNREAD;
	return true;
}

/* The first mark that may hold a number at or after this one. */
static uint32_t
open_marks_find(const struct open_marks *m, uint32_t number)
{
	uint32_t lo = 0, hi = m->n;

	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;

		if (m->marks[middle].first + m->marks[middle].n <= number)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

/* ---- what is needed ---- */

bool
open_names_need(const struct open_dict *d, struct open_view *v,
    enum open_kind kind, uint32_t number)
{
	if (open_names_get(v, kind, number) != INTERN_NONE)
		return true;
	if (number >= d->marks[kind].end) {
		v->lost = true;
		return true;
	}
	return open_table_need(&v->of[kind], number);
}

/* ---- resolving ---- */

/* Names of one mark that are put together. */
struct open_many {
	uint32_t n, of[INTERN_MANY]; /* the dictionary's numbers */
	struct intern_key keys[INTERN_MANY];
	struct sym_frame frames[INTERN_MANY]; /* that keys are, or they are */
	size_t at[INTERN_MANY];               /* here in the texts */
	struct buf texts;
};

struct open_walker {
	struct open_dict *d;
	struct open_view *v;
	struct open_pages *pages;
	struct symtab *t;
	struct buf text; /* the string before */
	struct frame_code frames; /* those before, of a file's dictionary */
	bool collect;    /* marks what is needed; else puts it into the table */
	bool roots;      /* of nodes, symtab.h */
	struct open_many many;
};

static bool
open_put(struct open_walker *w, enum open_kind kind, uint32_t number,
    uint32_t symbol)
{
	return symbol != INTERN_NONE &&
	    open_table_put(&w->v->of[kind], number, symbol);
}

/* What the mark at hand has brought of a kind, strings or frames. */
static bool
open_put_many(struct open_walker *w, enum open_kind kind)
{
	struct open_many *m = &w->many;
	uint32_t symbols[INTERN_MANY];
	bool good = !m->texts.failed;

	for (uint32_t i = 0; kind == OPEN_STRINGS && i < m->n; i++)
		m->keys[i].p = m->texts.data + m->at[i];
	good = good && intern_put_many(kind == OPEN_STRINGS ? &w->t->strings
	    : &w->t->frames, m->keys, m->n, symbols);
	for (uint32_t i = 0; i < m->n && good; i++)
		good = open_put(w, kind, m->of[i], symbols[i]);
	m->n = 0;
	buf_clear(&m->texts);
	return good;
}

static uint32_t
open_string(struct open_walker *w, uint32_t number)
{
	uint32_t s = open_names_get(w->v, OPEN_STRINGS, number);

	return s != INTERN_NONE ? s : journal_names_lost_string(w->t);
}

static bool
open_take_string(struct open_walker *w, struct cur *c, uint32_t number,
    bool needed)
{
	struct open_many *m = &w->many;
	uint64_t shared = cur_varint(c);
	size_t n;
	const uint8_t *rest = cur_bytes(c, &n);

	if (rest == NULL || shared > w->text.len) {
		c->bad = true;
		return true;
	}
	w->text.len = (size_t)shared;
	buf_put(&w->text, rest, n);
	if (w->text.failed)
		return false;
	if (!needed)
		return true;
	m->at[m->n] = m->texts.len;
	m->keys[m->n] = (struct intern_key){.len = (uint32_t)w->text.len};
	m->of[m->n++] = number;
	buf_put(&m->texts, w->text.data, w->text.len);
	return m->n < INTERN_MANY || open_put_many(w, OPEN_STRINGS);
}

/* The name of a frame that is told by module and offset. */
static uint32_t
open_address(struct open_walker *w, uint32_t module, uint64_t offset)
{
	const struct intern *t = &w->t->strings;

	if (module == INTERN_NONE)
		return INTERN_NONE;
	buf_clear(&w->text);
	frame_code_address(&w->text, intern_at(t, module),
	    t->items[module].len, offset);
	return w->text.failed ? INTERN_NONE : intern_put(&w->t->strings,
	    w->text.data, w->text.len);
}

static bool
open_take_frame(struct open_walker *w, struct cur *c, uint32_t number,
    bool needed)
{
	struct open_many *m = &w->many;
	struct batch_frame f;
	struct sym_frame key;

	if (w->d->coded)
		frame_code_take(&w->frames, c, number, UINT32_MAX, &f);
	else
		batch_one_frame(c, UINT32_MAX, &f);
	if (!needed || c->bad)
		return true;
	if (w->collect)
		return (f.name == INTERN_NONE || open_names_need(w->d, w->v,
		        OPEN_STRINGS, f.name)) &&
		    open_names_need(w->d, w->v, OPEN_STRINGS, f.module) &&
		    open_names_need(w->d, w->v, OPEN_STRINGS, f.build_id);
	key = (struct sym_frame){f.offset, f.kind, 0, open_string(w, f.module),
	    open_string(w, f.build_id)};
	key.name = f.name == INTERN_NONE
	    ? open_address(w, key.module, f.offset) : open_string(w, f.name);
	if (key.name == INTERN_NONE || key.module == INTERN_NONE ||
	    key.build_id == INTERN_NONE)
		return false;
	m->frames[m->n] = key;
	m->keys[m->n] = (struct intern_key){&m->frames[m->n], sizeof(key), 0};
	m->of[m->n++] = number;
	return m->n < INTERN_MANY || open_put_many(w, OPEN_FRAMES);
}

/* A set with a lost string is lost: without it it would be another one. */
static bool
open_take_labels(struct open_walker *w, struct cur *c, uint32_t number,
    bool needed)
{
	uint64_t n = cur_varint(c);
	uint32_t key[2 * BATCH_MAX_LABELS];
	bool lost = false;

	if (n > BATCH_MAX_LABELS)
		c->bad = true;
	for (uint64_t i = 0; i < 2 * n && !c->bad; i++) {
		uint32_t string = (uint32_t)cur_varint(c);

		if (needed && w->collect && !open_names_need(w->d, w->v,
		        OPEN_STRINGS, string))
			return false;
		key[i] = open_names_get(w->v, OPEN_STRINGS, string);
		lost |= key[i] == INTERN_NONE;
	}
	if (!needed || w->collect || c->bad || lost)
		return true;
	return open_put(w, OPEN_LABELS, number, intern_put(&w->t->labels, key,
	    2 * (size_t)n * sizeof(*key)));
}

/* What hangs on a lost node is lost; a lost frame is only not named. */
static bool
open_put_node(struct open_walker *w, const struct batch_node *n,
    uint32_t number)
{
	uint32_t parent = open_names_get(w->v, OPEN_NODES, n->parent);
	uint32_t edge;

	if (w->roots && n->parent != 0)
		return parent == INTERN_NONE ||
		    open_put(w, OPEN_NODES, number, parent);
	edge = open_names_get(w->v,
	    n->parent == 0 ? OPEN_LABELS : OPEN_FRAMES, n->edge);
	if (parent == INTERN_NONE || (edge == INTERN_NONE && n->parent == 0))
		return true;
	if (edge == INTERN_NONE)
		edge = journal_names_lost_frame(w->t);
	return edge != INTERN_NONE && open_put(w, OPEN_NODES, number,
	    symtab_put_node(w->t, parent, edge));
}

static bool
open_take_node(struct open_walker *w, struct cur *c, uint32_t number,
    bool needed)
{
	struct batch_node n;

	batch_one_node(c, number, 0, UINT32_MAX, UINT32_MAX, NULL, &n);
	return !needed || c->bad || open_put_node(w, &n, number);
}

typedef bool open_take_fn(struct open_walker *w, struct cur *c,
    uint32_t number, bool needed);

static const struct err *
open_walk_mark(struct open_walker *w, enum open_kind kind,
    const struct open_mark *m, struct cur *c)
{
	const uint8_t *p;
	const struct err *e = open_pages_read(w->pages, m->record, m->at,
	    m->size, &p);

	if (e != NULL)
		return e;
	*c = cur_of(p, m->size);
	w->frames.n = w->frames.name = 0;
	if (kind != OPEN_STRINGS)
		return NULL;
	buf_clear(&w->text);
	if (m->shared > 0)
		buf_put(&w->text, w->d->prefixes.data + m->prefix, m->shared);
	return NULL;
}

/* The symbols of a mark, up to the last that is needed. */
static const struct err *
open_walk_symbols(struct open_walker *w, enum open_kind kind,
    const struct open_mark *m, open_take_fn *fn)
{
	const struct open_table *t = &w->v->of[kind];
	uint32_t last = open_table_last(t, m->first + m->n);
	struct cur c;
	const struct err *e = open_walk_mark(w, kind, m, &c);

	for (uint32_t n = m->first; n <= last && e == NULL; n++) {
		if (!fn(w, &c, n, open_table_needs(t, n)))
			e = err_nomem();
		else if (c.bad)
			e = err_new(ERR_FORMAT, 0,
			    "a journal's names are malformed");
	}
	return e == NULL && w->many.n > 0 && !open_put_many(w, kind)
	    ? err_nomem() : e;
}

/* The mark that holds a number, or the first behind it: the number was lost.
 * NULL: there is none. */
static const struct err *
open_find(struct open_walker *w, enum open_kind kind, uint32_t number,
    const struct open_mark **out)
{
	const struct open_marks *m = &w->d->marks[kind];
	uint32_t i = open_marks_find(m, number);
	const struct err *e = gone_check();

	if (e == NULL && i < m->n && m->marks[i].first <= number &&
	    m->marks[i].shared == OPEN_UNREAD) {
		e = open_dict_read(w->d, kind, i, w->pages);
		i = open_marks_find(m, number);
	}
	*out = i < m->n ? &m->marks[i] : NULL;
	return e;
}

/* Each symbol of one kind that is needed, in the order of numbers. */
static const struct err *
open_walk(struct open_walker *w, enum open_kind kind, open_take_fn *fn)
{
	const struct open_table *t = &w->v->of[kind];
	const struct err *e = NULL;
	uint32_t number = open_table_next(t, 0);

	while (number != INTERN_NONE && e == NULL) {
		const struct open_mark *m;

		if ((e = open_find(w, kind, number, &m)) != NULL || m == NULL)
			break;
		if (m->first > number) { /* was lost */
			number = open_table_next(t, m->first);
			continue;
		}
		e = open_walk_symbols(w, kind, m, fn);
		number = open_table_next(t, m->first + m->n);
	}
	return e;
}

static bool
open_need_edge(struct open_walker *w, const struct batch_node *n)
{
	if (n->parent != 0 && w->roots)
		return true;
	return open_names_need(w->d, w->v,
	    n->parent == 0 ? OPEN_LABELS : OPEN_FRAMES, n->edge);
}

/* Nodes of one mark, the last first: each asks for its parent. */
static const struct err *
open_collect_mark(struct open_walker *w, const struct open_mark *m)
{
	const struct open_table *t = &w->v->of[OPEN_NODES];
	struct batch_node nodes[OPEN_MARK];
	struct cur c;
	const struct err *e = open_walk_mark(w, OPEN_NODES, m, &c);

	for (uint32_t i = 0; i < m->n && e == NULL; i++) {
		batch_one_node(&c, m->first + i, 0, UINT32_MAX, UINT32_MAX,
		    NULL, &nodes[i]);
		if (c.bad)
			e = err_new(ERR_FORMAT, 0,
			    "a journal's names are malformed");
	}
	for (uint32_t i = m->n; i-- > 0 && e == NULL;) {
		const struct batch_node *n = &nodes[i];

		if (!open_table_needs(t, m->first + i))
			continue;
		if (!open_names_need(w->d, w->v, OPEN_NODES, n->parent) ||
		    !open_need_edge(w, n))
			e = err_nomem();
	}
	return e;
}

static const struct err *
open_collect_nodes(struct open_walker *w)
{
	const struct open_table *t = &w->v->of[OPEN_NODES];
	const struct err *e = NULL;
	uint32_t number = open_table_last(t, w->d->marks[OPEN_NODES].end);

	while (number != INTERN_NONE && e == NULL) {
		const struct open_mark *m;

		if ((e = open_find(w, OPEN_NODES, number, &m)) != NULL)
			break;
		if (m == NULL || m->first > number) { /* was lost */
			number = open_table_last(t, number);
			continue;
		}
		e = open_collect_mark(w, m);
		number = open_table_last(t, m->first);
	}
	return e;
}

/* Was all found that was asked for? */
static bool
open_all_found(const struct open_view *v, enum open_kind kind)
{
	const struct open_table *t = &v->of[kind];
	uint32_t i = open_table_next(t, 0);

	while (i != INTERN_NONE && open_table_get(t, i) != INTERN_NONE)
		i = open_table_next(t, i + 1);
	return i == INTERN_NONE;
}

const struct err *
open_names_collect(struct open_dict *d, struct open_view *v,
    struct open_pages *pages, const struct symtab *t, uint64_t *n)
{
	struct open_walker w = {.d = d, .v = v, .pages = pages,
	    .roots = t->roots};
	const struct err *e = open_collect_nodes(&w);

	if (!t->roots)
		*n += open_table_count(&v->of[OPEN_NODES]);
	return e;
}

void
open_names_rest(struct open_view *v)
{
	for (int i = 0; i < OPEN_KINDS; i++)
		open_table_rest(&v->of[i]);
}

const struct err *
open_names_resolve(struct open_dict *d, struct open_view *v,
    struct open_pages *pages, struct symtab *t)
{
	struct open_walker w = {.d = d, .v = v, .pages = pages, .t = t,
	    .roots = t->roots};
	const struct err *e;

	w.collect = true;
	e = open_walk(&w, OPEN_FRAMES, open_take_frame);
	if (e == NULL)
		e = open_walk(&w, OPEN_LABELS, open_take_labels);
	w.collect = false;
	if (e == NULL)
		e = open_walk(&w, OPEN_STRINGS, open_take_string);
	if (e == NULL)
		e = open_walk(&w, OPEN_FRAMES, open_take_frame);
	if (e == NULL)
		e = open_walk(&w, OPEN_LABELS, open_take_labels);
	if (e == NULL)
		e = open_walk(&w, OPEN_NODES, open_take_node);
	for (int i = 0; i < OPEN_KINDS && e == NULL; i++)
		v->lost |= !open_all_found(v, i);
	open_names_rest(v);
	buf_fini(&w.text);
	buf_fini(&w.many.texts);
	return e;
}
