/*
 * Flame graphs, profiles, comparisons and sums over steps.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "connect.pb-c.h"
#include "fcgi/flameql.h"
#include "fcgi/format/diff.h"
#include "fcgi/format/doublebearer.h"
#include "fcgi/format/flame.h"
#include "fcgi/format/pprof.h"
#include "fcgi/format/writer.h"
#include "fcgi/querier.h"
#include "fcgi/typeid.h"
#include "pprof.pb-c.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/store.h"

#define MAX_NODES_DEFAULT 8192
#define GROUPS_MAX 16

/* A profile in its unit: these interfaces know no periods. */
static const struct err *
select_profile(struct querier *q, const char *id, const char *matchers,
    int64_t start, int64_t end, struct profile **out)
{
	struct flameql ql;
	struct profile_query pq = {0};
	const struct err *e;

	querier_range(q, start, end, &pq.from_ns, &pq.until_ns);
	e = *id == '\0' ? err_field(ERR_REQUEST, 400, "profile_typeID",
	    "is missing") : NULL;
	if (e != NULL)
		return e;
	e = flameql_parse_id(&ql, id, matchers);
	pq.selector = ql.selector;
	if (e == NULL)
		e = store_query_profile(q->store, &pq, out);
	flameql_free(&ql);
	if (e != NULL)
		return e;
	for (size_t i = 0; i < (*out)->n_nodes; i++) {
		(*out)->nodes[i].self *= (*out)->period;
		(*out)->nodes[i].total *= (*out)->period;
	}
	(*out)->period = 1;
	return NULL;
}

static int64_t
clamp(int128 v)
{
	return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN
							 : (int64_t)v;
}

static int64_t
max_nodes_of(int64_t asked)
{
	return asked == 0 ? MAX_NODES_DEFAULT : asked < 0 ? -1 : asked;
}

/* ---- a flame graph ---- */

static Connect__Level *
flame_level(struct querier *q, const struct flame *f, const uint32_t *index,
    size_t n)
{
	Connect__Level *l = querier_new(q, &connect__level__descriptor);
	int128 end = 0;

	if (l == NULL ||
	    (l->values = querier_array(q, 4 * n, sizeof(*l->values))) == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const struct flame_frame *frame = &f->frames[index[i]];

		l->values[4 * i] = clamp(frame->x - end);
		l->values[4 * i + 1] = clamp(frame->total);
		l->values[4 * i + 2] = clamp(frame->self);
		l->values[4 * i + 3] = frame->name;
		end = frame->x + frame->total;
	}
	l->n_values = 4 * n;
	return l;
}

static Connect__FlameGraph *
flame_graph(struct querier *q, const struct flame *f, const uint32_t *index,
    const uint32_t *first)
{
	Connect__FlameGraph *g =
	    querier_new(q, &connect__flame_graph__descriptor);

	if (g == NULL)
		return NULL;
	g->names = querier_array(q, f->n_names, sizeof(*g->names));
	g->levels = querier_array(q, f->n_levels, sizeof(*g->levels));
	if (g->names == NULL || g->levels == NULL)
		return NULL;
	for (size_t i = 0; i < f->n_names; i++)
		if ((g->names[i] = querier_text(q, f->names[i].text)) == NULL)
			return NULL;
	for (uint32_t l = 0; l < f->n_levels; l++)
		if ((g->levels[l] = flame_level(q, f, index + first[l],
		    first[l + 1] - first[l])) == NULL)
			return NULL;
	g->n_names = f->n_names;
	g->n_levels = f->n_levels;
	g->total = clamp(f->total);
	g->max_self = clamp(f->max_self);
	return g;
}

const struct err *
querier_merge_stacktraces(struct querier *q, const ProtobufCMessage *request,
    ProtobufCMessage **answer)
{
	const Connect__SelectMergeStacktracesRequest *r =
	    (const Connect__SelectMergeStacktracesRequest *)request;
	Connect__SelectMergeStacktracesResponse *a = querier_new(q,
	    &connect__select_merge_stacktraces_response__descriptor);
	struct flame_options o = {.max_nodes = max_nodes_of(r->max_nodes),
	    .other = "other"};
	uint32_t *index = NULL, *first = NULL;
	struct profile *p = NULL;
	struct flame *f = NULL;
	const struct err *e;

	e = select_profile(q, r->profile_typeid, r->label_selector, r->start,
	    r->end, &p);
	if (e == NULL)
		e = flame_new(&f, p, &o);
	if (e == NULL && (a == NULL || !flame_by_level(f, &index, &first)))
		e = err_nomem();
	if (e == NULL) {
		a->flamegraph = flame_graph(q, f, index, first);
		*answer = a->flamegraph != NULL ? &a->base : NULL;
	}
	free(index);
	free(first);
	flame_free(f);
	profile_free(p);
	return e;
}

/* ---- pprof ---- */

