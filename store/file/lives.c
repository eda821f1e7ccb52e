/*
 * A service has a block where any of its series has.
 */
#include "store/file/lives.h"

#include <stdlib.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/file/sealed.h"
#include "store/file/series_index.h"

void
lives_fini(struct lives *l)
{
	free(l->runs);
	free(l->firsts);
	*l = (struct lives){0};
}

size_t
lives_bytes(const struct lives *l)
{
	return l->cap * sizeof(*l->firsts) + l->cap_runs * sizeof(*l->runs);
}

static bool
lives_begin(struct lives *l)
{
	if (l->firsts != NULL)
		return true;
	if (!array_room(&l->firsts, 1, &l->cap))
		return false;
	l->firsts[0] = 0;
	return true;
}

bool
lives_put(struct lives *l, uint32_t block)
{
	struct lives_run *last;

	if (!lives_begin(l))
		return false;
	last = l->n_runs > l->firsts[l->n] ? &l->runs[l->n_runs - 1] : NULL;
	if (last != NULL && last->first + last->n == block) {
		last->n++;
		return true;
	}
	if (!array_room(&l->runs, (size_t)l->n_runs + 1, &l->cap_runs))
		return false;
	l->runs[l->n_runs++] = (struct lives_run){block, 1};
	return true;
}

bool
lives_end(struct lives *l)
{
	if (!lives_begin(l) || !array_room(&l->firsts, (size_t)l->n + 2,
	        &l->cap))
		return false;
	l->firsts[++l->n] = l->n_runs;
	return true;
}

uint32_t
lives_newest(const struct lives *l, uint32_t thing, uint32_t from,
    uint32_t until)
{
	for (uint32_t i = l->firsts[thing + 1]; i-- > l->firsts[thing];) {
		const struct lives_run *r = &l->runs[i];
		uint32_t end = r->first + r->n;

		if (r->first >= until)
			continue;
		end = end < until ? end : until;
		return end > from ? end - 1 : UINT32_MAX;
	}
	return UINT32_MAX;
}

const struct err *
lives_of_blocks(struct sealed *f, struct lives *out)
{
	unsigned level = lives_level(f->meta.base, f->meta.top,
	    f->meta.levels, f->meta.first + f->meta.slots);
	uint64_t slots = seg_slots(level);
	const struct err *e = NULL;

	out->level = (uint8_t)level;
	for (uint32_t i = 0; i < f->n_series && e == NULL; i++) {
		const struct block *b = NULL;
		uint64_t at = 0;

		do {
			e = sealed_seek(f, i, level, at, &b);
			if (e == NULL && b != NULL) {
				at = b->start + slots;
				if (!lives_put(out, (uint32_t)(b->start /
				        slots)))
					e = err_nomem();
			}
		} while (e == NULL && b != NULL);
		if (e == NULL && !lives_end(out))
			e = err_nomem();
	}
	return e;
}

/* ---- the stream ---- */

