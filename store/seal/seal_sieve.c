/*
 * Which series and stacks a selector matches is found once for a file, into two
 * arrays of flags; a block is then judged without looking at names.
 */
#include "store/seal/seal_sieve.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/model/type.h"
#include "store/model/unwatched.h"
#include "store/seal/seal.h"

/* ---- what the selector matches ---- */

static uint32_t
sieve_label_set(const struct batch *d, uint32_t node)
{
	while (node != 0 && d->nodes[node].parent != 0)
		node = d->nodes[node].parent;
	return node == 0 ? 0 : d->nodes[node].edge;
}

/* Matchers on stack labels are the same for every profile, so any profile
 * that the selector matches tells. */
static const struct err *
sieve_match_stacks(struct seal_sieve *v, const struct series_desc *d)
{
	const struct batch *dict = v->file->dict;
	uint8_t *sets = malloc(dict->n_labels + 1);
	struct label labels[BATCH_MAX_LABELS];

	if (sets == NULL)
		return err_nomem();
	for (size_t i = 0; i < dict->n_labels; i++) {
		const struct batch_labels *set = &dict->labels[i];

		for (uint32_t k = 0; k < set->n; k++) {
			uint32_t at = 2 * (set->first + k);

			labels[k].name = batch_str(dict, dict->pairs[at]);
			labels[k].value = batch_str(dict, dict->pairs[at + 1]);
		}
		sets[i] = selector_match_stack(v->drop->selector, d, labels,
		    set->n);
		v->whole &= sets[i];
	}
	for (uint32_t i = 0; i < v->file->n_stacks; i++)
		v->stacks[i] =
		    sets[sieve_label_set(dict, v->file->stack_nodes[i])];
	free(sets);
	return NULL;
}

static void
sieve_match_service(struct seal_sieve *v)
{
	const struct seal_drop *drop = v->drop;
	struct label labels[BATCH_MAX_LABELS];
	struct series_desc d;

	for (uint32_t i = 0; i < v->file->dict->n_series; i++) {
		batch_series_desc(v->file->dict, i, &d, labels,
		    BATCH_MAX_LABELS);
		v->series[i] = drop->loud != NULL
		    ? loud_is(drop->loud, &d) != drop->others
		    : unwatched_is(drop->unwatched, &d);
	}
}

static const struct err *
sieve_match(struct seal_sieve *v)
{
	const struct batch *dict = v->file->dict;
	struct label labels[BATCH_MAX_LABELS];
	char buf[TYPE_NAME_MAX];
	const struct err *e = NULL;
	bool told = false;
	struct series_desc d;

	v->whole = true;
	if (v->drop->unwatched != NULL || v->drop->loud != NULL) {
		sieve_match_service(v);
		return NULL;
	}
	if (v->drop->selector == NULL) {
		memset(v->series, 1, dict->n_series);
		memset(v->stacks, 1, v->file->n_stacks);
		return NULL;
	}
	for (uint32_t i = 0; i < dict->n_series && e == NULL; i++) {
		batch_series_desc(dict, i, &d, labels, BATCH_MAX_LABELS);
		if (series_is_profile(d.kind))
			d.name = type_name(d.kind, d.name, d.unit, buf);
		v->series[i] = selector_match_series(v->drop->selector, &d);
		if (v->series[i] && series_is_profile(d.kind) && !told) {
			e = sieve_match_stacks(v, &d);
			told = true;
		}
	}
	return e != NULL ? e : selector_check(v->drop->selector);
}

/* ---- what is left ---- */

static bool
sieve_touches(const struct seal_sieve *v, const struct block *b)
{
	return b->start < v->drop->until &&
	    v->drop->from < b->start + v->size;
}

bool
seal_sieve_drops(const struct seal_sieve *v, uint32_t series,
    const struct block *b)
{
	enum series_kind kind;

	if (v->drop == NULL || !v->series[series] || !sieve_touches(v, b))
		return false;
	kind = (enum series_kind)v->file->dict->series[series].kind;
	return v->whole || !series_is_profile(kind);
}

bool
seal_sieve_drops_stack(const struct seal_sieve *v, uint32_t series,
    const struct block *b, uint32_t stack)
{
	return v->drop != NULL && !v->whole && v->series[series] &&
	    v->stacks[stack] && sieve_touches(v, b);
}

