/*
 * The dictionaries of an open journal (journal.h), where they stand: of some
 * symbols in a row the place of the first, so that a symbol costs a byte of
 * memory until somebody asks for it.
 *
 * A view says which of them a symbol table has, and under which numbers.  It
 * is filled in four steps: open_names_need() for what is wanted,
 * open_names_collect() and open_names_resolve() once for all of it,
 * open_names_get().
 *
 *	collect  nodes, from the newest to the oldest: their parents, frames
 *	         and label sets
 *	resolve  strings of those; then strings, frames, label sets, nodes,
 *	         oldest first
 */
#ifndef STORE_OPEN_NAMES_H
#define STORE_OPEN_NAMES_H

#include "store/batch/batch_private.h"
#include "store/batch/symtab.h"
#include "store/journal/open_pages.h"
#include "store/journal/open_table.h"

enum open_kind {
	OPEN_STRINGS,
	OPEN_FRAMES,
	OPEN_LABELS,
	OPEN_NODES,
	OPEN_KINDS
};

#define OPEN_MARK 64 /* symbols that one mark stands for, at most, */
#define OPEN_MARK_STRINGS 32 /* and of strings */

/* Symbols of one record with numbers in a row. */
struct open_mark {
	uint32_t first, n;         /* numbers */
	uint32_t record, at, size; /* bytes */
	uint32_t prefix, shared;   /* strings: what the first has of the one
	                            * before, in the dictionary's prefixes; or
	                            * OPEN_UNREAD */
};

/* All of a record's frames or nodes, of which nothing was read yet: the bytes
 * begin with number `prefix`, which may be known from records before. */
#define OPEN_UNREAD UINT32_MAX

struct open_marks {
	struct open_mark *marks; /* by number */
	uint32_t n, cap;
	uint32_t end; /* one past the highest number */
};

struct open_view {
	struct open_table of[OPEN_KINDS];
	bool lost; /* one that no record has brought was asked for */
};

struct open_dict {
	uint32_t number; /* journal.h; 0: that of one record alone */
	bool coded;      /* a file's, whose frames are as in frame_code.h */
	struct open_marks marks[OPEN_KINDS];
	struct buf prefixes;
	uint32_t *series; /* number -> the open span's, or INTERN_NONE */
	uint32_t n_series, cap_series;
	struct open_view asked; /* of the reader's table */
};

void open_dict_fini(struct open_dict *d);
size_t open_dict_bytes(const struct open_dict *d);
void open_view_fini(struct open_view *v);
size_t open_view_bytes(const struct open_view *v);

/*
 * The element with this number begins at `at` of the record, and the next one
 * at `end`; numbers that are known already are passed over.  `text` is the
 * string before with n bytes of it shared, or NULL.  False: out of memory.
 */
static inline bool open_dict_mark(struct open_dict *d, enum open_kind kind,
    uint32_t number, uint32_t record, uint32_t at, uint32_t end,
    const void *text, uint32_t shared);
/* The same where a mark has to begin. */
bool open_dict_mark_next(struct open_dict *d, enum open_kind kind,
    uint32_t number, uint32_t record, uint32_t at, uint32_t end,
    const void *text, uint32_t shared);
/* How many symbols one mark of a scanned record stands for, at most. */
static inline uint32_t
open_mark_most(enum open_kind kind)
{
	return kind == OPEN_STRINGS ? OPEN_MARK_STRINGS : OPEN_MARK;
}

static inline bool
open_dict_mark(struct open_dict *d, enum open_kind kind, uint32_t number,
    uint32_t record, uint32_t at, uint32_t end, const void *text,
    uint32_t shared)
{
	struct open_marks *m = &d->marks[kind];
	struct open_mark *last = m->n > 0 ? &m->marks[m->n - 1] : NULL;

	if (number < m->end)
		return true;
	if (last == NULL || last->record != record ||
	    last->n >= open_mark_most(kind) ||
	    last->first + last->n != number)
		return open_dict_mark_next(d, kind, number, record, at, end,
		    text, shared);
	last->n++;
	last->size = end - last->at;
	m->end = number + 1;
	return true;
}

/* The same of n elements from `number` on that stand from `at` to `end`, frames
 * or nodes, unread; and reads what mark i stands for: what is malformed of it
 * is lost. */
bool open_dict_mark_unread(struct open_dict *d, enum open_kind kind,
    uint32_t number, uint32_t n, uint32_t record, uint32_t at, uint32_t end);
const struct err *open_dict_read(struct open_dict *d, enum open_kind kind,
    uint32_t i, struct open_pages *pages);

/* Element 0 of strings, label sets and nodes is known to all. */
static inline uint32_t
open_names_get(const struct open_view *v, enum open_kind kind,
    uint32_t number)
{
	return number == 0 && kind != OPEN_FRAMES
	    ? 0
	    : open_table_get(&v->of[kind], number);
}

/* False: out of memory. */
bool open_names_need(const struct open_dict *d, struct open_view *v,
    enum open_kind kind, uint32_t number);

/* Adds the number of nodes that t will get to *n: before any memory is taken
 * for them; of roots alone (symtab.h) none is counted. */
const struct err *open_names_collect(struct open_dict *d,
    struct open_view *v, struct open_pages *pages, const struct symtab *t,
    uint64_t *n);
/* Nothing is needed any more. */
void open_names_rest(struct open_view *v);

/*
 * Puts all that is needed into the table.  v->lost: something was lost with
 * damaged records and stays INTERN_NONE; a frame or string of what is there
 * is "(lost)".  After an error nothing is needed any more.
 */
const struct err *open_names_resolve(struct open_dict *d,
    struct open_view *v, struct open_pages *pages, struct symtab *t);

#endif