static int
lives_compare(const void *a, const void *b)
{
	const struct lives_run *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* What several have together, of n runs, in place; returns how many it are. */
static uint32_t
lives_join(struct lives_run *runs, uint32_t n)
{
	uint32_t kept = 0;

	if (n > 1)
		qsort(runs, n, sizeof(*runs), lives_compare);
	for (uint32_t i = 0; i < n; i++) {
		struct lives_run *last = kept > 0 ? &runs[kept - 1] : NULL;
		uint32_t end = runs[i].first + runs[i].n;

		if (last == NULL || runs[i].first > last->first + last->n)
			runs[kept++] = runs[i];
		else if (end > last->first + last->n)
			last->n = end - last->first;
	}
	return kept;
}

static void
lives_put_runs(struct buf *out, const struct lives_run *runs, uint32_t n)
{
	uint32_t end = 0;

	buf_put_varint(out, n);
	for (uint32_t i = 0; i < n; i++) {
		buf_put_varint(out, runs[i].first - end);
		buf_put_varint(out, runs[i].n);
		end = runs[i].first + runs[i].n;
	}
}

struct lives_maker {
	const struct series_index *index;
	const uint8_t *lists;
	const struct lives *series;
	struct lives_run *all; /* of the service at hand */
	uint32_t n, cap;
	struct buf profiles; /* the same */
};

/* One list of a service. */
static const struct err *
lives_take_list(struct lives_maker *m, uint32_t service, enum index_list list)
{
	struct index_series x = {.number = UINT32_MAX};
	struct cur c;
	size_t n;
	uint64_t at = series_index_at(m->index, service, service + 1, list,
	    &n);

	c = cur_of(m->lists + (at - m->index->head), n);
	while (series_index_next(m->index, &c, &x)) {
		const uint32_t *first = &m->series->firsts[x.number];
		const struct lives_run *runs = &m->series->runs[first[0]];
		uint32_t of = first[1] - first[0];

		if (list == INDEX_PROFILES)
			lives_put_runs(&m->profiles, runs, of);
		if (!array_room(&m->all, (size_t)m->n + of, &m->cap))
			return err_nomem();
		for (uint32_t i = 0; i < of; i++)
			m->all[m->n++] = runs[i];
	}
	return c.bad ? err_new(ERR_FORMAT, 0,
	    "the index of a file's series is malformed") : NULL;
}

static const struct err *
lives_make_services(struct lives_maker *m, struct buf *out)
{
	const struct err *e = NULL;

	for (uint32_t i = 0; i < m->index->n_services && e == NULL; i++) {
		m->n = 0;
		buf_clear(&m->profiles);
		for (int k = 0; k < INDEX_LISTS && e == NULL; k++)
			e = lives_take_list(m, i, (enum index_list)k);
		m->n = lives_join(m->all, m->n);
		lives_put_runs(out, m->all, m->n);
		buf_put(out, m->profiles.data, m->profiles.len);
		out->failed |= m->profiles.failed;
	}
	return e;
}

const struct err *
lives_make(const struct series_index *x, const uint8_t *lists,
    const struct lives *series, struct buf *out)
{
	struct lives_maker m = {.index = x, .lists = lists, .series = series};
	size_t start = out->len;
	const struct err *e = series->n == x->n ? NULL : err_new(ERR_FORMAT,
	    0, "the index of a file's series is malformed");

	buf_put_u8(out, series->level);
	if (e == NULL)
		e = lives_make_services(&m, out);
	if (e == NULL && !out->failed)
		buf_put_be32(out, crc32c(0, out->data + start,
		    out->len - start));
	free(m.all);
	buf_fini(&m.profiles);
	return e == NULL && out->failed ? err_nomem() : e;
}

/* Runs rise, and do not touch. */
static bool
lives_take_runs(struct lives *l, struct cur *c)
{
	uint64_t n = cur_varint(c), end = 0;

	c->bad |= n > cur_left(c) / 2;
	for (uint64_t i = 0; i < n && !c->bad; i++) {
		uint64_t apart = cur_varint(c), blocks = cur_varint(c);

		c->bad |= apart > UINT32_MAX || blocks > UINT32_MAX ||
		    blocks == 0 || (i > 0 && apart == 0) ||
		    end + apart + blocks > UINT32_MAX;
		if (c->bad)
			break;
		if (!array_room(&l->runs, (size_t)l->n_runs + 1,
		        &l->cap_runs))
			return false;
		l->runs[l->n_runs++] = (struct lives_run){
		    (uint32_t)(end + apart), (uint32_t)blocks};
		end += apart + blocks;
	}
	return lives_end(l);
}

const struct err *
lives_open(struct lives *l, const void *p, size_t n)
{
	struct cur c = cur_of(p, n < 4 ? 0 : n - 4);
	struct cur sum = cur_of((const uint8_t *)p + (n < 4 ? 0 : n - 4), 4);
	bool fine = lives_begin(l);

	c.bad |= n < 4 || cur_be32(&sum) != crc32c(0, p, n - 4);
	l->level = cur_u8(&c);
	c.bad |= l->level > SEG_MAX_LEVEL;
	while (fine && cur_left(&c) > 0)
		fine = lives_take_runs(l, &c);
	if (fine && !c.bad)
		return NULL;
	lives_fini(l);
	return fine ? err_new(ERR_FORMAT, 0,
	    "what tells when services lived is malformed") : err_nomem();
}
