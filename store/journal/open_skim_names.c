/*
 * Scanning the names of a record: strings and label sets, which series need, at
 * once, and the rest later.  Most of them the two records before have said
 * already, in the same bytes: those are told by their checksum, and
 * passed over, so that a journal's names are scanned once and not three
 * times.  The first of them is read all the same: it is the one that is said
 * in other bytes where a section begins with it (journal.h).
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/journal/open_skim.h"

#define AGAIN_MOST (64u << 10) /* bytes that are kept between scans */
#define LATER_WINDOW (64u << 10) /* the same of a record */

static void
again_fini(struct open_again *a)
{
	buf_fini(&a->text);
	*a = (struct open_again){0};
}

void
openspan_drop_again(struct openspan *o)
{
	for (int i = 0; i < OPEN_KINDS; i++) {
		for (int r = 0; r < JOURNAL_RESTATE; r++)
			again_fini(&o->again[i][r]);
	}
}

size_t
openspan_again_bytes(const struct openspan *o)
{
	size_t n = 0;

	for (int i = 0; i < OPEN_KINDS; i++) {
		for (int r = 0; r < JOURNAL_RESTATE; r++)
			n += o->again[i][r].text.cap;
	}
	return n;
}

void
openspan_rest_again(struct openspan *o)
{
	if (openspan_again_bytes(o) > AGAIN_MOST)
		openspan_drop_again(o);
}

/* ---- one of each kind ---- */

static bool
skim_string(struct skim *k, struct cur *c, uint32_t number)
{
	uint32_t at = skim_at(k, c);
	uint64_t shared = cur_varint(c);
	size_t len;
	const uint8_t *rest = cur_bytes(c, &len);

	if (rest == NULL || shared > k->text.len ||
	    shared + len > BATCH_MAX_STRING) {
		c->bad = true;
		return true;
	}
	if (!open_dict_mark(k->d, OPEN_STRINGS, number, k->record, at,
	        skim_at(k, c), k->text.data, (uint32_t)shared))
		return false;
	k->text.len = (size_t)shared;
	buf_put(&k->text, rest, len);
	return !k->text.failed;
}

static bool
skim_frame(struct skim *k, struct cur *c, uint32_t number)
{
	uint32_t at = skim_at(k, c);
	struct batch_frame f;

	if (k->d->coded)
		frame_code_take(&k->frames_before, c, number, k->strings, &f);
	else
		batch_one_frame(c, k->strings, &f);
	return c->bad || open_dict_mark(k->d, OPEN_FRAMES, number, k->record,
	    at, skim_at(k, c), NULL, 0);
}

static bool
skim_label_set(struct skim *k, struct cur *c, uint32_t number)
{
	uint32_t at = skim_at(k, c);
	uint64_t pairs = cur_varint(c);

	if (pairs > BATCH_MAX_LABELS)
		c->bad = true;
	for (uint64_t p = 0; p < 2 * pairs && !c->bad; p++)
		c->bad |= cur_varint(c) >= k->strings;
	return c->bad || open_dict_mark(k->d, OPEN_LABELS, number, k->record,
	    at, skim_at(k, c), NULL, 0);
}

static bool
skim_node(struct skim *k, struct cur *c, uint32_t number)
{
	uint32_t at = skim_at(k, c);
	struct batch_node node;

	batch_one_node(c, number, k->first.nodes, k->labels, k->frames,
	    k->depths, &node);
	return c->bad || open_dict_mark(k->d, OPEN_NODES, number, k->record,
	    at, skim_at(k, c), NULL, 0);
}

static const struct {
	bool (*one)(struct skim *k, struct cur *c, uint32_t number);
	size_t least; /* bytes */
} kinds[OPEN_KINDS] = {
	[OPEN_STRINGS] = {skim_string, 2},
	[OPEN_FRAMES] = {skim_frame, 5},
	[OPEN_LABELS] = {skim_label_set, 1},
	[OPEN_NODES] = {skim_node, 2},
};

/* ---- what was said before ---- */

/* How many after this number are those that a record before brought with it:
 * they are passed over. */
static size_t
again_skip(struct skim *k, struct cur *c, enum open_kind kind,
    uint32_t number, size_t left)
{
	const struct open_again *a = k->o->again[kind];
	int r = 0;

	while (r < JOURNAL_RESTATE && (a[r].n < 2 || a[r].first != number))
		r++;
	if (r == JOURNAL_RESTATE)
		return 0;
	a = &a[r];
	if (a->n - 1 > left || a->bytes > cur_left(c) ||
	    crc32c(0, c->p, a->bytes) != a->sum)
		return 0;
	cur_raw(c, a->bytes);
	buf_clear(&k->text);
	buf_put(&k->text, a->text.data, a->text.len);
	return a->n - 1;
}

/* Keeps what a record has brought from number `first` up to `end`, the bytes
 * behind the first of them.  False: out of memory. */
static bool
again_keep(struct skim *k, enum open_kind kind, uint32_t first, size_t end,
    const uint8_t *from, const uint8_t *to)
{
	struct open_again *a = k->o->again[kind];
	struct open_again new = {.first = first, .n = (uint32_t)end - first,
	    .bytes = (size_t)(to - from)};

	new.sum = crc32c(0, from, new.bytes);
	if (kind == OPEN_STRINGS)
		buf_put(&new.text, k->text.data, k->text.len);
	if (new.text.failed) {
		again_fini(&new);
		return false;
	}
	again_fini(&a[0]);
	memmove(&a[0], &a[1], (JOURNAL_RESTATE - 1) * sizeof(*a));
	a[JOURNAL_RESTATE - 1] = new;
	return true;
}

/* ---- a section ---- */

