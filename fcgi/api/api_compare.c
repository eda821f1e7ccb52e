/*
 * GET /api/v1/compare.json: every metric in range A and in range B, what
 * moved most first, the better and the worse.
 *
 * A counter is its rate over the seconds that have data, and, where the
 * client says what counts requests, its increase for each of them; a gauge
 * is its mean, a quantile of a summary its largest.  No data on a side is
 * null, and never 0.
 *
 * With a selector of its own B may be another service or instance: labels that
 * both selectors demand, with different values, are not what series are
 * matched by.  A side has one value of each, so that no two of its series fall
 * together.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/api/better.h"
#include "fcgi/api/pages.h"
#include "fcgi/format/writer.h"
#include "fcgi/query/measure.h"
#include "fcgi/query/series_point.h"
#include "fcgi/server/context.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define SERIES_MAX 50000
#define LIMIT_DEFAULT 500
#define LIMIT_MAX SERIES_MAX

/* What one side may be and the other not; a group of processes is named as
 * its service. */
static const char *const compare_varies[] = {"service", "instance", "host",
    "device"};
#define VARIES (sizeof(compare_varies) / sizeof(compare_varies[0]))

struct compare_side {
	struct selector *selector;
	const char *fixed[VARIES]; /* the side's value; NULL: it matters */
	const char *requests_of; /* what counts them; NULL: nothing */
	struct metric_series *series;
	size_t n;
	int64_t from_ns, until_ns;
	double requests; /* NaN: none are known */
	bool widened;    /* to what retention has left */
};

struct compare_row {
	const struct metric_series *m[2]; /* of A, of B; one may be NULL */
	double v[2];                      /* NaN: no data */
	double change; /* how far apart, of the larger: 0 to 2 */
	enum better better;
};

struct compare {
	struct compare_side side[2];
	struct compare_row *rows;
	size_t n_rows;
	struct store *store;
	int64_t slot_ns;
	size_t show; /* of compare_shows */
	int64_t limit;
};

enum { SHOW_MOVED, SHOW_ALL };
static const char *const compare_shows[] = {"moved", "all", NULL};

/* Labels that both demand, each its own. */
static void
compare_fix(struct compare_side side[2])
{
	for (size_t i = 0; i < VARIES; i++) {
		const char *a = selector_equals(side[0].selector,
		    compare_varies[i]);
		const char *b = selector_equals(side[1].selector,
		    compare_varies[i]);

		if (a == NULL || b == NULL || strcmp(a, b) == 0)
			continue;
		side[0].fixed[i] = a;
		side[1].fixed[i] = b;
	}
}

/* Is a series matched by this label?  Not by what its side is alone. */
static bool
compare_matters(const struct compare_side *side, const struct label *l)
{
	for (size_t i = 0; i < VARIES; i++)
		if (side->fixed[i] != NULL &&
		    strcmp(l->value, side->fixed[i]) == 0 &&
		    (strcmp(l->name, compare_varies[i]) == 0 ||
		    (i == 0 && strcmp(l->name, "groupname") == 0)))
			return false;
	return true;
}

/* Takes the others from a series of ours. */
static void
compare_drop(const struct compare_side *side, struct metric_series *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->desc.n_labels; i++)
		if (compare_matters(side, &m->labels[i]))
			m->labels[n++] = m->labels[i];
	m->desc.n_labels = n;
}

static const struct err *
compare_side_load(struct compare_side *side, struct store *s)
{
	struct metric_query q = {.selector = side->selector,
	    .from_ns = side->from_ns, .until_ns = side->until_ns,
	    .max_series = SERIES_MAX};
	const struct err *e = measure_span(s, &q, &side->widened,
	    &side->series, &side->n);

	side->from_ns = q.from_ns;
	side->until_ns = q.until_ns;
	for (size_t i = 0; i < side->n; i++)
		compare_drop(side, &side->series[i]);
	return e;
}

