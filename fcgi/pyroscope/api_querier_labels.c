/*
 * What there is: types, labels, their values and combinations.
 */
#include <stdlib.h>
#include <string.h>

#include "connect.pb-c.h"
#include "fcgi/pyroscope/flameql.h"
#include "fcgi/pyroscope/labelsets.h"
#include "fcgi/pyroscope/querier.h"
#include "store/base/err.h"
#include "store/model/typeid.h"
#include "store/model/types.h"

const char *
querier_label_name(const char *ours)
{
	return strcmp(ours, "service") == 0 ? "service_name" : ours;
}

/* The texts as a repeated string of a message. */
static const struct err *
texts_take(struct querier *q, struct label_texts *t, size_t *n, char ***list)
{
	const struct err *e = label_texts_finish(t);

	if (e != NULL)
		return e;
	*list = querier_array(q, t->n, sizeof(char *));
	if (*list == NULL)
		return err_nomem();
	for (size_t i = 0; i < t->n; i++)
		if (((*list)[i] = querier_text(q, t->list[i])) == NULL)
			return err_nomem();
	*n = t->n;
	return NULL;
}

/* ---- types ---- */

static bool
types_take(void *arg, const struct series_desc *d, int64_t last_ns)
{
	const struct type *made = types_made_with(d->name);
	struct typeid id;

	(void)last_ns;
	typeid_of(&id, d->name, d->unit);
	label_texts_add(arg, id.text);
	if (made != NULL) {
		typeid_of(&id, made->name, made->unit);
		label_texts_add(arg, id.text);
	}
	return true;
}

static Connect__ProfileType *
types_make(struct querier *q, const char *text)
{
	Connect__ProfileType *t =
	    querier_new(q, &connect__profile_type__descriptor);
	struct typeid id;

	if (t == NULL || typeid_parse(&id, text) != NULL)
		return NULL;
	t->id = querier_text(q, id.text);
	t->name = querier_text(q, id.group);
	t->sample_type = querier_text(q, id.type);
	t->sample_unit = querier_text(q, id.unit);
	t->period_type = querier_text(q, id.period_type);
	t->period_unit = querier_text(q, id.period_unit);
	return t->period_unit != NULL ? t : NULL;
}

const struct err *
querier_profile_types(struct querier *q, const ProtobufCMessage *request,
    ProtobufCMessage **answer)
{
	const Connect__ProfileTypesRequest *r =
	    (const Connect__ProfileTypesRequest *)request;
	Connect__ProfileTypesResponse *a =
	    querier_new(q, &connect__profile_types_response__descriptor);
	struct label_texts texts = {0};
	int64_t from, until;
	const struct err *e;

	if (a == NULL)
		return err_nomem();
	if ((e = querier_range(q, r->start, r->end, &from, &until)) != NULL)
		return e;
	e = store_each_profile(q->store, from, until, types_take, &texts);
	if (e == NULL && (e = label_texts_finish(&texts)) == NULL) {
		a->profile_types = querier_array(q, texts.n,
		    sizeof(*a->profile_types));
		for (size_t i = 0; i < texts.n && e == NULL; i++) {
			if (a->profile_types == NULL || (a->profile_types[i] =
			    types_make(q, texts.list[i])) == NULL)
				e = err_nomem();
		}
		a->n_profile_types = e == NULL ? texts.n : 0;
	}
	label_texts_fini(&texts);
	*answer = &a->base;
	return e;
}

/* ---- labels ---- */

/* All label sets that any of the matchers takes; none: all. */
static const struct err *
sets_each(struct querier *q, char **matchers, size_t n, int64_t start,
    int64_t end, labelsets_fn *fn, void *arg)
{
	int64_t from, until;
	const struct err *e = querier_range(q, start, end, &from, &until);

	for (size_t i = 0; (i < n || (n == 0 && i == 0)) && e == NULL; i++) {
		struct flameql ql;

		e = flameql_parse_id(&ql, "", n == 0 ? "" : matchers[i]);
		if (e == NULL)
			e = labelsets_each(q->store, ql.selector, from, until,
			    fn, arg);
		flameql_free(&ql);
	}
	return e;
}