static bool
skim_each(struct skim *k, struct cur *c, enum open_kind kind, uint32_t first,
    size_t n)
{
	uint32_t known = k->d->marks[kind].end;
	const uint8_t *from = NULL;
	uint32_t new = 0;

	for (size_t i = 0; i < n && !c->bad; i++) {
		uint32_t number = first + (uint32_t)i;

		if (!kinds[kind].one(k, c, number))
			return false;
		if (number < known) {
			i += again_skip(k, c, kind, number, n - i - 1);
		} else if (from == NULL) {
			from = c->p;
			new = number;
		}
	}
	return k->plain || c->bad || from == NULL ||
	    again_keep(k, kind, new, first + n, from, c->p);
}

/* How many bytes of a section, whose first element has this number, are those
 * that the records before have brought: their elements are the same bytes, one
 * after the other.  0: that is not known. */
static size_t
later_skip(const struct skim *k, enum open_kind kind, uint32_t first)
{
	const struct open_again *a = k->o->again[kind];
	uint32_t at = first;
	size_t bytes = 0;

	for (int r = 0; r < JOURNAL_RESTATE; r++) {
		if (a[r].n == 0 || a[r].first != at)
			continue;
		at += a[r].n;
		bytes += a[r].bytes;
	}
	return at == k->d->marks[kind].end ? bytes : 0;
}

/* What the next records will say again. */
static void
later_keep(struct skim *k, enum open_kind kind, uint32_t first, uint32_t n,
    size_t bytes)
{
	struct open_again *a = k->o->again[kind];

	memmove(&a[0], &a[1], (JOURNAL_RESTATE - 1) * sizeof(*a));
	a[JOURNAL_RESTATE - 1] = (struct open_again){.first = first, .n = n,
	    .bytes = bytes};
}

/* A service that pushes many new stacks brings most of what a journal has; who
 * does not ask for them need not read it. */
static bool
skim_later(struct skim *k, struct cur *c, enum open_kind kind, size_t first,
    size_t n)
{
	uint32_t known = k->d->marks[kind].end, number = (uint32_t)first;
	size_t left = cur_left(c), skip = 0;
	uint32_t at = skim_at(k, c), end = at + (uint32_t)left;

	c->bad |= first + n >= INTERN_NONE;
	cur_raw(c, left);
	if (c->bad || first + n <= known)
		return true;
	if (first < known)
		skip = later_skip(k, kind, number);
	skip = skip < left ? skip : 0;
	if (skip > 0)
		number = known;
	later_keep(k, kind, number, number >= known ? (uint32_t)(first + n) -
	    number : 0, left - skip);
	return open_dict_mark_unread(k->d, kind, number,
	    (uint32_t)(first + n) - number, k->record, at + (uint32_t)skip,
	    end);
}

bool
skim_names(struct skim *k, struct cur *c, enum open_kind kind)
{
	const size_t firsts[OPEN_KINDS] = {k->first.strings, k->first.frames,
	    k->first.labels, k->first.nodes};
	size_t *ends[OPEN_KINDS] = {&k->strings, &k->frames, &k->labels,
	    &k->nodes};
	size_t n = skim_count(c, kind == OPEN_FRAMES && k->d->coded
	    ? FRAME_CODE_LEAST : kinds[kind].least);

	buf_clear(&k->text);
	*ends[kind] = firsts[kind] + n;
	if (k->later && (kind == OPEN_FRAMES || kind == OPEN_NODES))
		return skim_later(k, c, kind, firsts[kind], n);
	if (kind == OPEN_NODES) {
		k->depths = malloc((n + 1) * sizeof(*k->depths));
		if (k->depths == NULL)
			return false;
	}
	return skim_each(k, c, kind, (uint32_t)firsts[kind], n);
}

/* ---- later ---- */

/* In the place of mark i those of `fresh`, which are the same numbers. */
static bool
later_put(struct open_marks *m, uint32_t i, const struct open_marks *fresh)
{
	size_t n = (size_t)m->n - 1 + fresh->n;

	if (!open_room((void **)&m->marks, n, &m->cap, sizeof(*m->marks)))
		return false;
	memmove(&m->marks[i + fresh->n], &m->marks[i + 1],
	    (m->n - i - 1) * sizeof(*m->marks));
	if (fresh->n > 0)
		memcpy(&m->marks[i], fresh->marks,
		    fresh->n * sizeof(*m->marks));
	m->n = (uint32_t)n;
	return true;
}

const struct err *
open_dict_read(struct open_dict *d, enum open_kind kind, uint32_t i,
    struct open_pages *pages)
{
	const struct open_mark m = d->marks[kind].marks[i];
	uint32_t n = m.first + m.n - m.prefix;
	struct open_dict fresh = {0};
	struct skim k = {.d = &fresh, .base = m.at, .record = m.record,
	    .first.nodes = m.prefix, .strings = UINT32_MAX,
	    .frames = UINT32_MAX, .labels = UINT32_MAX};
	const struct err *e = open_pages_read(pages, m.record, m.at, m.size,
	    &k.start);
	struct cur c = cur_of(k.start, e == NULL ? m.size : 0);
	bool fine;

	if (e != NULL)
		return e;
	fresh.marks[kind].end = m.first;
	k.depths = malloc(((size_t)n + 1) * sizeof(*k.depths));
	fine = k.depths != NULL;
	for (uint32_t j = 0; j < n && fine && !c.bad; j++)
		fine = kinds[kind].one(&k, &c, m.prefix + j);
	fine = fine && later_put(&d->marks[kind], i, &fresh.marks[kind]);
	free(k.depths);
	open_dict_fini(&fresh);
	if (pages->window.cap > LATER_WINDOW)
		buf_fini(&pages->window);
	return fine ? NULL : err_nomem();
}
