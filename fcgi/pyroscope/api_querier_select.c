/*
 * Flame graphs, profiles and comparisons.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "connect.pb-c.h"
#include "fcgi/format/flame/diff.h"
#include "fcgi/format/flame/doublebearer.h"
#include "fcgi/format/flame/flame.h"
#include "fcgi/format/writer.h"
#include "fcgi/pyroscope/callsite.h"
#include "fcgi/pyroscope/flameql.h"
#include "fcgi/pyroscope/querier.h"
#include "fcgi/query/pprof_page.h"
#include "pprof.pb-c.h"
#include "store/base/err.h"
#include "store/model/typeid.h"
#include "store/store.h"

#define MAX_NODES_DEFAULT 8192

/* ---- what is restricted ---- */

/* Ids of profiles, requests and spans are left out when a profile is taken,
 * and counted. */
static const struct err *
select_ids(const char *field, size_t n)
{
	return n == 0 ? NULL
		      : querier_refuse(field, "such ids are not stored");
}

/* The names of a call site, root first. */
static const struct err *
select_site(struct querier *q, const Connect__StackTraceSelector *s,
    const char ***names, size_t *n)
{
	*n = s != NULL ? s->n_call_site : 0;
	if (s != NULL && s->go_pgo != NULL)
		return querier_refuse("stack_trace_selector",
		    "go_pgo is not known here, call_site is");
	if ((*names = querier_array(q, *n, sizeof(**names))) == NULL)
		return err_nomem();
	for (size_t i = 0; i < *n; i++)
		(*names)[i] = s->call_site[i]->name;
	return NULL;
}

static const struct err *
select_stacks(struct querier *q, const Connect__StackTraceSelector *s,
    struct profile *p)
{
	const char **names;
	const struct err *e;
	size_t n;

	if ((e = select_site(q, s, &names, &n)) != NULL)
		return e;
	return callsite_keep(p, names, n);
}

/* Connect's numbers have 63 bits, and no amount is larger than the whole. */
static const struct err *
select_check_size(int128 whole, const char *unit)
{
	return whole <= INT64_MAX ? NULL : err_field(ERR_REQUEST, 413, "start",
	    "more than 2^63 %s: ask for a shorter range", unit);
}

static const struct err *
select_profile(struct querier *q, const char *id, const char *matchers,
    int64_t start, int64_t end, const char *split, struct profile **out)
{
	struct flameql ql;
	struct profile_query pq = {.split = split};
	const struct err *e;

	if ((e = querier_range(q, start, end, &pq.from_ns,
	    &pq.until_ns)) != NULL)
		return e;
	if (*id == '\0')
		return err_field(ERR_REQUEST, 400, "profile_typeID",
		    "is missing");
	e = flameql_parse_id(&ql, id, matchers);
	pq.selector = ql.selector;
	if (e == NULL)
		e = store_query_profile(q->store, &pq, out);
	if (e == NULL && (*out)->series > 0)
		e = flameql_check_unit(&ql, (*out)->unit);
	flameql_free(&ql);
	return e == NULL ? select_check_size((*out)->nodes[0].total,
	    (*out)->unit) : e;
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

		l->values[4 * i] = (int64_t)(frame->x - end);
		l->values[4 * i + 1] = (int64_t)frame->total;
		l->values[4 * i + 2] = (int64_t)frame->self;
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
	g->total = (int64_t)f->total;
	g->max_self = (int64_t)f->max_self;
	return g;
}

/* The profile that a request asks for, whatever becomes of it. */
static const struct err *
select_merged(struct querier *q,
    const Connect__SelectMergeStacktracesRequest *r, const char *split,
    struct profile **out)
{
	const struct err *e;

