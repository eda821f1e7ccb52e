/*
 * Reads block by block behind damage; Berkeley DB's handle is opened anew after
 * each damaged page, and after SALVAGE_BREAKS of them the rest is lost.
 */
#include "store/seal/salvage.h"

#include <errno.h>
#include <stdlib.h>

#include "store/base/err.h"
#include "store/file/dbfile.h"
#include "store/model/histogram.h"

/* Of one file: then the rest is lost.  A page has hundreds of small series,
 * each of which is looked for twice. */
#define SALVAGE_BREAKS 4096

bool
salvage_is_damage(const struct err *e)
{
	static const int others[] = {ENOSPC, EDQUOT, ENOMEM, EMFILE, ENFILE,
	    EACCES, EROFS};

	if (e->domain != ERR_DB && e->domain != ERR_FORMAT)
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (e->domain == ERR_DB && e->code == others[i])
			return false;
	}
	return true;
}

const struct err *
salvage_init(struct salvage *v, const struct sealed *f)
{
	*v = (struct salvage){.first = f->meta.first,
	    .each = seg_slots(f->meta.base)};
	v->n = (size_t)(f->meta.slots / v->each);
	v->lost = calloc(v->n + 1, 1);
	return v->lost != NULL ? NULL : err_nomem();
}

void
salvage_fini(struct salvage *v)
{
	free(v->lost);
	*v = (struct salvage){0};
}

static void
salvage_lose(struct salvage *v, uint64_t from, uint64_t until)
{
	size_t i = from < v->first ? 0 : (size_t)((from - v->first) / v->each);

	for (; i < v->n && v->first + i * v->each < until; i++)
		v->lost[i] = 1;
}

bool
salvage_next_lost(const struct salvage *v, uint64_t *from, uint64_t *until)
{
	size_t i = *until < v->first
	    ? 0
	    : (size_t)((*until - v->first) / v->each);
	size_t end;

	while (i < v->n && !v->lost[i])
		i++;
	for (end = i; end < v->n && v->lost[end];)
		end++;
	*from = v->first + i * v->each;
	*until = v->first + end * v->each;
	return i < v->n;
}

/* Pages may be whole and what they say be wrong: a block of stacks that the
 * file does not have. */
static bool
salvage_sound(const struct sealed *f, uint32_t series, const struct block *b)
{
	enum series_kind kind =
	    (enum series_kind)f->dict->series[series].kind;
	uint32_t key, limit = series_is_profile(kind) ? f->n_stacks
	                                              : HISTOGRAM_BUCKETS;
	struct entry_reader r = {b->entries, 0};
	int128 value;

	while (series_has_entries(kind) && entry_next(&r, &key, &value))
		r.c.bad |= key >= limit;
	return !r.c.bad;
}

/* A handle that has met a damaged page reads no other any more. */
static const struct err *
salvage_try(struct salvage *v, struct sealed *f, uint32_t series,
    uint64_t slot, const struct block **block, bool *fine)
{
	const struct err *e = sealed_seek(f, series, f->meta.base, slot,
	    block);

	*fine = e == NULL;
	if (e == NULL || !salvage_is_damage(e))
		return e;
	v->breaks++;
	return sealed_reopen(f);
}

/* The first slot behind one that cannot be read from which on blocks can.
 * Keys are in the order of time: it is one stretch that a page has taken. */
static const struct err *
salvage_behind(struct salvage *v, struct sealed *f, uint32_t series,
    uint64_t slot, uint64_t *behind)
{
	uint64_t low = slot / v->each, high = f->meta.until / v->each + 1;
	const struct block *b;
	bool fine;
	const struct err *e = salvage_try(v, f, series, high * v->each, &b,
	    &fine);

	*behind = f->meta.until;
	if (e != NULL || !fine)
		return e;
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		e = salvage_try(v, f, series, middle * v->each, &b, &fine);
		if (e != NULL)
			return e;
		if (fine)
			high = middle;
		else
			low = middle;
	}
	*behind = high * v->each;
	return NULL;
}

const struct err *
salvage_seek(struct salvage *v, struct sealed *f, uint32_t series,
    uint64_t slot, const struct block **block)
{
	const struct err *e = NULL;
	uint64_t next = slot;
	bool fine = false;

	for (; e == NULL && slot < f->meta.until; slot = next) {
		next = f->meta.until;
		*block = NULL;
		if (v->breaks < SALVAGE_BREAKS)
			e = salvage_try(v, f, series, slot, block, &fine);
		if (e != NULL || (fine && *block == NULL))
			return e;
		if (fine && salvage_sound(f, series, *block))
			return NULL;
		if (fine) {
			slot = (*block)->start;
			next = slot + 1;
		} else if (v->breaks < SALVAGE_BREAKS) {
			e = salvage_behind(v, f, series, slot, &next);
		}
		salvage_lose(v, slot, next);
		fine = false;
	}
	*block = NULL;
	return e;
}