/* By name, then labels. */
static int
compare_order(const struct series_desc *x, const struct series_desc *y)
{
	int by = strcmp(x->name, y->name);

	for (size_t i = 0; by == 0 && i < x->n_labels && i < y->n_labels;
	     i++) {
		by = strcmp(x->labels[i].name, y->labels[i].name);
		if (by == 0)
			by = strcmp(x->labels[i].value, y->labels[i].value);
	}
	if (by == 0)
		by = (x->n_labels > y->n_labels) - (x->n_labels < y->n_labels);
	if (by == 0)
		by = (int)x->kind - (int)y->kind;
	return by != 0 ? by : (int)x->scale - (int)y->scale;
}

static int
compare_series(const void *a, const void *b)
{
	const struct metric_series *x = a, *y = b;

	return compare_order(&x->desc, &y->desc);
}

/* A rate, a mean, of quantiles the largest; NaN without data. */
static double
compare_value(const struct metric_series *m, int64_t slot_ns)
{
	const struct metric_point *p = m != NULL ? series_point_only(m) : NULL;
	enum series_fn fn;
	double scale;
	int128 num;
	uint128 den;

	if (p == NULL)
		return NAN;
	fn = series_point_default(&m->desc);
	series_point_term(fn, p, &num, &den);
	scale = (double)scale_factor(m->desc.scale);
	if (fn == FN_RATE)
		return (double)num / scale /
		    ((double)den * (double)slot_ns / NS_PER_S);
	return (double)num / (double)den / scale;
}

static void
compare_row(struct compare *c, const struct metric_series *a,
    const struct metric_series *b)
{
	struct compare_row *r = &c->rows[c->n_rows];
	double larger;

	*r = (struct compare_row){.m = {a, b},
	    .better = better_of(a != NULL ? &a->desc : &b->desc)};
	for (int i = 0; i < 2; i++)
		r->v[i] = compare_value(r->m[i], c->slot_ns);
	if (isnan(r->v[0]) && isnan(r->v[1]))
		return;
	if (isnan(r->v[0]) || isnan(r->v[1])) {
		r->change = 0;
	} else {
		larger = fmax(fabs(r->v[0]), fabs(r->v[1]));
		r->change = larger > 0 ? fabs(r->v[1] - r->v[0]) / larger : 0;
	}
	c->n_rows++;
}

static const struct err *
compare_join(struct compare *c)
{
	struct compare_side *a = &c->side[0], *b = &c->side[1];
	size_t i = 0, k = 0;

	c->rows = malloc((a->n + b->n + 1) * sizeof(*c->rows));
	if (c->rows == NULL)
		return err_nomem();
	if (a->n > 0)
		qsort(a->series, a->n, sizeof(*a->series), compare_series);
	if (b->n > 0)
		qsort(b->series, b->n, sizeof(*b->series), compare_series);
	while (i < a->n || k < b->n) {
		int by = i == a->n ? 1 : k == b->n ? -1
		    : compare_order(&a->series[i].desc, &b->series[k].desc);

		compare_row(c, by <= 0 ? &a->series[i] : NULL,
		    by >= 0 ? &b->series[k] : NULL);
		i += by <= 0;
		k += by >= 0;
	}
	return NULL;
}

static const struct series_desc *
compare_desc(const struct compare_row *r)
{
	return r->m[0] != NULL ? &r->m[0]->desc : &r->m[1]->desc;
}

/* What came or went is told after what moved. */
static int
compare_rank(const void *a, const void *b)
{
	const struct compare_row *x = a, *y = b;

	if (x->change != y->change)
		return x->change > y->change ? -1 : 1;
	return compare_order(compare_desc(x), compare_desc(y));
}

/* ---- the answer ---- */

static void
compare_put_real(struct writer *w, double v)
{
	char text[40];

	if (!isfinite(v)) {
		writer_null(w);
		return;
	}
	writer_raw(w, text, (size_t)snprintf(text, sizeof(text), "%.9g", v));
}

static void
compare_put_two(struct writer *w, const char *key, double a, double b)
{
	writer_key_open(w, key, '[');
	compare_put_real(w, a);
	compare_put_real(w, b);
	writer_close(w, ']');
}

/* A rate of seconds in a second is a ratio. */
static void
compare_put_unit(struct writer *w, const struct series_desc *d)
{
	bool rate = d->kind == SERIES_COUNTER;
	char unit[80];

	if (rate && strcmp(d->unit, "seconds") == 0)
		snprintf(unit, sizeof(unit), "ratio");
	else
		snprintf(unit, sizeof(unit), "%s%s", d->unit,
		    rate ? "/s" : "");
	writer_key_str(w, "unit", unit);
	writer_key_str(w, "fn",
	    rate ? "rate" : measure_is_quantile(d) ? "max" : "mean");
}