const struct err *
querier_merge_profile(struct querier *q, const ProtobufCMessage *request,
    ProtobufCMessage **answer)
{
	const Connect__SelectMergeProfileRequest *r =
	    (const Connect__SelectMergeProfileRequest *)request;
	struct profile *p = NULL;
	struct buf bytes = {0};
	const struct err *e;
	struct typeid id;

	e = select_profile(q, r->profile_typeid, r->label_selector, r->start,
	    r->end, &p);
	if (e == NULL && (e = typeid_parse(&id, r->profile_typeid)) == NULL)
		e = pprof_write(&bytes, p, id.type, false);
	if (e == NULL)
		*answer = protobuf_c_message_unpack(
		    &pprof__profile__descriptor, &q->arena->allocator,
		    bytes.len, bytes.data);
	buf_fini(&bytes);
	profile_free(p);
	return e;
}

/* ---- two flame graphs ---- */

static Connect__Level *
diff_level(struct querier *q, struct json_object *values)
{
	Connect__Level *l = querier_new(q, &connect__level__descriptor);
	size_t n = json_object_array_length(values);

	if (l == NULL ||
	    (l->values = querier_array(q, n, sizeof(*l->values))) == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++)
		l->values[i] = json_object_get_int64(
		    json_object_array_get_idx(values, i));
	l->n_values = n;
	return l;
}

/* The member "flamebearer" that doublebearer_put() has written. */
static Connect__FlameGraphDiff *
diff_graph(struct querier *q, struct json_object *f)
{
	Connect__FlameGraphDiff *g =
	    querier_new(q, &connect__flame_graph_diff__descriptor);
	struct json_object *names, *levels, *v;
	size_t n;

	if (g == NULL || !json_object_object_get_ex(f, "names", &names) ||
	    !json_object_object_get_ex(f, "levels", &levels))
		return NULL;
	n = json_object_array_length(names);
	if ((g->names = querier_array(q, n, sizeof(*g->names))) == NULL)
		return NULL;
	for (; g->n_names < n; g->n_names++)
		if ((g->names[g->n_names] = querier_text(q,
		    json_object_get_string(json_object_array_get_idx(names,
		    g->n_names)))) == NULL)
			return NULL;
	n = json_object_array_length(levels);
	if ((g->levels = querier_array(q, n, sizeof(*g->levels))) == NULL)
		return NULL;
	for (; g->n_levels < n; g->n_levels++)
		if ((g->levels[g->n_levels] = diff_level(q,
		    json_object_array_get_idx(levels, g->n_levels))) == NULL)
			return NULL;
	if (json_object_object_get_ex(f, "numTicks", &v))
		g->total = json_object_get_int64(v);
	if (json_object_object_get_ex(f, "maxSelf", &v))
		g->max_self = json_object_get_int64(v);
	return g;
}

static const struct err *
diff_make(struct querier *q, const struct profile *a, const struct profile *b,
    int64_t max_nodes, Connect__FlameGraphDiff **out)
{
	struct doublebearer_options o = {max_nodes, "other", false};
	struct buf text = {0};
	struct writer w = writer_of(&text);
	struct json_object *all = NULL, *f;
	struct diff *d;
	const struct err *e;

	if ((e = diff_new(&d, a, b)) != NULL)
		return e;
	writer_open(&w, '{');
	e = doublebearer_put(&w, d, &o);
	writer_close(&w, '}');
	buf_put_u8(&text, 0);
	if (e == NULL && !text.failed)
		all = json_tokener_parse((const char *)text.data);
	if (all != NULL && json_object_object_get_ex(all, "flamebearer", &f))
		*out = diff_graph(q, f);
	json_object_put(all);
	buf_fini(&text);
	diff_free(d);
	return e;
}

const struct err *
querier_diff(struct querier *q, const ProtobufCMessage *request,
    ProtobufCMessage **answer)
{
	const Connect__DiffRequest *r = (const Connect__DiffRequest *)request;
	const Connect__SelectMergeStacktracesRequest *sides[2] = {r->left,
	    r->right};
	Connect__DiffResponse *a =
	    querier_new(q, &connect__diff_response__descriptor);
	struct profile *p[2] = {NULL, NULL};
	const struct err *e = NULL;

	if (r->left == NULL || r->right == NULL)
		return err_field(ERR_REQUEST, 400, "left",
		    "left and right are needed");
	for (int i = 0; i < 2 && e == NULL; i++)
		e = select_profile(q, sides[i]->profile_typeid,
		    sides[i]->label_selector, sides[i]->start, sides[i]->end,
		    &p[i]);
	if (e == NULL && a != NULL)
		e = diff_make(q, p[0], p[1], max_nodes_of(r->left->max_nodes),
		    &a->flamegraph);
	if (e == NULL && a != NULL && a->flamegraph != NULL) {
		a->flamegraph->leftticks = clamp(p[0]->nodes[0].total);
		a->flamegraph->rightticks = clamp(p[1]->nodes[0].total);
		*answer = &a->base;
	}
	profile_free(p[0]);
	profile_free(p[1]);
	return e;
}

