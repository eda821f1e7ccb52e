/*
 * The exact sum of profiles over a range.
 *
 * Counts of one series are added first and cut where the range cuts a slot,
 * then become units.  The unit, the kind and the period of an answer are
 * those of the series that were observed in the range, whatever else lies in
 * the files that it is read from.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/model/brief.h"
#include "store/profile/profile.h"
#include "store/profile/query_private.h"

/* All slots that are touched. */
static void
query_slots(const struct query *q, uint64_t *from, uint64_t *until)
{
	*from = q->from;
	*until = q->until;
	for (size_t i = 0; i < q->n_cuts; i++) {
		if (q->cuts[i].slot < *from)
			*from = q->cuts[i].slot;
		if (q->cuts[i].slot >= *until)
			*until = q->cuts[i].slot + 1;
	}
}

/* May a series have data in the range?  Exact for journals, by file else. */
static bool
query_present(const struct query *q, uint32_t series)
{
	uint64_t from, until;

	for (size_t i = 0; i < q->plan.n; i++) {
		if (reader_series(q->plan.pieces[i].file, series) !=
		    INTERN_NONE)
			return true;
	}
	query_slots(q, &from, &until);
	return reader_newest_open(q->s, series, from, until) != 0;
}

static const struct err *
query_need_open(struct query *q)
{
	uint64_t from, until;

	query_slots(q, &from, &until);
	return reader_need_open(q->s, q->series, q->n_series, from, until);
}

static void
query_drop_absent(struct query *q)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n_series; i++) {
		if (query_present(q, q->series[i]))
			q->series[n++] = q->series[i];
	}
	q->n_series = n;
}

/* What the range cuts off of a slot is no time of the answer. */
static void
query_count_slots(struct query *q)
{
	int64_t length = q->s->manifest.slot_ns;
	struct profile *out = q->out;

	out->slots = seen_slots(&q->seen, &out->slots_about);
	out->seen_ns = (int64_t)out->slots * length;
	for (size_t i = 0; i < q->n_cuts; i++) {
		const struct cut *c = &q->cuts[i];

		if (seen_has(&q->seen, c->slot))
			out->seen_ns -= length - (c->b - c->a);
	}
	if (out->seen_ns > out->until_ns - out->from_ns)
		out->seen_ns = out->until_ns - out->from_ns;
}

static const struct err *
query_sum(struct query *q)
{
	struct label labels[BATCH_MAX_LABELS];
	const struct err *e = scratch_grow(q->s);
	uint64_t from, until;

	q->sum = &q->s->scratch.sum;
	q->one = &q->s->scratch.one;
	q->slot = &q->s->scratch.slot;
	q->accepts = malloc(q->s->syms.labels.n + 1);
	if (e == NULL && q->accepts == NULL)
		e = err_nomem();
	query_slots(q, &from, &until);
	if (e == NULL)
		e = seen_begin(&q->seen, from, until);
	if (e == NULL)
		e = made_begin(&q->made, q->s, q->q->selector, q->series,
		    q->n_series);
	for (size_t i = 0; i < q->n_series && e == NULL; i++) {
		struct series_desc d;

		symtab_desc(&q->s->syms, q->series[i], &d, labels,
		    BATCH_MAX_LABELS);
		memset(q->accepts, 0, q->s->syms.labels.n + 1);
		if (i == 0) /* should none be observed */
			query_name(q->out, &d);
		e = gone_check();
		if (!made_takes(&q->made, q->series[i]))
			continue;
		if (e == NULL)
			e = query_series(q, &d, q->series[i]);
		if (q->observations > 0)
			made_saw(&q->made, q->series[i]);
		query_filter(q, &d, q->one);
		if (e == NULL)
			e = selector_check(q->q->selector);
		if (e == NULL && q->observations > 0)
			e = query_merge(q, &d);
	}
	q->out->stacks = q->sum->n_touched;
	if (e == NULL)
		query_count_slots(q);
	if (q->out->slots == 0)
		q->out->period = 0; /* no data is no count of samples */
	return e;
}

/* The mean of all is rounded as a whole, so nothing of it can be cut. */
static const struct err *
query_tree(struct query *q)
{
	const struct profile_limit whole = {0, 0};
	bool stock = q->out->kind == SERIES_STOCK;
	const struct err *e;

	if (q->function != NULL) {
		profile_function(q->s, q->sum, q->function, q->has);
		return NULL;
	}
	e = profile_tree(q->s, q->sum, q->q, stock ? &whole : q->limit,
	    stock ? NULL : q->each, q->samples == SAMPLES_MIXED, q->out);
	if (e == NULL && stock)
		profile_finish_means(q->out, q->denominator);
	return e;
}