static const struct err *
sieve_mark_series(struct seal_sieve *v, struct sealed *f, uint32_t series,
    unsigned base)
{
	bool profile = series_is_profile(
	    (enum series_kind)f->dict->series[series].kind);
	const struct block *b;
	const struct err *e = sealed_seek(f, series, base, 0, &b);
	uint32_t key;
	int128 value;

	while (e == NULL && b != NULL) {
		uint64_t start = b->start;
		struct entry_reader r = {b->entries, 0};

		if (!seal_sieve_drops(v, series, b)) {
			v->keep_series[series] = 1;
			while (profile && entry_next(&r, &key, &value)) {
				if (key >= f->n_stacks)
					return err_new(ERR_FORMAT, 0,
					    "a block is malformed");
				if (!seal_sieve_drops_stack(v, series, b, key))
					v->keep_stacks[key] = 1;
			}
		}
		e = sealed_seek(f, series, base, start + 1, &b);
	}
	return e;
}

static const struct err *
sieve_begin(struct seal_sieve *v, struct sealed *f,
    const struct seal_drop *drop, unsigned base)
{
	*v = (struct seal_sieve){.file = f, .drop = drop,
	    .size = seg_slots(base)};
	v->series = calloc(f->dict->n_series + 1, 1);
	v->stacks = calloc(f->n_stacks + 1, 1);
	v->keep_series = calloc(f->dict->n_series + 1, 1);
	v->keep_stacks = calloc(f->n_stacks + 1, 1);
	if (v->series == NULL || v->stacks == NULL ||
	    v->keep_series == NULL || v->keep_stacks == NULL)
		return err_nomem();
	return sieve_match(v);
}

const struct err *
seal_sieve_init(struct seal_sieve *v, struct sealed *f,
    const struct seal_drop *drop, unsigned base)
{
	const struct err *e;

	*v = (struct seal_sieve){.file = f};
	if (drop == NULL)
		return NULL;
	e = sieve_begin(v, f, drop, base);
	for (uint32_t i = 0; i < f->dict->n_series && e == NULL; i++)
		e = sieve_mark_series(v, f, i, base);
	return e;
}

const struct err *
seal_sieve_first(struct sealed *f, const struct seal_drop *drop,
    uint64_t *first)
{
	unsigned base = f->meta.base;
	uint64_t from = seg_align(drop->from, base);
	struct seal_sieve v;
	const struct block *b;
	const struct err *e = sieve_begin(&v, f, drop, base);

	*first = UINT64_MAX;
	for (uint32_t i = 0; i < f->dict->n_series && e == NULL; i++) {
		if (!v.series[i])
			continue;
		e = sealed_seek(f, i, base, from, &b);
		if (e == NULL && b != NULL && b->start < drop->until &&
		    b->start < *first)
			*first = b->start;
	}
	seal_sieve_fini(&v);
	return e;
}

void
seal_sieve_fini(struct seal_sieve *v)
{
	free(v->series);
	free(v->stacks);
	free(v->keep_series);
	free(v->keep_stacks);
	*v = (struct seal_sieve){0};
}

bool
seal_sieve_series(const struct seal_sieve *v, uint32_t series)
{
	return v->drop == NULL || v->keep_series[series];
}

bool
seal_sieve_stack(const struct seal_sieve *v, uint32_t stack)
{
	return v->drop == NULL || v->keep_stacks[stack];
}

/* Facts about a service go with the service. */
bool
seal_sieve_fact(const struct seal_sieve *v, const struct batch_fact *f)
{
	const char *service;
	uint64_t slot;

	if (v->drop == NULL || v->drop->unwatched != NULL ||
	    v->drop->loud != NULL)
		return true;
	if (v->drop->selector == NULL)
		service = batch_str(v->file->dict, f->subject);
	else
		service = selector_equals(v->drop->selector, "service");
	slot = f->time_ns < 0
	    ? 0
	    : (uint64_t)(f->time_ns / v->drop->slot_ns);
	return service == NULL || slot < v->drop->from ||
	    slot >= v->drop->until ||
	    strcmp(batch_str(v->file->dict, f->subject), service) != 0;
}