/* ---- sums over steps ---- */

static Connect__Point **
series_points(struct querier *q, const struct totals *t,
    const struct totals_group *g, const struct totals_query *tq,
    bool average, size_t *n)
{
	Connect__Point **points = querier_array(q, t->n_steps,
	    sizeof(*points));

	*n = 0;
	for (size_t i = 0; points != NULL && i < t->n_steps; i++) {
		int64_t end = tq->from_ns + (int64_t)(i + 1) * tq->step_ns;
		Connect__Point *p;

		if (g->steps[i].count == 0)
			continue;
		p = querier_new(q, &connect__point__descriptor);
		if (p == NULL)
			return NULL;
		p->value = (double)g->steps[i].sum;
		if (average)
			p->value /= (double)g->steps[i].count;
		p->timestamp = (end < tq->until_ns ? end : tq->until_ns) /
		    NS_PER_MS;
		points[(*n)++] = p;
	}
	return points;
}

static Connect__Series *
series_make(struct querier *q, const struct totals *t,
    const struct totals_group *g, const struct totals_query *tq, bool average)
{
	Connect__Series *s = querier_new(q, &connect__series__descriptor);

	if (s == NULL || (s->labels = querier_array(q, g->n_labels,
	    sizeof(*s->labels))) == NULL)
		return NULL;
	for (size_t i = 0; i < g->n_labels; i++) {
		Connect__LabelPair *l =
		    querier_new(q, &connect__label_pair__descriptor);

		if (l == NULL)
			return NULL;
		l->name = querier_text(q,
		    querier_label_name(g->labels[i].name));
		l->value = querier_text(q, g->labels[i].value);
		if (l->name == NULL || l->value == NULL)
			return NULL;
		s->labels[s->n_labels++] = l;
	}
	s->points = series_points(q, t, g, tq, average, &s->n_points);
	return s->points != NULL ? s : NULL;
}

/* Whole slots: from down, until up, the step to a multiple. */
static const struct err *
series_ask(struct querier *q, const Connect__SelectSeriesRequest *r,
    struct totals_query *tq, struct totals **out)
{
	const char *split[GROUPS_MAX];
	struct store_extent extent;
	struct flameql ql;
	const struct err *e;
	int64_t slot, step;

	if (r->n_group_by > GROUPS_MAX)
		return err_field(ERR_REQUEST, 400, "group_by",
		    "more than %d labels", GROUPS_MAX);
	store_extent(q->store, &extent);
	slot = extent.slot_ns;
	step = r->step > 0 && r->step < 1e9
	    ? (int64_t)(r->step * (double)NS_PER_S) : 15 * NS_PER_S;
	querier_range(q, r->start, r->end, &tq->from_ns, &tq->until_ns);
	tq->from_ns = tq->from_ns / slot * slot;
	tq->until_ns = (tq->until_ns + slot - 1) / slot * slot;
	tq->step_ns = (step + slot - 1) / slot * slot;
	for (size_t i = 0; i < r->n_group_by; i++)
		split[i] = flameql_label(r->group_by[i]);
	tq->split = split;
	tq->n_split = r->n_group_by;
	if (*r->profile_typeid == '\0')
		return err_field(ERR_REQUEST, 400, "profile_typeID",
		    "is missing");
	e = flameql_parse_id(&ql, r->profile_typeid, r->label_selector);
	tq->selector = ql.selector;
	if (e == NULL)
		e = store_query_totals(q->store, tq, out);
	flameql_free(&ql);
	return e;
}

const struct err *
querier_select_series(struct querier *q, const ProtobufCMessage *request,
    ProtobufCMessage **answer)
{
	const Connect__SelectSeriesRequest *r =
	    (const Connect__SelectSeriesRequest *)request;
	Connect__SelectSeriesResponse *a =
	    querier_new(q, &connect__select_series_response__descriptor);
	struct totals_query tq = {0};
	struct totals *t = NULL;
	const struct err *e = series_ask(q, r, &tq, &t);

	if (e == NULL && a != NULL)
		a->series = querier_array(q, t->n_groups, sizeof(*a->series));
	if (e == NULL && (a == NULL || a->series == NULL))
		e = err_nomem();
	for (size_t i = 0; e == NULL && i < t->n_groups; i++) {
		if (r->limit > 0 && (int64_t)i == r->limit)
			break;
		a->series[i] = series_make(q, t, &t->groups[i], &tq,
		    r->aggregation == 1);
		if (a->series[i] == NULL)
			e = err_nomem();
		else
			a->n_series++;
	}
	totals_free(t);
	*answer = &a->base;
	return e;
}
