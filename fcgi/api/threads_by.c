/*
 * Labels of threads multiply no metric: they are those of stacks.  So the time
 * of a pool is that of the profile "wall", whose parts off the CPU are the
 * states of thread_seconds_total to the nanosecond, and whose part on it is
 * what the clock of "cpu" has sampled.
 */
#include "fcgi/api/threads_by.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "fcgi/query/coverage.h"
#include "fcgi/query/measure.h"
#include "fcgi/query/step.h"
#include "store/base/err.h"
#include "store/store.h"

#define REASON "reason" /* none: it was on a CPU */
#define ON_CPU "on cpu"
#define LABELS_MAX 6 /* service, four more, reason */

struct threads_by {
	const struct step_page *page;
	const struct threads_watched *watched;
	char text[64]; /* of `split` */
	const char *split[LABELS_MAX];
	size_t n_split;
	struct totals *totals;
	const struct totals_group **groups; /* sorted: pools stand together */
	uint64_t *slots; /* of each step, in which the service was recorded */
};

/* ---- how much of it was watched ---- */

const struct err *
threads_watched_load(struct threads_watched *w, const struct step_page *q,
    struct store *s)
{
	struct selector *selector;
	const struct err *e = selector_parse(COVERAGE_WATCHED, &selector);
	struct metric_query mq = {selector, q->from_ns, q->until_ns,
	    q->step_ns, q->max_series, false};

	*w = (struct threads_watched){0};
	if (e != NULL)
		return e;
	if (q->from_ns < q->until_ns)
		e = store_query_metric(s, &mq, &w->series, &w->n);
	selector_free(selector);
	return e;
}

uint128
threads_watched_ns(const struct threads_watched *w, const struct step_page *q,
    size_t i, uint64_t slots)
{
	const struct metric_point *p = w->n == 1 && i < w->series->n_points ?
	    &w->series->points[i] : NULL;

	if (p != NULL && p->increase > 0 && slots >= p->slots)
		return (uint128)p->increase;
	return (uint128)slots * (uint64_t)q->slot_ns;
}

void
threads_watched_put(struct writer *w, const struct threads_watched *of,
    const struct step_page *q)
{
	const struct metric_series *m = of->n == 1 ? of->series : NULL;
	int128 sum = 0;
	size_t i;

	for (i = 0; m != NULL && i < m->n_points; i++)
		sum += m->points[i].increase;
	writer_key_open(w, "watched", '{');
	writer_key(w, "seconds");
	if (m != NULL)
		writer_decimal(w, sum, 9);
	else
		writer_null(w);
	writer_key_open(w, "points", '[');
	for (i = 0; m != NULL && i < m->n_points; i++) {
		writer_open(w, '[');
		writer_seconds(w, q->from_ns + (int64_t)i * q->step_ns);
		writer_decimal(w, m->points[i].increase, 9);
		writer_close(w, ']');
	}
	writer_close(w, ']');
	writer_close(w, '}');
}

/* ---- what is asked for ---- */

static const struct err *
by_split(struct threads_by *t, const char *by)
{
	static const char *const known[] = {"pool", "instance", "process",
	    "cgroup"};
	char *rest = t->text, *name;
	size_t i = 0;

	snprintf(t->text, sizeof(t->text), "%s", by);
	t->split[t->n_split++] = "service";
	while ((name = strsep(&rest, ",")) != NULL) {
		for (i = 0; i < 4 && strcmp(known[i], name) != 0; i++)
			continue;
		if (i == 4 || t->n_split + 1 == LABELS_MAX)
			return err_field(ERR_REQUEST, 400, "by", "is some of "
			    "pool, instance, process, cgroup, parted by "
			    "commas");
		t->split[t->n_split++] = known[i];
	}
	t->split[t->n_split++] = REASON;
	return NULL;
}

/* The selector of the profile, with the same labels. */
static const struct err *
by_selector(const struct step_page *q, struct selector **out)
{
	size_t n = strlen(THREADS_TIME);
	const struct err *e;
	char *text;

	if (strncmp(q->query, THREADS_TIME, n) != 0 ||
	    selector_has(q->selector, "state"))
		return err_field(ERR_REQUEST, 400, "query", "with \"by\" it "
		    "begins with " THREADS_TIME ", and asks for all states");
	if (asprintf(&text, "wall%s", q->query + n) < 0)
		return err_nomem();
	e = selector_parse(text, out);
	free(text);
	return e;
}

static const char *
group_label(const struct totals_group *g, const char *name)
{
	const char *v = label_find(g->labels, g->n_labels, name);

	return v != NULL ? v : "";
}

static int
by_compare(const void *a, const void *b, void *arg)
{
	const struct totals_group *const *x = a, *const *y = b;
	const struct threads_by *t = arg;
	int order = 0;

	for (size_t i = 0; i < t->n_split && order == 0; i++)
		order = strcmp(group_label(*x, t->split[i]),
		    group_label(*y, t->split[i]));
	return order;
}

/* Do the first n labels agree? */
static bool
by_same(const struct threads_by *t, size_t i, size_t k, size_t n)
{
	size_t l = 0;

	while (l < n && strcmp(group_label(t->groups[i], t->split[l]),
	    group_label(t->groups[k], t->split[l])) == 0)
		l++;
	return l == n;
}