static const struct err *
query_run(struct query *q)
{
	const struct err *e = query_plan(q);

	if (e == NULL)
		e = reader_match(q->s, q->q->selector, READER_PROFILES,
		    &q->series, &q->n_series);
	if (e == NULL) {
		query_drop_absent(q);
		e = reader_need_names(q->s, &q->plan, q->series, q->n_series);
	}
	if (e == NULL)
		e = query_need_open(q);
	if (e == NULL)
		e = query_sum(q);
	if (e == NULL && q->s->breaks == q->breaks) /* else it is no answer */
		e = query_tree(q);
	seen_fini(&q->seen);
	made_fini(&q->made);
	reader_rest_open(q->s);
	free(q->series);
	free(q->accepts);
	plan_fini(&q->plan);
	node_values_clear(&q->s->scratch.sum);
	node_values_clear(&q->s->scratch.one);
	node_values_clear(&q->s->scratch.slot);
	node_values_clear(&q->s->scratch.samples);
	node_values_clear(&q->s->scratch.unknown);
	return e;
}

/* Which slots of the range were seen in part. */
static const struct err *
query_brief(struct query *q, struct store *s, struct brief *b)
{
	int64_t from_ns = q->q->from_ns < 0 ? 0 : q->q->from_ns;

	q->brief = b;
	return facts_brief(s, b, q->q->selector, reader_slot(s, from_ns),
	    reader_slot(s, q->q->until_ns + s->manifest.slot_ns - 1));
}

static const struct err *
query_try(struct store *s, const struct query *asked, struct profile **out)
{
	const struct err *e = NULL;
	struct brief brief;

	for (int i = 0; i < QUERY_TRIES; i++) {
		struct query q = *asked;

		if ((e = query_brief(&q, s, &brief)) != NULL)
			return e;
		q.breaks = s->breaks;
		*out = q.out = calloc(1, sizeof(*q.out));
		if (q.out == NULL)
			return err_nomem();
		q.out->from_ns = q.q->from_ns < 0 ? 0 : q.q->from_ns;
		q.out->until_ns = q.q->until_ns;
		store_kept_range(s, &q.out->from_ns, &q.out->until_ns);
		if (q.out->until_ns < q.out->from_ns)
			q.out->until_ns = q.out->from_ns;
		e = query_run(&q);
		if (e == NULL && s->breaks == q.breaks)
			return NULL;
		profile_free(q.out);
		*out = NULL;
		if (e == NULL)
			continue; /* without the file that is broken */
		if (e->code != ENOENT || (e = store_refresh(s)) != NULL)
			return e;
	}
	return err_new(ERR_LIMIT, 503, "the store changes too fast to read");
}

const struct err *
store_query_profile(struct store *s, const struct profile_query *query,
    struct profile **out)
{
	return store_query_profile_largest(s, query,
	    &(struct profile_limit){0, 0}, out);
}

const struct err *
store_query_profile_largest(struct store *s,
    const struct profile_query *query, const struct profile_limit *limit,
    struct profile **out)
{
	const struct query q = {.s = s, .q = query, .limit = limit,
	    .denominator = 1};

	return query_try(s, &q, out);
}

const struct err *
store_query_each(struct store *s, const struct profile_query *query,
    const struct profile_each *each, struct profile **out)
{
	const struct profile_limit whole = {0, 0};
	const struct query q = {.s = s, .q = query, .limit = &whole,
	    .each = each, .denominator = 1};

	return query_try(s, &q, out);
}

const struct err *
store_query_function(struct store *s, const struct profile_query *query,
    const char *name, struct function_sum *out)
{
	const struct query q = {.s = s, .q = query, .function = name,
	    .has = out, .denominator = 1};
	struct profile *p = NULL;
	const struct err *e;

	*out = (struct function_sum){0};
	e = query_try(s, &q, &p);
	if (e == NULL && p->kind == SERIES_STOCK)
		e = err_field(ERR_REQUEST, 422, "query",
		    "means are of trees, not of functions");
	if (e == NULL)
		out->slots = p->slots;
	profile_free(p);
	return e;
}

void
profile_free(struct profile *p)
{
	if (p == NULL)
		return;
	free(p->nodes);
	free(p->samples);
	free(p->cut);
	buf_fini(&p->strings);
	free(p);
}
