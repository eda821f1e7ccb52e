/*
 * Metrics over one span; states of sources from facts.
 */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define SOURCES_MAX 64
#define SOURCES_SPAN (2 * 3600 * NS_PER_S)

int64_t
measure_floor(const struct store *s, int64_t ns)
{
	struct store_extent e;

	store_extent(s, &e);
	return ns - ns % e.slot_ns;
}

int64_t
measure_ceil(const struct store *s, int64_t ns)
{
	int64_t down = measure_floor(s, ns);
	struct store_extent e;

	store_extent(s, &e);
	return down == ns ? ns : down + e.slot_ns;
}

const struct err *
measure_once(struct store *s, const char *selector, int64_t from_ns,
    int64_t until_ns, struct metric_series **out, size_t *n)
{
	struct metric_query q = {.max_series = MEASURE_SERIES_MAX};
	struct selector *parsed;
	const struct err *e;

	*out = NULL;
	*n = 0;
	if ((e = selector_parse(selector, &parsed)) != NULL)
		return e;
	q.selector = parsed;
	q.from_ns = measure_floor(s, from_ns > 0 ? from_ns : 0);
	q.until_ns = measure_ceil(s, until_ns);
	q.step_ns = q.until_ns - q.from_ns;
	store_kept_steps(s, &q.from_ns, &q.until_ns, &q.step_ns);
	q.step_ns = q.until_ns - q.from_ns; /* one point */
	if (q.step_ns > 0)
		e = store_query_metric(s, &q, out, n);
	selector_free(parsed);
	return e;
}

const char *
measure_label(const struct metric_series *m, const char *name)
{
	const char *value = label_find(m->desc.labels, m->desc.n_labels, name);

	return value != NULL ? value : "";
}

struct source_list {
	struct source_state *sources;
	size_t n;
};

static struct source_state *
measure_source(struct source_list *list, const char *name)
{
	struct source_state *s;

	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->sources[i].name, name) == 0)
			return &list->sources[i];
	if (list->n == SOURCES_MAX)
		return NULL;
	s = &list->sources[list->n++];
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->time_ns = -1;
	return s;
}

/* "state" or "state: why". */
static bool
measure_take_source(void *arg, int64_t time_ns, const char *subject,
    const void *data, size_t n)
{
	struct source_state *s = measure_source(arg, subject);
	const char *text = data, *colon = memchr(text, ':', n);
	size_t len = colon != NULL ? (size_t)(colon - text) : n, skip;

	if (s == NULL || time_ns < s->time_ns)
		return true;
	s->time_ns = time_ns;
	snprintf(s->state, sizeof(s->state), "%.*s", (int)(len % 1024), text);
	skip = len + (colon != NULL);
	while (skip < n && text[skip] == ' ')
		skip++;
	snprintf(s->why, sizeof(s->why), "%.*s", (int)((n - skip) % 65536),
	    text + skip);
	return true;
}

static int
measure_compare_sources(const void *a, const void *b)
{
	const struct source_state *x = a, *y = b;

	return strcmp(x->name, y->name);
}

const struct err *
measure_sources(struct store *s, int64_t now_ns, struct source_state **out,
    size_t *n)
{
	struct source_list list = {calloc(SOURCES_MAX, sizeof(*list.sources)),
	    0};
	const struct err *e;

	*out = NULL;
	*n = 0;
	if (list.sources == NULL)
		return err_nomem();
	store_missing_watch(s, false);
	e = store_each_fact(s, FACT_SOURCE, now_ns - SOURCES_SPAN,
	    now_ns + NS_PER_S, measure_take_source, &list);
	store_missing_watch(s, true);
	if (e != NULL) {
		free(list.sources);
		return e;
	}
	qsort(list.sources, list.n, sizeof(*list.sources),
	    measure_compare_sources);
	*out = list.sources;
	*n = list.n;
	return NULL;
}

void
measure_put_reasons(struct writer *w, const struct metric_series *series,
    size_t n, const char *name, const char *source)
{
	writer_open(w, '{');
	for (size_t i = 0; i < n; i++) {
		const struct metric_series *m = &series[i];

		if (m->n_points == 0 || m->points->increase == 0 ||
		    strcmp(m->desc.name, name) != 0 ||
		    strcmp(measure_label(m, "source"), source) != 0)
			continue;
		writer_key_any(w, measure_label(m, "reason"));
		writer_decimal(w, m->points->increase, m->desc.scale);
	}
	writer_close(w, '}');
}

void
measure_put_labels(struct writer *w, const struct series_desc *d)
{
	writer_key(w, "labels");
	writer_open(w, '{');
	for (size_t i = 0; i < d->n_labels; i++) {
		writer_key_any(w, d->labels[i].name);
		writer_str(w, d->labels[i].value);
	}
	writer_close(w, '}');
}
