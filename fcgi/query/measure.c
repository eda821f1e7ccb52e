/*
 * Metrics over one span; states of sources from facts.
 */
#include "fcgi/query/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "fcgi/query/series_point.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/model/fact.h"
#include "store/model/types.h"

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
measure_span(struct store *s, struct metric_query *q, bool *widened,
    struct metric_series **out, size_t *n)
{
	*out = NULL;
	*n = 0;
	q->from_ns = measure_floor(s, q->from_ns);
	q->until_ns = measure_ceil(s, q->until_ns);
	*widened = store_kept_range(s, &q->from_ns, &q->until_ns);
	q->step_ns = q->until_ns - q->from_ns; /* one point */
	return q->step_ns > 0 ? store_query_metric(s, q, out, n) : NULL;
}

const struct err *
measure_once(struct store *s, const char *selector, int64_t from_ns,
    int64_t until_ns, struct metric_series **out, size_t *n)
{
	struct metric_query q = {.from_ns = from_ns > 0 ? from_ns : 0,
	    .until_ns = until_ns, .max_series = MEASURE_SERIES_MAX};
	struct selector *parsed;
	const struct err *e;
	bool widened;

	*out = NULL;
	*n = 0;
	if ((e = selector_parse(selector, &parsed)) != NULL)
		return e;
	q.selector = parsed;
	e = measure_span(s, &q, &widened, out, n);
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

static bool
measure_take_source(void *arg, int64_t time_ns, const char *subject,
    const void *data, size_t n)
{
	struct source_state *s = measure_source(arg, subject);
	struct fact_source f;

	if (s == NULL || time_ns < s->time_ns)
		return true;
	fact_take_source(data, n, &f);
	s->time_ns = time_ns;
	fact_part_copy(f.state, s->state, sizeof(s->state));
	fact_part_copy(f.why, s->why, sizeof(s->why));
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

/* Of what is counted by source: those of one, and of another one or NULL. */
struct measure_of {
	const char *source, *beside;
};

/* A series of a name and a source that has grown. */
static bool
measure_is_reason(const struct metric_series *m, const char *name,
    const struct measure_of *of)
{
	const struct metric_point *p = series_point_of(m, name, of->source);

	if (p == NULL && of->beside != NULL)
		p = series_point_of(m, name, of->beside);
	return p != NULL && p->increase != 0;
}

/* The sum of a reason over the series behind the first one of it; 0 when this
 * is not the first. */
static int128
measure_reason(const struct metric_series *series, size_t n, size_t first,
    const char *name, const struct measure_of *of)
{
	const char *reason = measure_label(&series[first], "reason");
	int128 sum = 0;

	if (!measure_is_reason(&series[first], name, of))
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (!measure_is_reason(&series[i], name, of) ||
		    strcmp(measure_label(&series[i], "reason"), reason) != 0)
			continue;
		if (i < first)
			return 0;
		sum += series[i].points->increase;
	}
	return sum;
}

/* The members alone. */
static void
measure_put_each(struct writer *w, const struct metric_series *series,
    size_t n, const char *name, const struct measure_of *of)
{
	for (size_t i = 0; i < n; i++) {
		int128 sum = measure_reason(series, n, i, name, of);

		if (sum == 0)
			continue;
		writer_key_any(w, measure_label(&series[i], "reason"));
		writer_decimal(w, sum, series[i].desc.scale);
	}
}

void
measure_put_reasons(struct writer *w, const struct metric_series *series,
    size_t n, const char *name, const char *source)
{
	const struct measure_of of = {source, NULL};

	writer_open(w, '{');
	measure_put_each(w, series, n, name, &of);
	writer_close(w, '}');
}

bool
measure_concerns(const struct metric_series *m,
    const struct selector *selector)
{
	struct label labels[] = {{"instance", measure_label(m, "instance")},
	    {"service", measure_label(m, "service")}};
	const struct series_desc d = {.kind = SERIES_FLOW,
	    .name = selector_name(selector), .unit = "",
	    .labels = labels + (labels[0].value[0] == '\0'),
	    .n_labels = 1 + (labels[0].value[0] != '\0')};

	return selector_match_series(selector, &d);
}

/* Voids the series that do not concern the selector; false when none that
 * does counts samples. */
static bool
measure_sift(struct measure_faults *f, const struct selector *selector)
{
	bool counted = false;

	for (size_t i = 0; i < f->n; i++) {
		struct metric_series *m = &f->series[i];

		if (!measure_concerns(m, selector))
			m->n_points = 0;
		else if (strcmp(m->desc.name, MEASURE_SERVICE_SAMPLES) == 0)
			counted = true;
	}
	return counted;
}

void
measure_put_quoted(struct buf *out, const char *value)
{
	for (const char *s = value; *s != '\0'; s++) {
		if (*s == '\n' || *s == '\\' || *s == '"')
			buf_put_u8(out, '\\');
		buf_put_u8(out, (uint8_t)(*s == '\n' ? 'n' : *s));
	}
}

/* `before`: what stands between it and the matcher before it. */
static void
measure_put_matcher(struct buf *out, const char *before, const char *label,
    const char *value)
{
	buf_printf(out, "%s%s=\"", before, label);
	measure_put_quoted(out, value);
	buf_put_u8(out, '"');
}

void
measure_put_selector(struct buf *out, const char *name, const char *service,
    const char *instance, const char *more)
{
	const char *before = "{";

	buf_printf(out, "%s", name);
	if (service != NULL) {
		measure_put_matcher(out, before, "service", service);
		before = ",";
	}
	if (instance != NULL) {
		measure_put_matcher(out, before, "instance", instance);
		before = ",";
	}
	if (more[0] != '\0') {
		buf_printf(out, "%s%s", before, more);
		before = ",";
	}
	buf_put(out, "}", *before == ',');
	buf_put_u8(out, '\0');
}

const struct err *
measure_selector(const char *name, const char *service, const char *instance,
    const char *more, struct selector **out)
{
	struct buf text = {0};
	const struct err *e;

	*out = NULL;
	measure_put_selector(&text, name, service, instance, more);
	e = text.failed ? err_nomem()
	    : selector_parse((const char *)text.data, out);
	buf_fini(&text);
	return e;
}

const struct err *
measure_once_of(struct store *s, const char *name, const char *service,
    const char *more, const int64_t range[2], struct metric_series **out,
    size_t *n)
{
	struct buf text = {0};
	const struct err *e;

	*out = NULL;
	*n = 0;
	measure_put_selector(&text, name, service, NULL, more);
	e = text.failed ? err_nomem() : measure_once(s,
	    (const char *)text.data, range[0], range[1], out, n);
	buf_fini(&text);
	return e;
}

/* Of the services that the selector demands; one by its name, without
 * reading the others'. */
static const struct err *
measure_of_service(struct store *s, const struct selector *selector,
    int64_t from_ns, int64_t until_ns, struct measure_faults *out)
{
	const struct err *e = measure_once_of(s, "", selector_equals(selector,
	    "service"), "__name__=~\"" MEASURE_SERVICE_SAMPLES "|"
	    MEASURE_SERVICE_LOST "|" MEASURE_SERVICE_BROKEN "|"
	    MEASURE_SERVICE_LOST_BYTES "|" MEASURE_SERVICE_LOST_OBJECTS "\"",
	    (int64_t[2]){from_ns, until_ns}, &out->series, &out->n);

	if (e == NULL)
		out->of_service = measure_sift(out, selector);
	return e != NULL ? e : selector_check(selector);
}

/* What is lost with the service's name is told by the service's series. */
static bool
measure_is_owned(const char *reason)
{
	return strcmp(reason, "held full") == 0 ||
	    strcmp(reason, "aggregate full") == 0 ||
	    strcmp(reason, "locks full") == 0 ||
	    strcmp(reason, "table unread") == 0;
}

const struct err *
measure_faults(struct store *s, const struct selector *selector,
    int64_t from_ns, int64_t until_ns, struct measure_faults *out)
{
	const struct err *e = NULL;

	*out = (struct measure_faults){0};
	if (selector_has(selector, "service"))
		e = measure_of_service(s, selector, from_ns, until_ns, out);
	if (e == NULL)
		e = measure_once(s, MEASURE_FAULTS, from_ns, until_ns,
		    &out->host, &out->n_host);
	for (size_t i = 0; out->of_service && i < out->n_host; i++)
		if (measure_is_owned(measure_label(&out->host[i], "reason")))
			out->host[i].n_points = 0;
	return e;
}

void
measure_faults_void(struct measure_faults *f)
{
	measure_faults_fini(f);
	f->of_service = true;
}

void
measure_faults_fini(struct measure_faults *f)
{
	metric_series_free(f->series, f->n);
	metric_series_free(f->host, f->n_host);
	*f = (struct measure_faults){0};
}

bool
measure_lost(const struct measure_faults *f, const char *source,
    const char *beside)
{
	const struct measure_of of = {source, beside};

	for (size_t i = 0; i < f->n_host; i++)
		if (measure_is_reason(&f->host[i], MEASURE_LOST, &of))
			return true;
	for (size_t i = 0; i < f->n; i++)
		if (measure_is_reason(&f->series[i], MEASURE_SERVICE_LOST,
		    &of))
			return true;
	return false;
}

bool
measure_is_memory(const char *source)
{
	const struct type *t = types_find(source);

	return t != NULL && t->library;
}

const char *
measure_why_lost(const struct measure_faults *f, const struct type *type,
    bool none)
{
	if (type == NULL || type->kind != SERIES_FLOW ||
	    type->records == NULL ||
	    !measure_lost(f, type->name, type->records))
		return NULL;
	if (type->library)
		return none ? "nothing was seen, but allocations of this range "
		    "were lost: see \"lost_bytes\"" : "allocations of this "
		    "range were lost, and what is here may lack some: see "
		    "\"lost_bytes\"";
	return none ? "nothing was seen, but waits of this range were lost: "
	    "see \"lost\"" : "waits of this range were lost, and what is "
	    "here may lack some: see \"lost\"";
}

/* By reason: of the host and of the services, and which are the host's. */
static const struct measure_loss {
	const char *key, *key_host, *host, *service;
} measure_losses[] = {
    {"lost", "lost_on_host", MEASURE_LOST, MEASURE_SERVICE_LOST},
    {"lost_bytes", "lost_bytes_on_host", MEASURE_LOST_BYTES,
        MEASURE_SERVICE_LOST_BYTES},
    {"lost_objects", "lost_objects_on_host", MEASURE_LOST_OBJECTS,
        MEASURE_SERVICE_LOST_OBJECTS},
};
#define MEASURE_LOSSES (sizeof(measure_losses) / sizeof(measure_losses[0]))

static void
measure_put_loss(struct writer *w, const struct measure_faults *f,
    const struct measure_loss *loss, const struct measure_of *of)
{
	writer_key_open(w, loss->key, '{');
	measure_put_each(w, f->host, f->n_host, loss->host, of);
	measure_put_each(w, f->series, f->n, loss->service, of);
	writer_close(w, '}');
	writer_key_open(w, loss->key_host, '{');
	measure_put_each(w, f->host, f->n_host, loss->host, of);
	writer_close(w, '}');
}

void
measure_put_faults(struct writer *w, const struct measure_faults *f,
    const char *source, const char *beside)
{
	const struct measure_of of = {source, beside};
	size_t losses = measure_is_memory(source) ? MEASURE_LOSSES : 1;

	for (size_t i = 0; i < losses; i++)
		measure_put_loss(w, f, &measure_losses[i], &of);
	writer_key(w, "broken");
	if (f->of_service)
		measure_put_reasons(w, f->series, f->n,
		    MEASURE_SERVICE_BROKEN, source);
	else
		measure_put_reasons(w, f->host, f->n_host, MEASURE_BROKEN,
		    source);
	writer_key_str(w, "faults", f->of_service ? "service" : "host");
}

void
measure_put_labels(struct writer *w, const struct series_desc *d)
{
	writer_key_open(w, "labels", '{');
	for (size_t i = 0; i < d->n_labels; i++) {
		writer_key_any(w, d->labels[i].name);
		writer_str(w, d->labels[i].value);
	}
	writer_close(w, '}');
}

bool
measure_is_quantile(const struct series_desc *d)
{
	return d->kind == SERIES_GAUGE &&
	    label_find(d->labels, d->n_labels, "quantile") != NULL;
}

/* Buckets count each request as often as there are borders above it, sums
 * and gauges count none. */
static const struct err *
measure_check_requests(const struct series_desc *d)
{
	size_t n = strlen(d->name);
	const char *what = d->kind != SERIES_COUNTER ? "a gauge" :
	    label_find(d->labels, d->n_labels, "le") != NULL ? "a bucket" :
	    n > 4 && strcmp(d->name + n - 4, "_sum") == 0 ? "a sum" : NULL;

	if (what == NULL)
		return NULL;
	return err_field(ERR_REQUEST, 400, "requests", "%.100s is %s: it "
	    "counts no requests", d->name, what);
}

static bool
measure_take_counter(void *arg, const struct series_desc *d, int64_t last_ns)
{
	bool *seen = arg;

	(void)last_ns;
	*seen = *seen || d->kind == SERIES_COUNTER;
	return !*seen;
}

/* A counter that was not there yet has no data, one that nobody has ever seen
 * is a mistake. */
static const struct err *
measure_check_kept(struct store *s, const char *text)
{
	struct store_extent extent;
	struct selector *parsed;
	const struct err *e;
	bool seen = false;

	if ((e = selector_parse(text, &parsed)) != NULL)
		return e;
	store_extent(s, &extent);
	store_missing_watch(s, false);
	e = store_each_series(s, parsed, extent.from_ns, extent.until_ns,
	    measure_take_counter, &seen);
	store_missing_watch(s, true);
	selector_free(parsed);
	if (e == NULL && !seen)
		e = err_field(ERR_REQUEST, 404, "requests",
		    "no counter \"%.200s\" is kept", text);
	return e;
}

const struct err *
measure_requests(struct store *s, const char *text, int64_t from_ns,
    int64_t until_ns, double *sum)
{
	struct metric_series *m;
	const struct err *e;
	bool counted = false;
	size_t n;

	*sum = 0;
	if ((e = measure_once(s, text, from_ns, until_ns, &m, &n)) != NULL)
		return err_field(e->domain, e->code, "requests", "%s",
		    e->text);
	for (size_t i = 0; e == NULL && i < n; i++)
		e = measure_check_requests(&m[i].desc);
	for (size_t i = 0; e == NULL && i < n; i++) {
		*sum += (double)m[i].points->increase /
		    (double)scale_factor(m[i].desc.scale);
		counted = counted || m[i].points->count > 0;
	}
	metric_series_free(m, n);
	if (e == NULL && !counted) {
		*sum = NAN;
		e = measure_check_kept(s, text);
	}
	return e;
}
