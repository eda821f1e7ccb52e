/*
 * CPU time beside profiles of it.
 */
#include "fcgi/query/coverage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "fcgi/query/measure.h"
#include "fcgi/query/series_point.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/model/types.h"

/* The metric that counts whom the selector demands; NULL: none does. */
static const char *
coverage_metric(const struct selector *selector)
{
	static const struct label instance = {"instance", ""};

	if (strcmp(selector_name(selector), "cpu") != 0 ||
	    selector_asks_beyond(selector, &instance, 1))
		return NULL;
	if (selector_has(selector, "instance"))
		return "memlens_instance_cpu_seconds_total";
	return selector_has(selector, "service")
	    ? "namedprocess_namegroup_cpu_seconds_total"
	    : "node_schedstat_running_seconds_total";
}

/* Adds `share` of what the slots that touch a range have; of all series where
 * there is no selector. */
static const struct err *
coverage_add(struct store *s, const struct selector *selector,
    const char *metric, const int64_t range[2], double share,
    struct coverage *out)
{
	struct metric_series *series;
	const struct metric_point *p;
	const struct err *e;
	int128 sum = 0;
	size_t n;

	e = measure_once(s, metric, range[0], range[1], &series, &n);
	for (size_t i = 0; e == NULL && i < n; i++) {
		p = series_point_only(&series[i]);
		if (p == NULL || (selector != NULL &&
		    !measure_concerns(&series[i], selector)))
			continue;
		sum += p->increase * NS_PER_S /
		    scale_factor(series[i].desc.scale);
		out->known = true;
	}
	metric_series_free(series, n);
	out->cpu_ns += share == 1 ? sum : (int128)((double)sum * share);
	return e;
}

/* The slots that touch the range, without what lies outside it. */
static const struct err *
coverage_sum(struct store *s, const struct selector *selector,
    const char *metric, const int64_t range[2], struct coverage *out)
{
	int64_t first = measure_floor(s, range[0]);
	int64_t last = measure_floor(s, range[1]);
	int64_t slot_ns = measure_ceil(s, first + 1) - first;
	double before = (double)(range[0] - first) / (double)slot_ns;
	double after = (double)(last + slot_ns - range[1]) / (double)slot_ns;
	const struct err *e;

	if ((e = coverage_add(s, selector, metric, range, 1, out)) != NULL)
		return e;
	if (before > 0 && (e = coverage_add(s, selector, metric,
	    (int64_t[2]){first, first + 1}, -before, out)) != NULL)
		return e;
	return last == range[1] ? NULL : coverage_add(s, selector, metric,
	    (int64_t[2]){last, last + 1}, -after, out);
}

const struct err *
coverage_ask(struct store *s, const struct selector *selector,
    int64_t from_ns, int64_t until_ns, struct coverage *out)
{
	const char *metric = coverage_metric(selector);
	const struct err *e;
	struct buf text = {0};

	*out = (struct coverage){0};
	if (metric == NULL)
		return NULL;
	out->counted = true;
	measure_put_selector(&text, metric, selector_equals(selector,
	    "service"), NULL, "");
	e = text.failed ? err_nomem() : coverage_sum(s, selector,
	    (const char *)text.data, (int64_t[2]){from_ns, until_ns}, out);
	buf_fini(&text);
	if (out->cpu_ns <= 0)
		*out = (struct coverage){.counted = true};
	return e;
}

const struct err *
coverage_watched(struct store *s, const char *metric, const int64_t range[2],
    bool *known, int128 *ns)
{
	struct coverage c = {0};
	const struct err *e = coverage_sum(s, NULL, metric, range, &c);

	*known = c.known;
	*ns = c.cpu_ns;
	return e;
}

/* ---- memory ---- */

struct coverage_library_of {
	const struct selector *selector;
	bool any;
};

/* A series of what was short-lived, which the library alone tells, of whom the
 * selector demands. */
static bool
coverage_take_library(void *arg, const struct series_desc *d, int64_t last_ns)
{
	struct coverage_library_of *of = arg;
	struct series_desc named = *d;

	(void)last_ns;
	named.name = selector_name(of->selector);
	of->any = of->any || selector_match_series(of->selector, &named);
	return !of->any;
}