	if ((e = select_ids("profile_id_selector",
	    r->n_profile_id_selector)) != NULL ||
	    (e = select_ids("trace_id_selector",
	    r->n_trace_id_selector)) != NULL ||
	    (e = select_ids("span_selector", r->n_span_selector)) != NULL ||
	    (e = select_profile(q, r->profile_typeid, r->label_selector,
	    r->start, r->end, split, out)) != NULL)
		return e;
	return select_stacks(q, r->stack_trace_selector, *out);
}

static const struct err *
merge_flamegraph(struct querier *q, const struct profile *p,
    int64_t max_nodes, Connect__FlameGraph **out)
{
	struct flame_options o = {.max_nodes = max_nodes_of(max_nodes),
	    .other = "other"};
	uint32_t *index = NULL, *first = NULL;
	struct flame *f = NULL;
	const struct err *e = flame_new(&f, p, &o);

	if (e == NULL && !flame_by_level(f, &index, &first))
		e = err_nomem();
	if (e == NULL)
		*out = flame_graph(q, f, index, first);
	free(index);
	free(first);
	flame_free(f);
	return e;
}

/* ---- pprof ---- */

/* How a profile is asked for that becomes a pprof: labels of stacks are on
 * its samples where nothing is cut, for "other" has those of all. */
static const char *
pprof_split(int64_t max_nodes)
{
	return max_nodes <= 0 ? "" : NULL;
}

/* Nothing is cut where nothing is said of it. */
static const struct err *
merge_pprof(struct querier *q, const char *type_id, const char *matchers,
    struct profile *p, int64_t max_nodes, ProtobufCMessage **out)
{
	struct buf bytes = {0};
	struct flameql ql = {0};
	const struct err *e;
	struct typeid id;

	if ((e = callsite_prune(p, max_nodes)) == NULL &&
	    (e = typeid_parse(&id, type_id)) == NULL &&
	    (e = flameql_parse_id(&ql, type_id, matchers)) == NULL)
		e = pprof_page_put(&bytes, q->store, p,
		    selector_equals(ql.selector, "service"), id.type, false);
	flameql_free(&ql);
	if (e == NULL)
		*out = protobuf_c_message_unpack(&pprof__profile__descriptor,
		    &q->arena->allocator, bytes.len, bytes.data);
	buf_fini(&bytes);
	return e;
}

const struct err *
querier_merge_profile(struct querier *q, const ProtobufCMessage *request,
    ProtobufCMessage **answer)
{
	const Connect__SelectMergeProfileRequest *r =
	    (const Connect__SelectMergeProfileRequest *)request;
	struct profile *p = NULL;
	const struct err *e;

	if ((e = select_ids("profile_id_selector",
	    r->n_profile_id_selector)) == NULL)
		e = select_profile(q, r->profile_typeid, r->label_selector,
		    r->start, r->end, pprof_split(r->max_nodes), &p);
	if (e == NULL &&
	    (e = select_stacks(q, r->stack_trace_selector, p)) == NULL)
		e = merge_pprof(q, r->profile_typeid, r->label_selector, p,
		    r->max_nodes, answer);
	profile_free(p);
	return e;
}

/* ---- either ---- */

static const struct err *
merge_check_format(Connect__ProfileFormat format)
{
	switch (format) {
	case CONNECT__PROFILE_FORMAT__PROFILE_FORMAT_UNSPECIFIED:
	case CONNECT__PROFILE_FORMAT__PROFILE_FORMAT_FLAMEGRAPH:
	case CONNECT__PROFILE_FORMAT__PROFILE_FORMAT_PPROF:
		return NULL;
	case CONNECT__PROFILE_FORMAT__PROFILE_FORMAT_TREE:
	case CONNECT__PROFILE_FORMAT__PROFILE_FORMAT_DOT:
		return querier_refuse("format", "TREE and DOT are not written "
		    "here, FLAMEGRAPH and PPROF are");
	default:
		return err_field(ERR_REQUEST, 400, "format",
		    "%d is none of its values", (int)format);
	}
}

