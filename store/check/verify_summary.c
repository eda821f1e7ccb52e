/*
 * Adds the spans' blocks and takes the summary's away: what is not 0 then is
 * wrong.  One dense array for all stacks, emptied by the same two passes.
 */
#include "store/check/verify_summary.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/model/histogram.h"

bool
verify_same_numbers(enum series_kind kind, const struct block *a,
    const struct block *b)
{
	if (a->count != b->count)
		return false;
	if (series_is_profile(kind))
		return true;
	if (a->sum != b->sum)
		return false;
	if (kind == SERIES_HISTOGRAM || kind == SERIES_GAUGE)
		if (a->min != b->min || a->max != b->max)
			return false;
	return kind == SERIES_HISTOGRAM ||
	    (a->last == b->last && a->last_ns == b->last_ns);
}

const struct err *
verify_summary_open(struct verify_summary *v, const char *path)
{
	const struct err *e;

	*v = (struct verify_summary){0};
	if ((e = symtab_init(&v->syms)) == NULL)
		e = sealed_open(&v->file, path);
	if (e == NULL)
		e = symtab_add(&v->syms, v->file->dict, &v->map);
	if (e != NULL)
		return e;
	v->n_series = v->syms.series.n;
	v->series = malloc((v->n_series + 1) * sizeof(*v->series));
	if (v->series == NULL)
		return err_nomem();
	memset(v->series, 0xff, v->n_series * sizeof(*v->series));
	for (uint32_t i = 0; i < v->file->dict->n_series; i++)
		v->series[v->map.series[i]] = i;
	return NULL;
}

void
verify_summary_close(struct verify_summary *v)
{
	sealed_close(v->file);
	symtab_map_fini(&v->map);
	symtab_fini(&v->syms);
	free(v->series);
	free(v->values);
	*v = (struct verify_summary){0};
}

/* Room for all symbols that are known by now. */
static const struct err *
summary_room(struct verify_summary *v)
{
	size_t need = v->syms.n_nodes > HISTOGRAM_BUCKETS ? v->syms.n_nodes
	                                                  : HISTOGRAM_BUCKETS;
	int128 *values;

	if (need <= v->n_values)
		return NULL;
	values = realloc(v->values, need * sizeof(*values));
	if (values == NULL)
		return err_nomem();
	memset(values + v->n_values, 0, (need - v->n_values) * sizeof(*values));
	v->values = values;
	v->n_values = need;
	return NULL;
}

/* Adds a block's entries, `sign` times; with sign 0 takes them all out, and
 * tells whether all were 0. */
static bool
summary_entries(struct verify_summary *v, enum series_kind kind,
    const struct sealed *f, const struct symtab_map *map,
    const struct block *b, int sign)
{
	uint32_t limit = series_is_profile(kind) ? f->n_stacks
	                                         : HISTOGRAM_BUCKETS;
	struct entry_reader r = {b->entries, 0};
	bool zero = true;
	int128 value;
	uint32_t key;

	while (series_has_entries(kind) && entry_next(&r, &key, &value)) {
		if (key >= limit)
			return false;
		if (series_is_profile(kind))
			key = map->nodes[f->stack_nodes[key]];
		v->values[key] += sign * value;
		if (sign == 0) {
			zero &= v->values[key] == 0;
			v->values[key] = 0;
		}
	}
	return zero && !r.c.bad;
}

/* One series; `number` is the summary's, `other` the span's, or none. */
static const struct err *
summary_series(struct verify_summary *v, struct sealed *span,
    const struct symtab_map *map, uint32_t number, uint32_t other)
{
	const struct block *a = NULL, *b = NULL;
	const struct batch *dict = number != INTERN_NONE ? v->file->dict
	                                                 : span->dict;
	enum series_kind kind = (enum series_kind)
	    dict->series[number != INTERN_NONE ? number : other].kind;
	const struct err *e = NULL;
	bool same;

	if (number != INTERN_NONE)
		e = sealed_block(v->file, number, span->meta.top,
		    span->meta.first, &a);
	if (e == NULL && other != INTERN_NONE)
		e = sealed_block(span, other, span->meta.top,
		    span->meta.first, &b);
	if (e != NULL || (a == NULL && b == NULL))
		return e;
	same = a != NULL && b != NULL && verify_same_numbers(kind, a, b) &&
	    summary_entries(v, kind, v->file, &v->map, a, 1) &&
	    summary_entries(v, kind, span, map, b, -1);
	if (a != NULL)
		same &= summary_entries(v, kind, v->file, &v->map, a, 0);
	if (b != NULL)
		same &= summary_entries(v, kind, span, map, b, 0);
	return same ? NULL
	            : err_new(ERR_FORMAT, 0,
	                  "series %u, slot %llu: the summary is not the span",
	                  number != INTERN_NONE ? number : other,
	                  (unsigned long long)span->meta.first);
}

const struct err *
verify_summary_span(struct verify_summary *v, struct sealed *span)
{
	struct symtab_map map = {0};
	const struct err *e = symtab_add(&v->syms, span->dict, &map);
	uint8_t *seen = calloc(v->n_series + 1, 1);

	if (e == NULL && seen == NULL)
		e = err_nomem();
	if (e == NULL)
		e = summary_room(v);
	for (uint32_t i = 0; i < span->dict->n_series && e == NULL; i++) {
		uint32_t symbol = map.series[i], number = INTERN_NONE;

		if (symbol < v->n_series) {
			number = v->series[symbol];
			seen[symbol] = 1;
		}
		e = summary_series(v, span, &map, number, i);
	}
	for (uint32_t i = 0; i < v->n_series && e == NULL; i++) {
		if (!seen[i] && v->series[i] != INTERN_NONE)
			e = summary_series(v, span, &map, v->series[i],
			    INTERN_NONE);
	}
	free(seen);
	symtab_map_fini(&map);
	return e;
}
