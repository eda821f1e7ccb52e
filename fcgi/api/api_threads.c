/*
 * GET /api/v1/threads: where the threads of pools spend their time, from
 * thread_seconds_total: a pool is what differs in nothing but the state.
 *
 * A point is how many threads were in a state, on average over the slots of
 * its step in which anything of the pool was recorded, as far as threads were
 * watched: thread-seconds a second.  The states of a pool add up to its
 * threads.
 *
 * Threads that began and ended are counted by service, each with the slot in
 * which it did; so pools that differ in more have no data of it.
 *
 * By labels that the metric does not have: threads_by.h.
 */
#include <string.h>

#include "fcgi/api/pages.h"
#include "fcgi/api/threads_by.h"
#include "fcgi/format/writer.h"
#include "fcgi/query/measure.h"
#include "fcgi/query/series_point.h"
#include "fcgi/query/series_sum.h"
#include "fcgi/query/step.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/request.h"
#include "store/base/err.h"

#define THREADS_COUNT "namedprocess_namegroup_num_threads"
#define THREADS_BIRTHS "thread_births_total"
#define THREADS_DEATHS "thread_deaths_total"

/* Metrics of the same services. */
struct threads_series {
	struct metric_series *series;
	size_t n;
};

/* In how many slots of step i anything of the pool is known. */
static uint64_t
threads_slots(const struct series_sum *pool, size_t i)
{
	uint64_t most = 0;

	for (size_t k = 0; k < pool->n; k++)
		if (pool->members[k]->points[i].slots > most)
			most = pool->members[k]->points[i].slots;
	return most;
}

static void
threads_put_labels(struct writer *w, const struct series_sum *pool)
{
	struct series_desc d = pool->members[0]->desc;

	d.labels = pool->labels;
	d.n_labels = pool->n_labels;
	measure_put_labels(w, &d);
}

/* 0 is of a pool that had other states, null of one that had none. */
static void
threads_put_state(struct writer *w, const struct step_page *q,
    const struct threads_watched *watched, const struct series_sum *pool,
    const struct metric_series *m)
{
	int128 sum = 0;

	writer_open(w, '{');
	writer_key_str(w, "state", measure_label(m, "state"));
	for (size_t i = 0; i < m->n_points; i++)
		sum += m->points[i].increase;
	writer_key(w, "seconds");
	writer_decimal(w, sum, m->desc.scale);
	writer_key_open(w, "points", '[');
	for (size_t i = 0; i < m->n_points; i++) {
		uint64_t slots = threads_slots(pool, i);

		writer_open(w, '[');
		writer_seconds(w, q->from_ns + (int64_t)i * q->step_ns);
		if (slots > 0)
			writer_quotient(w, m->points[i].increase,
			    threads_watched_ns(watched, q, i, slots),
			    m->desc.scale - 9);
		else
			writer_null(w);
		writer_close(w, ']');
	}
	writer_close(w, ']');
	writer_close(w, '}');
}

/* How many in the range; null where nobody has recorded it. */
static void
threads_put_changes(struct writer *w, const char *key,
    const struct threads_series *of, const struct series_sum *pool)
{
	int128 sum = 0;
	bool known = false;

	for (size_t i = 0; i < of->n; i++) {
		const struct metric_series *m = &of->series[i];

		if (!series_sum_has_labels(pool, &m->desc))
			continue;
		for (size_t k = 0; k < m->n_points; k++) {
			known = known || m->points[k].count > 0;
			sum += m->points[k].increase;
		}
	}
	writer_key(w, key);
	if (known)
		writer_int128(w, sum);
	else
		writer_null(w);
}

static void
threads_put_pool(struct writer *w, const struct step_page *q,
    const struct threads_watched *watched, const struct series_sum *pool,
    const struct threads_series changes[2])
{
	writer_open(w, '{');
	threads_put_labels(w, pool);
	writer_key_open(w, "states", '[');
	for (size_t k = 0; k < pool->n; k++)
		threads_put_state(w, q, watched, pool, pool->members[k]);
	writer_close(w, ']');
	threads_put_changes(w, "births", &changes[0], pool);
	threads_put_changes(w, "deaths", &changes[1], pool);
	writer_close(w, '}');
}

/* Threads as /proc counts them, the mean of a step. */
static void
threads_put_count(struct writer *w, const struct step_page *q,
    const struct metric_series *m)
{
	writer_open(w, '{');
	measure_put_labels(w, &m->desc);
	writer_key_open(w, "points", '[');
	for (size_t i = 0; i < m->n_points; i++) {
		const struct metric_point *p = &m->points[i];

		writer_open(w, '[');
		writer_seconds(w, q->from_ns + (int64_t)i * q->step_ns);
		if (p->count > 0)
			writer_quotient(w, p->sum, p->count, m->desc.scale);
		else
			writer_null(w);
		writer_close(w, ']');
	}
	writer_close(w, ']');
	writer_close(w, '}');
}