static const struct err *
merge_answer(struct querier *q,
    const Connect__SelectMergeStacktracesRequest *r, struct profile *p,
    Connect__SelectMergeStacktracesResponse *a)
{
	ProtobufCMessage *m = NULL;
	const struct err *e;

	if (r->format != CONNECT__PROFILE_FORMAT__PROFILE_FORMAT_PPROF)
		return merge_flamegraph(q, p, r->max_nodes, &a->flamegraph);
	a->pprof = querier_new(q, &connect__pprof_profile__descriptor);
	if (a->pprof == NULL)
		return NULL;
	e = merge_pprof(q, r->profile_typeid, r->label_selector, p,
	    r->max_nodes, &m);
	a->pprof->profile = (Pprof__Profile *)(void *)m;
	if (m == NULL)
		a->pprof = NULL;
	return e;
}

const struct err *
querier_merge_stacktraces(struct querier *q, const ProtobufCMessage *request,
    ProtobufCMessage **answer)
{
	const Connect__SelectMergeStacktracesRequest *r =
	    (const Connect__SelectMergeStacktracesRequest *)request;
	Connect__SelectMergeStacktracesResponse *a = querier_new(q,
	    &connect__select_merge_stacktraces_response__descriptor);
	struct profile *p = NULL;
	const struct err *e;

	if (a == NULL)
		return err_nomem();
	if ((e = merge_check_format(r->format)) == NULL &&
	    (e = select_merged(q, r,
	    r->format == CONNECT__PROFILE_FORMAT__PROFILE_FORMAT_PPROF
	    ? pprof_split(r->max_nodes) : NULL, &p)) == NULL)
		e = merge_answer(q, r, p, a);
	if (a->flamegraph != NULL || a->pprof != NULL)
		*answer = &a->base;
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
	struct doublebearer_options o = {.max_nodes = max_nodes,
	    .other = "other"};
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

/* Two sides are one flame graph, and nothing else. */
static const struct err *
diff_check(const Connect__SelectMergeStacktracesRequest *side)
{
	if (side->format == CONNECT__PROFILE_FORMAT__PROFILE_FORMAT_PPROF)
		return querier_refuse("format", "a difference is a flame "
		    "graph");
	return merge_check_format(side->format);
}

/* Both in one unit, as they are drawn on one scale; an empty side is in any. */
static const struct err *
diff_check_pair(const struct profile *a, const struct profile *b)
{
	if (a->series > 0 && b->series > 0 &&
	    (strcmp(a->unit, b->unit) != 0 || a->kind != b->kind))
		return err_field(ERR_REQUEST, 400, "right", "left counts %s "
		    "(%s), right counts %s (%s)", a->unit,
		    series_kind_name(a->kind), b->unit,
		    series_kind_name(b->kind));
	return select_check_size(a->nodes[0].total + b->nodes[0].total,
	    a->unit);
}

/* What the side that asks for more has asked for. */
static int64_t
diff_max_nodes(const Connect__DiffRequest *r)
{
	int64_t a = r->left->max_nodes, b = r->right->max_nodes;

	return max_nodes_of(a < 0 || b < 0 ? -1 : a > b ? a : b);
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
	for (int i = 0; i < 2 && e == NULL; i++) {
		e = diff_check(sides[i]);
		if (e == NULL)
			e = select_merged(q, sides[i], NULL, &p[i]);
	}
	if (e == NULL)
		e = diff_check_pair(p[0], p[1]);
	if (e == NULL && a != NULL)
		e = diff_make(q, p[0], p[1], diff_max_nodes(r),
		    &a->flamegraph);
	if (e == NULL && a != NULL && a->flamegraph != NULL) {
		a->flamegraph->leftticks = (int64_t)p[0]->nodes[0].total;
		a->flamegraph->rightticks = (int64_t)p[1]->nodes[0].total;
		*answer = &a->base;
	}
	profile_free(p[0]);
	profile_free(p[1]);
	return e;
}