/* Where nobody has counted who has the library. */
static const struct err *
coverage_find_library(struct store *s, const struct selector *selector,
    const int64_t range[2], bool *found)
{
	struct coverage_library_of of = {selector, false};
	struct selector *brief;
	const struct err *e = measure_selector(
	    types_of_life(TYPE_LIFE_SHORT)->name, NULL, NULL, "", &brief);

	if (e == NULL)
		e = store_each_series(s, brief, range[0], range[1],
		    coverage_take_library, &of);
	selector_free(brief);
	*found = of.any;
	return e != NULL ? e : selector_check(selector);
}

static void
coverage_count_library(struct coverage_library *c,
    const struct metric_series *m)
{
	const struct metric_point *p = series_point_only(m);
	bool has = strcmp(measure_label(m, "library"), "yes") == 0;

	if (p == NULL)
		return;
	c->known = true;
	if (strcmp(m->desc.name, TYPES_LIBRARY_PROCESSES) == 0)
		c->processes[has] += p->sum;
	else
		c->resident[has] += p->sum;
}

const struct err *
coverage_ask_library(struct store *s, const struct selector *selector,
    int64_t from_ns, int64_t until_ns, struct coverage_library *out)
{
	const int64_t range[2] = {from_ns, until_ns};
	struct metric_series *m;
	const struct err *e;
	size_t n;

	*out = (struct coverage_library){0};
	e = measure_once_of(s, "", selector_equals(selector, "service"),
	    "__name__=~\"" TYPES_LIBRARY_PROCESSES "|" TYPES_LIBRARY_RESIDENT
	    "\"", range, &m, &n);
	for (size_t i = 0; i < n; i++)
		if (measure_concerns(&m[i], selector))
			coverage_count_library(out, &m[i]);
	metric_series_free(m, n);
	out->ours = out->processes[1] > 0;
	if (e == NULL && !out->known)
		e = coverage_find_library(s, selector, range, &out->ours);
	/* services without the library are not counted */
	out->known = out->known && (selector_has(selector, "service") ||
	    selector_has(selector, "instance"));
	return e;
}

/* What of a whole, where there is any. */
static void
coverage_put_share(struct writer *w, const char *key, const int128 of[2])
{
	writer_key(w, key);
	if (of[0] + of[1] > 0)
		writer_quotient(w, of[1], (uint128)(of[0] + of[1]), 0);
	else
		writer_null(w);
}

void
coverage_put_library(struct writer *w, const struct coverage_library *c)
{
	writer_key(w, "observed");
	if (!c->known || !c->ours) {
		writer_null(w);
		return;
	}
	writer_open(w, '{');
	coverage_put_share(w, "processes", c->processes);
	coverage_put_share(w, "resident", c->resident);
	writer_close(w, '}');
}

/* ---- what a clock that ticks has missed ---- */

bool
coverage_falls_short(const struct coverage *c, const struct profile *p)
{
	struct profile_samples samples;
	double sampled = (double)p->nodes[0].total, n = 0;

	if (profile_samples(p, 0, &samples))
		n = (double)samples.total;
	return n > 0 &&
	    sampled * (1 - 3 / sqrt(n)) > (double)c->cpu_ns;
}

/* The counts, which follow from amounts no more once these are scaled. */
static const struct err *
coverage_keep_samples(struct profile *p)
{
	struct profile_samples *samples;

	if (p->samples != NULL || p->period == 0)
		return NULL;
	if ((samples = calloc(p->n_nodes, sizeof(*samples))) == NULL)
		return err_nomem();
	for (size_t i = 0; i < p->n_nodes; i++)
		profile_samples(p, i, &samples[i]);
	p->samples = samples;
	return NULL;
}

/* A node is the difference of two sums from the first node on, so that
 * rounding does not add up. */
const struct err *
coverage_calibrate(struct profile *p, int128 cpu_ns)
{
	int128 whole = p->nodes[0].total, seen = 0, given = 0, next;
	const struct err *e = coverage_keep_samples(p);

	if (e != NULL || whole <= 0)
		return e;
	for (size_t i = 0; i < p->n_nodes; i++) {
		struct profile_node *n = &p->nodes[i];

		seen += n->self;
		next = seen * cpu_ns / whole;
		n->self = n->total = next - given;
		given = next;
	}
	for (size_t i = p->n_nodes - 1; i > 0; i--)
		p->nodes[p->nodes[i].parent].total += p->nodes[i].total;
	return NULL;
}
