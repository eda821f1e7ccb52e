/*
 * GET /labels, /label-values and /api/apps: what there is to ask /render
 * for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "fcgi/pyroscope/flameql.h"
#include "fcgi/pyroscope/labelsets.h"
#include "fcgi/pyroscope/pages.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/model/types.h"
#include "store/model/unit.h"

/* The label sets of a request's query, or of everything. */
static const struct err *
labels_each(struct context *c, const struct request *rq, labelsets_fn *fn,
    void *arg)
{
	const char *query = request_text(rq, "query");
	struct flameql q = {0};
	struct store *s;
	const struct err *e;

	if ((e = context_store(c, &s)) != NULL)
		return e;
	e = query != NULL ? flameql_parse(&q, s, query)
			  : flameql_parse_id(&q, "", "");
	if (e == NULL)
		e = labelsets_each(s, q.selector, 0, 0, fn, arg);
	flameql_free(&q);
	return e;
}

static const struct err *
labels_put(struct label_texts *texts, struct response *rs)
{
	struct writer w = writer_of(&rs->body);
	const struct err *e = label_texts_finish(texts);

	if (e != NULL)
		return e;
	writer_open(&w, '[');
	for (size_t i = 0; i < texts->n; i++)
		writer_str(&w, texts->list[i]);
	writer_close(&w, ']');
	return NULL;
}

static void
labels_app(const struct series_desc *d, char *app, size_t size)
{
	const char *service = label_find(d->labels, d->n_labels, "service");

	snprintf(app, size, "%s.%s", service != NULL ? service : "", d->name);
}

static bool
labels_take_app(void *arg, const struct series_desc *d, int64_t last_ns)
{
	const struct type *made = types_made_with(d->name);
	struct series_desc sum = *d;
	char app[600];

	(void)last_ns;
	labels_app(d, app, sizeof(app));
	label_texts_add(arg, app);
	if (made != NULL) {
		sum.name = made->name;
		labels_app(&sum, app, sizeof(app));
		label_texts_add(arg, app);
	}
	return true;
}

/* All applications there are: of the series alone. */
static const struct err *
labels_apps(struct context *c, struct response *rs)
{
	struct label_texts texts = {0};
	struct store_extent extent;
	struct store *s;
	const struct err *e = context_store(c, &s);

	if (e != NULL)
		return e;
	store_extent(s, &extent);
	e = store_each_profile(s, extent.from_ns, extent.until_ns,
	    labels_take_app, &texts);
	if (e == NULL)
		e = labels_put(&texts, rs);
	label_texts_fini(&texts);
	return e;
}

static const struct err *
labels_take(void *arg, const struct totals_group *g)
{
	for (size_t i = 0; i < g->n_labels; i++)
		label_texts_add(arg, g->labels[i].name);
	return NULL;
}

const struct err *
api_labels(struct context *c, struct request *rq, struct response *rs)
{
	struct label_texts texts = {0};
	const struct err *e;

	label_texts_add(&texts, "__name__");
	e = labels_each(c, rq, labels_take, &texts);
	if (e == NULL)
		e = labels_put(&texts, rs);
	label_texts_fini(&texts);
	return e;
}

struct label_values {
	const char *label;
	struct label_texts texts;
};

static const struct err *
label_values_take(void *arg, const struct totals_group *g)
{
	struct label_values *v = arg;
	const char *value = label_find(g->labels, g->n_labels, v->label);
	char app[600];

	if (strcmp(v->label, "__name__") == 0) {
		labels_app(&g->desc, app, sizeof(app));
		value = app;
	}
	if (value != NULL)
		label_texts_add(&v->texts, value);
	return NULL;
}

const struct err *
api_label_values(struct context *c, struct request *rq, struct response *rs)
{
	struct label_values v = {0};
	const struct err *e;

	if ((e = request_need(rq, "label", &v.label)) != NULL)
		return e;
	if (strcmp(v.label, "__name__") == 0 &&
	    request_text(rq, "query") == NULL)
		return labels_apps(c, rs);
	e = labels_each(c, rq, label_values_take, &v);
	if (e == NULL)
		e = labels_put(&v.texts, rs);
	label_texts_fini(&v.texts);
	return e;
}

/* Of series that differ in the rate alone the first stands for all. */
struct apps {
	struct writer w;
	char last[600];
};

static void
apps_put(struct apps *a, const struct series_desc *d)
{
	int64_t scale;
	const char *unit = unit_of_type(d->name, d->unit, &scale);
	bool timed = unit_is_time(unit) && d->period > 0;
	struct writer *w = &a->w;
	char name[600];

	labels_app(d, name, sizeof(name));
	if (strcmp(name, a->last) == 0)
		return;
	memcpy(a->last, name, sizeof(name));
	writer_open(w, '{');
	writer_key_str(w, "name", name);
	writer_key_str(w, "spyName", "memlens");
	writer_key_int(w, "sampleRate",
	    timed ? (NS_PER_S / scale + d->period / 2) / d->period : 100);
	writer_key_str(w, "units", timed ? "samples" : unit);
	writer_close(w, '}');
}

static bool
apps_take(void *arg, const struct series_desc *d, int64_t last_ns)
{
	const struct type *made = types_made_with(d->name);
	struct series_desc sum = *d;

	(void)last_ns;
	apps_put(arg, d);
	if (made != NULL) {
		sum.name = made->name;
		apps_put(arg, &sum);
	}
	return true;
}

const struct err *
api_apps(struct context *c, struct request *rq, struct response *rs)
{
	struct apps apps = {writer_of(&rs->body), ""};
	struct store_extent extent;
	struct store *s;
	const struct err *e;

	(void)rq;
	if ((e = context_store(c, &s)) != NULL)
		return e;
	store_extent(s, &extent);
	writer_open(&apps.w, '[');
	e = store_each_profile(s, extent.from_ns, extent.until_ns, apps_take,
	    &apps);
	writer_close(&apps.w, ']');
	return e;
}