static const struct err *
names_take(void *arg, const struct totals_group *g)
{
	for (size_t i = 0; i < g->n_labels; i++)
		label_texts_add(arg, g->labels[i].name);
	return NULL;
}

const struct err *
querier_label_names(struct querier *q, const ProtobufCMessage *request,
    ProtobufCMessage **answer)
{
	const Connect__LabelNamesRequest *r =
	    (const Connect__LabelNamesRequest *)request;
	Connect__LabelNamesResponse *a =
	    querier_new(q, &connect__label_names_response__descriptor);
	struct label_texts texts = {0};
	const struct err *e = a == NULL ? err_nomem() : NULL;

	label_texts_add(&texts, "service_name");
	label_texts_add(&texts, "__profile_type__");
	if (e == NULL)
		e = sets_each(q, r->matchers, r->n_matchers, r->start, r->end,
		    names_take, &texts);
	if (e == NULL)
		e = texts_take(q, &texts, &a->n_names, &a->names);
	label_texts_fini(&texts);
	*answer = &a->base;
	return e;
}

/* The value of a label by Grafana's name for it; the id goes to `id`. */
static const char *
group_value(const struct totals_group *g, const char *name,
    struct typeid *id)
{
	if (strcmp(name, "__profile_type__") == 0) {
		typeid_of(id, g->desc.name, g->desc.unit);
		return id->text;
	}
	if (strcmp(name, "__name__") == 0) {
		typeid_of(id, g->desc.name, g->desc.unit);
		return id->group;
	}
	if (strcmp(name, "service_name") == 0)
		return label_find(g->desc.labels, g->desc.n_labels,
		    "service");
	return label_find(g->labels, g->n_labels, name);
}

struct values {
	struct label_texts texts;
	const char *name;
};

static const struct err *
values_take(void *arg, const struct totals_group *g)
{
	struct values *v = arg;
	struct typeid id;
	const char *value = group_value(g, v->name, &id);

	if (value != NULL && *value != '\0')
		label_texts_add(&v->texts, value);
	return NULL;
}

/* Is it a series' own, whatever labels its stacks have? */
static bool
value_is_of_series(const char *name)
{
	return strcmp(name, "__profile_type__") == 0 ||
	    strcmp(name, "__name__") == 0 || strcmp(name, "service_name") == 0;
}

struct by_series {
	labelsets_fn *fn;
	void *arg;
};

static bool
series_take(void *arg, const struct series_desc *d, int64_t last_ns)
{
	const struct by_series *b = arg;
	const struct type *made = types_made_with(d->name);
	struct totals_group g = {.desc = *d};

	(void)last_ns;
	b->fn(b->arg, &g);
	if (made != NULL) {
		g.desc.name = made->name;
		g.desc.unit = made->unit;
		b->fn(b->arg, &g);
	}
	return true;
}

/* What is told of the series alone, if all these labels are: what others push
 * is not read for it. */
static const struct err *
sets_each_of(struct querier *q, char *const *labels, size_t n_labels,
    char **matchers, size_t n, int64_t start, int64_t end, labelsets_fn *fn,
    void *arg)
{
	struct by_series b = {fn, arg};
	bool of_series = n == 0 && n_labels > 0;
	int64_t from, until;
	const struct err *e;

	for (size_t i = 0; i < n_labels; i++)
		of_series &= value_is_of_series(labels[i]);
	if (!of_series)
		return sets_each(q, matchers, n, start, end, fn, arg);
	e = querier_range(q, start, end, &from, &until);
	return e != NULL ? e : store_each_profile(q->store, from, until,
	    series_take, &b);
}