static const char *
compare_verdict(const struct compare_row *r)
{
	if (isnan(r->v[0]))
		return "only in B";
	if (isnan(r->v[1]))
		return "only in A";
	if (r->v[0] == r->v[1])
		return "same";
	if (r->better == BETTER_UNKNOWN)
		return "moved";
	return (r->v[1] > r->v[0]) == (r->better == BETTER_UP)
	    ? "better" : "worse";
}

static double
compare_per_request(const struct compare *c, const struct compare_row *r,
    int side)
{
	const struct metric_series *m = r->m[side];

	if (m == NULL || series_point_only(m) == NULL ||
	    c->side[side].requests <= 0)
		return NAN;
	return (double)m->points->increase /
	    (double)scale_factor(m->desc.scale) / c->side[side].requests;
}

static void
compare_put_row(struct writer *w, const struct compare *c,
    const struct compare_row *r)
{
	const struct series_desc *d = compare_desc(r);

	writer_open(w, '{');
	writer_key_str(w, "name", d->name);
	measure_put_labels(w, d);
	compare_put_unit(w, d);
	compare_put_two(w, "value", r->v[0], r->v[1]);
	writer_key(w, "difference");
	compare_put_real(w, r->v[1] - r->v[0]);
	writer_key(w, "ratio");
	compare_put_real(w, r->v[0] != 0 ? r->v[1] / r->v[0] : NAN);
	if (d->kind == SERIES_COUNTER &&
	    (c->side[0].requests > 0 || c->side[1].requests > 0))
		compare_put_two(w, "per_request",
		    compare_per_request(c, r, 0),
		    compare_per_request(c, r, 1));
	writer_key(w, "better");
	if (r->better != BETTER_UNKNOWN)
		writer_str(w, better_name(r->better));
	else
		writer_null(w);
	writer_key_str(w, "verdict", compare_verdict(r));
	writer_close(w, '}');
}

/* What the side is alone: left out of the labels of rows. */
static void
compare_put_fixed(struct writer *w, const struct compare_side *side)
{
	writer_key_open(w, "labels", '{');
	for (size_t i = 0; i < VARIES; i++)
		if (side->fixed[i] != NULL)
			writer_key_str(w, compare_varies[i], side->fixed[i]);
	writer_close(w, '}');
}

static void
compare_put_sides(struct writer *w, const struct compare *c)
{
	static const char *const names[] = {"a", "b"};

	for (int i = 0; i < 2; i++) {
		writer_key_open(w, names[i], '{');
		writer_key_seconds(w, "from", c->side[i].from_ns);
		writer_key_seconds(w, "until", c->side[i].until_ns);
		writer_key_str(w, "why",
		    c->side[i].widened ? MEASURE_KEPT : "");
		writer_key_int(w, "series", (int64_t)c->side[i].n);
		compare_put_fixed(w, &c->side[i]);
		writer_key(w, "requests");
		compare_put_real(w, c->side[i].requests);
		writer_close(w, '}');
	}
}

static void
compare_put_counts(struct writer *w, const struct compare *c)
{
	static const char *const verdicts[] = {"better", "worse", "moved",
	    "same", "only in A", "only in B"};

	writer_key_open(w, "counts", '{');
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		int64_t n = 0;

		for (size_t k = 0; k < c->n_rows; k++)
			n += strcmp(compare_verdict(&c->rows[k]),
			    verdicts[i]) == 0;
		writer_key_int(w, verdicts[i], n);
	}
	writer_close(w, '}');
}

static void
compare_put(struct writer *w, const struct compare *c)
{
	int64_t left = c->limit;

	writer_open(w, '{');
	compare_put_sides(w, c);
	partial_put_state(w, c->store, 0, INT64_MAX);
	compare_put_counts(w, c);
	writer_key_open(w, "rows", '[');
	for (size_t i = 0; i < c->n_rows && left > 0; i++) {
		const struct compare_row *r = &c->rows[i];

		if (c->show == SHOW_MOVED && r->v[0] == r->v[1])
			continue;
		compare_put_row(w, c, r);
		left--;
	}
	writer_close(w, ']');
	writer_close(w, '}');
}

