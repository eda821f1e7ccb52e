/*
 * From what one series has to the answer: counts become units, those of a
 * stock parts of a common denominator, and beside them stands of how many
 * samples they are.
 */
#include <stdio.h>

#include "store/base/err.h"
#include "store/model/mean.h"
#include "store/model/types.h"
#include "store/model/unit.h"
#include "store/profile/query_private.h"

static int64_t
query_sample_units(const struct series_desc *d)
{
	int64_t scale;

	unit_canonical(d->unit, &scale);
	return series_sample_units(d->kind, d->unit, d->period) * scale;
}

void
query_name(struct profile *out, const struct series_desc *d)
{
	out->kind = d->kind;
	out->period = query_sample_units(d);
	snprintf(out->unit, sizeof(out->unit), "%s",
	    unit_of_type(d->name, d->unit, NULL));
}

/* An observed series: one unit and kind for the answer, or an error. */
static const struct err *
query_observed(struct query *q, const struct series_desc *d)
{
	struct profile *out = q->out;
	const struct err *e;

	if (out->series++ == 0)
		query_name(out, d);
	if (q->coarse > 0 &&
	    (e = seen_coarse(&q->seen, d, q->coarse)) != NULL)
		return e;
	if (d->kind == out->kind && unit_same(d->unit, out->unit))
		return NULL;
	return err_field(ERR_REQUEST, 422, "query",
	    SERIES_MIXED, out->unit,
	    series_kind_name(out->kind), unit_of_type(d->name, d->unit, NULL),
	    series_kind_name(d->kind));
}

/* So far all samples were of one period, or of none that is known: counts
 * them one by one. */
static const struct err *
query_mix_samples(struct query *q)
{
	const struct err *e = scratch_samples(q->s);
	int64_t period = q->out->period;

	for (size_t i = 0; i < q->sum->n_touched && e == NULL; i++) {
		uint32_t node = q->sum->touched[i];
		int128 v = q->sum->values[node];

		if (period > 0)
			node_values_add(&q->s->scratch.samples, node,
			    samples_of(v, period));
		else
			node_values_add(&q->s->scratch.unknown, node, v);
	}
	q->out->period = 0;
	q->samples = SAMPLES_MIXED;
	return e;
}

/* Counts of a series that are about to be added: are all of one period? */
static const struct err *
query_samples(struct query *q, const struct series_desc *d)
{
	int64_t units = query_sample_units(d);

	if (q->samples == SAMPLES_NONE && q->out->parts != NULL)
		return query_mix_samples(q);
	if (q->samples == SAMPLES_NONE) {
		q->samples = units > 0 ? SAMPLES_PERIOD : SAMPLES_UNKNOWN;
		q->out->period = units;
	}
	return q->samples != SAMPLES_MIXED && units != q->out->period
	    ? query_mix_samples(q) : NULL;
}

/* A node's samples beside its amount of `v` units.  What a later part does not
 * say how many samples it is of is not the first one's. */
static void
query_count(struct query *q, int64_t units, uint32_t node, int128 n, int128 v)
{
	if (n == 0 || q->samples != SAMPLES_MIXED)
		return;
	if (units > 0)
		node_values_add(&q->s->scratch.samples, node, n);
	else if (q->part <= 1)
		node_values_add(&q->s->scratch.unknown, node, v);
}

/* Brings what was added so far to a denominator for this series' too. */
static void
query_denominate(struct query *q)
{
	uint64_t all = mean_denominator(q->denominator, q->observations);
	int128 factor = (int128)(all / q->denominator);

	for (size_t i = 0; i < q->sum->n_touched && factor > 1; i++)
		q->sum->values[q->sum->touched[i]] *= factor;
	q->denominator = all;
}

/* A part of what nobody stores: the answer is of that, and of a known part of
 * all slots. */
static void
query_part(struct query *q, const struct series_desc *d)
{
	struct profile *out = q->out;
	int part = q->made.type != NULL ? made_part(q->made.type, d->name) : 0;
	bool about;

	q->part = part;
	if (part == 0)
		return;
	out->parts = q->made.type->parts;
	if (part == 1)
		out->whole_slots = seen_slots(&q->seen, &about);
}

const struct err *
query_merge(struct query *q, const struct series_desc *d)
{
	const struct err *e = query_observed(q, d);
	bool stock = d->kind == SERIES_STOCK, any = false;
	int64_t scale;

	unit_canonical(d->unit, &scale);
	query_part(q, d);
	for (size_t i = 0; i < q->one->n_touched && !any; i++)
		any = q->one->values[q->one->touched[i]] != 0;
	if (e == NULL && any)
		e = query_samples(q, d);
	if (e == NULL && any && stock)
		query_denominate(q);
	for (size_t i = 0; i < q->one->n_touched && e == NULL; i++) {
		uint32_t node = q->one->touched[i];
		int128 n = q->one->values[node], v = n * d->period * scale;

		if (stock)
			v = mean_part(v, q->observations, q->denominator);
		if (v != 0)
			node_values_add(q->sum, node, v);
		query_count(q, query_sample_units(d), node, n, v);
	}
	node_values_clear(q->one);
	return e;
}