const struct err *
querier_label_values(struct querier *q, const ProtobufCMessage *request,
    ProtobufCMessage **answer)
{
	const Connect__LabelValuesRequest *r =
	    (const Connect__LabelValuesRequest *)request;
	Connect__LabelValuesResponse *a =
	    querier_new(q, &connect__label_values_response__descriptor);
	struct values v = {.name = r->name};
	const struct err *e = a == NULL ? err_nomem() : NULL;

	if (*r->name == '\0')
		return err_field(ERR_REQUEST, 400, "name", "is missing");
	if (e == NULL)
		e = sets_each_of(q, (char *const *)&r->name, 1, r->matchers,
		    r->n_matchers, r->start, r->end, values_take, &v);
	if (e == NULL)
		e = texts_take(q, &v.texts, &a->n_names, &a->names);
	label_texts_fini(&v.texts);
	*answer = &a->base;
	return e;
}

/* ---- combinations ---- */

/* A combination as one text, "name\1value\1name\1value", so that equal ones
 * are found by sorting. */
struct combos {
	struct label_texts texts;
	char **names; /* asked for */
	size_t n_names;
};

static bool
combo_put(struct buf *b, const char *name, const char *value)
{
	if (value == NULL || *value == '\0')
		return false;
	buf_printf(b, "%s%s\1%s", b->len > 0 ? "\1" : "", name, value);
	return true;
}

static const struct err *
combos_take(void *arg, const struct totals_group *g)
{
	struct combos *c = arg;
	struct buf b = {0};
	struct typeid id;

	for (size_t i = 0; i < c->n_names; i++)
		combo_put(&b, c->names[i], group_value(g, c->names[i], &id));
	if (c->n_names == 0) {
		combo_put(&b, "__profile_type__",
		    group_value(g, "__profile_type__", &id));
		combo_put(&b, "service_name",
		    group_value(g, "service_name", &id));
		for (size_t i = 0; i < g->n_labels; i++)
			combo_put(&b, g->labels[i].name, g->labels[i].value);
	}
	buf_put_u8(&b, 0);
	if (b.len > 1 && !b.failed)
		label_texts_add(&c->texts, (const char *)b.data);
	buf_fini(&b);
	return NULL;
}

static Connect__Labels *
combo_make(struct querier *q, const char *text)
{
	Connect__Labels *l = querier_new(q, &connect__labels__descriptor);
	char *next = querier_text(q, text), *name;
	size_t n = 1;

	for (const char *p = text; *p != '\0'; p++)
		n += *p == '\1';
	if (l == NULL || next == NULL ||
	    (l->labels = querier_array(q, n / 2, sizeof(*l->labels))) == NULL)
		return NULL;
	while ((name = strsep(&next, "\1")) != NULL && next != NULL) {
		Connect__LabelPair *pair =
		    querier_new(q, &connect__label_pair__descriptor);

		if (pair == NULL)
			return NULL;
		pair->name = name;
		pair->value = strsep(&next, "\1");
		l->labels[l->n_labels++] = pair;
	}
	return l;
}

const struct err *
querier_series(struct querier *q, const ProtobufCMessage *request,
    ProtobufCMessage **answer)
{
	const Connect__SeriesRequest *r =
	    (const Connect__SeriesRequest *)request;
	Connect__SeriesResponse *a =
	    querier_new(q, &connect__series_response__descriptor);
	struct combos c = {.names = r->label_names,
	    .n_names = r->n_label_names};
	const struct err *e = a == NULL ? err_nomem() : NULL;

	if (e == NULL)
		e = sets_each_of(q, r->label_names, r->n_label_names,
		    r->matchers, r->n_matchers, r->start, r->end, combos_take,
		    &c);
	if (e == NULL && (e = label_texts_finish(&c.texts)) == NULL) {
		a->labels_set = querier_array(q, c.texts.n,
		    sizeof(*a->labels_set));
		for (size_t i = 0; i < c.texts.n && e == NULL; i++) {
			if (a->labels_set == NULL || (a->labels_set[i] =
			    combo_make(q, c.texts.list[i])) == NULL)
				e = err_nomem();
		}
		a->n_labels_set = e == NULL ? c.texts.n : 0;
	}
	label_texts_fini(&c.texts);
	*answer = &a->base;
	return e;
}