static const struct err *
by_load(struct threads_by *t, struct store *s)
{
	struct totals_query tq = {.from_ns = t->page->from_ns,
	    .until_ns = t->page->until_ns, .step_ns = t->page->step_ns,
	    .split = t->split, .n_split = t->n_split};
	struct selector *selector = NULL;
	const struct err *e = by_selector(t->page, &selector);
	size_t i, n;

	tq.selector = selector;
	if (e == NULL && tq.from_ns < tq.until_ns)
		e = store_query_totals(s, &tq, &t->totals);
	selector_free(selector);
	n = t->totals != NULL ? t->totals->n_groups : 0;
	if (e == NULL && n > t->page->max_series)
		return err_field(ERR_REQUEST, 413, "by", "%zu states of pools "
		    "are more than there is room for: ask for a longer step",
		    n);
	if (e != NULL || n == 0)
		return e;
	t->groups = calloc(n, sizeof(t->groups[0]));
	t->slots = calloc(t->totals->n_steps, sizeof(t->slots[0]));
	if (t->groups == NULL || t->slots == NULL)
		return err_nomem();
	for (i = 0; i < n; i++)
		t->groups[i] = &t->totals->groups[i];
	qsort_r(t->groups, n, sizeof(t->groups[0]), by_compare, t);
	return NULL;
}

static void
by_fini(struct threads_by *t)
{
	free(t->groups);
	free(t->slots);
	totals_free(t->totals);
}

/* ---- the answer ---- */

/* A pool that did nothing in a slot was there all the same, where others of
 * its service were. */
static void
by_count_slots(struct threads_by *t, size_t from)
{
	size_t n = t->totals->n_groups, i, k;

	memset(t->slots, 0, t->totals->n_steps * sizeof(t->slots[0]));
	for (k = from; k < n && by_same(t, from, k, 1); k++)
		for (i = 0; i < t->totals->n_steps; i++)
			if (t->groups[k]->steps[i].count > t->slots[i])
				t->slots[i] = step_page_slots(t->page, i,
				    t->groups[k]->steps[i].count);
}

static void
by_put_labels(struct writer *w, const struct threads_by *t,
    const struct totals_group *g)
{
	writer_key_open(w, "labels", '{');
	for (size_t i = 0; i + 1 < t->n_split; i++) {
		const char *v = label_find(g->labels, g->n_labels,
		    t->split[i]);

		if (v != NULL)
			writer_key_str(w, t->split[i], v);
	}
	writer_close(w, '}');
}

static void
by_put_state(struct writer *w, const struct threads_by *t,
    const struct totals_group *g)
{
	const char *reason = group_label(g, REASON);
	const struct step_page *q = t->page;
	int128 sum = 0;
	size_t i;

	for (i = 0; i < t->totals->n_steps; i++)
		sum += g->steps[i].sum;
	writer_open(w, '{');
	writer_key_str(w, "state", reason[0] != '\0' ? reason : ON_CPU);
	writer_key(w, "seconds");
	writer_decimal(w, sum, 9);
	writer_key_open(w, "points", '[');
	for (i = 0; i < t->totals->n_steps; i++) {
		writer_open(w, '[');
		writer_seconds(w, q->from_ns + (int64_t)i * q->step_ns);
		if (t->slots[i] > 0)
			writer_quotient(w, g->steps[i].sum,
			    threads_watched_ns(t->watched, q, i, t->slots[i]),
			    0);
		else
			writer_null(w);
		writer_close(w, ']');
	}
	writer_close(w, ']');
	writer_close(w, '}');
}

/* The pool that begins at `from`; returns where the next one does. */
static size_t
by_put_pool(struct writer *w, const struct threads_by *t, size_t from)
{
	size_t k = from, n = t->totals->n_groups;

	writer_open(w, '{');
	by_put_labels(w, t, t->groups[from]);
	writer_key_open(w, "states", '[');
	for (; k < n && by_same(t, from, k, t->n_split - 1); k++)
		by_put_state(w, t, t->groups[k]);
	writer_close(w, ']');
	writer_key(w, "births");
	writer_null(w);
	writer_key(w, "deaths");
	writer_null(w);
	writer_close(w, '}');
	return k;
}

static void
by_put(struct writer *w, struct threads_by *t)
{
	size_t i = 0, before = 0, n = t->totals != NULL ?
	    t->totals->n_groups : 0;

	writer_key_open(w, "sampled", '[');
	writer_str(w, ON_CPU);
	writer_close(w, ']');
	writer_key_open(w, "pools", '[');
	while (i < n) {
		if (i == 0 || !by_same(t, before, i, 1))
			by_count_slots(t, i);
		before = i;
		i = by_put_pool(w, t, i);
	}
	writer_close(w, ']');
}

const struct err *
threads_by_put(struct writer *w, const struct step_page *q, const char *by,
    const struct threads_watched *watched, struct store *s)
{
	struct threads_by t = {.page = q, .watched = watched};
	const struct err *e = by_split(&t, by);

	if (e == NULL)
		e = by_load(&t, s);
	if (e == NULL)
		by_put(w, &t);
	by_fini(&t);
	return e;
}