static const struct err *
threads_query(const struct step_page *q, const struct selector *selector,
    struct store *s, struct metric_series **out, size_t *n)
{
	struct metric_query mq = {selector, q->from_ns, q->until_ns,
	    q->step_ns, q->max_series, false};

	*out = NULL;
	*n = 0;
	return q->from_ns == q->until_ns ? NULL
	                                 : store_query_metric(s, &mq, out, n);
}

/* All of another metric; metric_series_free(). */
static const struct err *
threads_load(const struct step_page *q, struct store *s, const char *name,
    struct threads_series *out)
{
	struct selector *selector;
	const struct err *e;

	if ((e = selector_parse(name, &selector)) != NULL)
		return e;
	e = threads_query(q, selector, s, &out->series, &out->n);
	selector_free(selector);
	return e;
}

/* The counts of the same services. */
static const struct err *
threads_put_counts(struct writer *w, const struct step_page *q,
    struct store *s)
{
	struct threads_series counts = {0};
	const struct err *e = threads_load(q, s, THREADS_COUNT, &counts);

	writer_key_open(w, "counts", '[');
	for (size_t i = 0; e == NULL && i < counts.n; i++)
		if (measure_concerns(&counts.series[i], q->selector))
			threads_put_count(w, q, &counts.series[i]);
	writer_close(w, ']');
	metric_series_free(counts.series, counts.n);
	return e;
}

static const struct err *
threads_put_pools(struct writer *w, const struct step_page *q,
    const struct threads_watched *watched, struct store *s,
    const struct series_sum *pools, size_t n)
{
	struct threads_series changes[2] = {0};
	const struct err *e = threads_load(q, s, THREADS_BIRTHS, &changes[0]);

	if (e == NULL)
		e = threads_load(q, s, THREADS_DEATHS, &changes[1]);
	writer_key_open(w, "pools", '[');
	for (size_t i = 0; e == NULL && i < n; i++)
		threads_put_pool(w, q, watched, &pools[i], changes);
	writer_close(w, ']');
	for (size_t i = 0; i < 2; i++)
		metric_series_free(changes[i].series, changes[i].n);
	return e;
}

/* What both answers begin with. */
static void
threads_put_head(struct writer *w, const struct step_page *q,
    const struct threads_watched *watched, struct store *s)
{
	writer_open(w, '{');
	step_page_put(w, q);
	partial_put_state(w, s, q->from_ns, q->until_ns);
	writer_key_str(w, "unit", "threads");
	threads_watched_put(w, watched, q);
}

static const struct err *
threads_answer_by(const struct step_page *q, const char *by,
    const struct threads_watched *watched, struct store *s, struct writer *w)
{
	const struct err *e;

	threads_put_head(w, q, watched, s);
	e = threads_by_put(w, q, by, watched, s);
	if (e == NULL)
		e = threads_put_counts(w, q, s);
	writer_close(w, '}');
	return e;
}

static const struct err *
threads_answer_all(const struct step_page *q,
    const struct threads_watched *watched, struct store *s, struct writer *w)
{
	struct metric_series *series;
	struct series_sum *pools = NULL;
	struct series_over over;
	const struct err *e;
	size_t n, n_pools = 0;

	if ((e = series_over_parse(&over, "state")) != NULL ||
	    (e = threads_query(q, q->selector, s, &series, &n)) != NULL)
		return e;
	e = series_sums_new(&pools, &n_pools, series, n, &over);
	if (e == NULL) {
		threads_put_head(w, q, watched, s);
		e = threads_put_pools(w, q, watched, s, pools, n_pools);
		if (e == NULL)
			e = threads_put_counts(w, q, s);
		writer_close(w, '}');
	}
	series_sums_free(pools, n_pools);
	metric_series_free(series, n);
	return e;
}

static const struct err *
threads_answer(const struct step_page *q, const struct request *rq,
    struct store *s, struct writer *w)
{
	const char *by = request_text(rq, "by");
	struct threads_watched watched;
	const struct err *e;

	if (strcmp(selector_name(q->selector), THREADS_TIME) != 0)
		return err_field(ERR_REQUEST, 400, "query", "threads are told "
		    "by " THREADS_TIME ", not by \"%.100s\"", q->query);
	if ((e = threads_watched_load(&watched, q, s)) != NULL)
		return e;
	e = by != NULL ? threads_answer_by(q, by, &watched, s, w) :
	    threads_answer_all(q, &watched, s, w);
	metric_series_free(watched.series, watched.n);
	return e;
}

const struct err *
api_threads(struct context *c, struct request *rq, struct response *rs)
{
	return step_page_serve(c, rq, rs, threads_answer);
}