static const struct err *
compare_parse(struct compare *c, const struct request *rq)
{
	struct compare_side *a = &c->side[0], *b = &c->side[1];
	const struct err *e;

	if ((e = request_range(rq, &a->from_ns, &a->until_ns)) != NULL)
		return e;
	b->from_ns = a->from_ns;
	b->until_ns = a->until_ns;
	if ((e = request_range_of(rq, "from-b", "until-b", &b->from_ns,
	    &b->until_ns)) != NULL ||
	    (e = request_choice(rq, "show", compare_shows, SHOW_MOVED,
	    &c->show)) != NULL)
		return e;
	return request_int(rq, "limit", 0, LIMIT_MAX, LIMIT_DEFAULT,
	    &c->limit);
}

static bool
compare_unchanged(const struct compare *c, const struct request *rq,
    const struct store *s, struct response *rs)
{
	uint64_t tag = 0;

	for (int i = 0; i < 2; i++) {
		const struct compare_side *side = &c->side[i];
		bool closed = false;

		tag = hash64_u64(tag, store_tag(s, side->from_ns,
		    side->until_ns, &closed));
		tag = hash64_u64(tag, (uint64_t)side->from_ns);
		tag = hash64_u64(tag, (uint64_t)side->until_ns);
		if (!closed || side->until_ns >= rq->now_ns)
			return false;
	}
	return response_unchanged_tag(rs, rq, tag);
}

/* What each side is asked for: B as A where nothing else is said. */
static const struct err *
compare_ask(struct compare *c, const struct request *rq)
{
	static const char *const queries[] = {"query", "query-b"};
	static const char *const requests[] = {"requests", "requests-b"};
	const char *text = "{__name__=~\".+\"}", *counted = NULL, *own;
	const struct err *e = NULL;

	for (int i = 0; i < 2 && e == NULL; i++) {
		if ((own = request_text(rq, queries[i])) != NULL)
			text = own;
		if ((own = request_text(rq, requests[i])) != NULL)
			counted = own;
		c->side[i].requests_of = counted;
		e = selector_parse(text, &c->side[i].selector);
		if (e != NULL && i == 1)
			e = err_field(e->domain, e->code, queries[i], "%s",
			    e->text);
	}
	if (e == NULL)
		compare_fix(c->side);
	return e;
}

static const struct err *
compare_load(struct compare *c, struct store *s)
{
	const struct err *e = NULL;

	for (int i = 0; i < 2 && e == NULL; i++) {
		struct compare_side *side = &c->side[i];

		side->requests = NAN; /* nobody has asked */
		e = compare_side_load(side, s);
		if (e == NULL && side->requests_of != NULL)
			e = measure_requests(s, side->requests_of,
			    side->from_ns, side->until_ns, &side->requests);
	}
	return e;
}

static const struct err *
compare_answer(struct compare *c, const struct request *rq, struct store *s,
    struct writer *w)
{
	struct store_extent extent;
	const struct err *e;

	store_extent(s, &extent);
	c->store = s;
	c->slot_ns = extent.slot_ns;
	if ((e = compare_ask(c, rq)) != NULL ||
	    (e = compare_load(c, s)) != NULL || (e = compare_join(c)) != NULL)
		return e;
	qsort(c->rows, c->n_rows, sizeof(*c->rows), compare_rank);
	compare_put(w, c);
	return NULL;
}

const struct err *
api_compare(struct context *ctx, struct request *rq, struct response *rs)
{
	struct writer w = writer_of(&rs->body);
	struct compare c = {0};
	struct store *s;
	const struct err *e;

	if ((e = compare_parse(&c, rq)) != NULL ||
	    (e = context_store(ctx, &s)) != NULL)
		return e;
	if (!compare_unchanged(&c, rq, s, rs))
		e = compare_answer(&c, rq, s, &w);
	free(c.rows);
	for (int i = 0; i < 2; i++) {
		metric_series_free(c.side[i].series, c.side[i].n);
		selector_free(c.side[i].selector);
	}
	return e;
}
