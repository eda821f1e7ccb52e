/*
 * GET /api/v1/graph.json, .dot and .svg: what a target is built of, so many
 * levels deep, where that was read, the command that prints the same, and
 * what each part costs of a profile, or of two.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "fcgi/graph/graph_cache.h"
#include "fcgi/graph/graph_cost.h"
#include "fcgi/graph/graph_target.h"
#include "fcgi/graph/graph_told.h"
#include "fcgi/graph/pages.h"
#include "fcgi/graph/read/graph_read.h"
#include "fcgi/query/places.h"
#include "fcgi/query/profile_page.h"
#include "fcgi/server/context.h"
#include "fcgi/server/draw.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/settings.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define FUNCTIONS_MAX 200 /* of one node that are told */
#define LAYOUT_NODES_MAX 1500 /* that a picture is made of */
#define READABLE_NODES 200 /* from which on collapse=auto draws packages */

struct graph_page {
	struct context *context;
	const struct request *request;
	struct graph_target target;
	unsigned depth;
	size_t collapse; /* COLLAPSE_NONE, ... */
	bool collapsed;
	int64_t plain;
	unsigned sides; /* profiles that are asked for */
	struct profile_page side[2];
	struct graph_cost cost[2];
	struct graph *graph; /* what is shown */
};

enum { COLLAPSE_NONE, COLLAPSE_PACKAGES, COLLAPSE_AUTO };

/* Writes one form of the answer. */
typedef const struct err *graph_put_fn(const struct graph_page *page,
    struct buf *out);

/* ---- the question ---- */

static const struct err *
graph_parse_depth(struct graph_page *page, const struct request *rq)
{
	const char *text = request_text(rq, "depth");
	const struct err *e;
	int64_t depth;

	page->depth = GRAPH_ALL;
	if (text != NULL && strcmp(text, "all") == 0)
		return NULL;
	e = request_int(rq, "depth", 2, GRAPH_DEPTH_MAX, 2, &depth);
	page->depth = (unsigned)depth;
	return e;
}

/* "query" and "from" and "until", or the same with "-b", which are as the
 * first where they are absent. */
static const struct err *
graph_parse_side(struct graph_page *page, const struct request *rq,
    unsigned i)
{
	struct profile_page *p = &page->side[i];
	const char *query = request_text(rq, i == 0 ? "query" : "query-b");
	const struct err *e;

	*p = (struct profile_page){.why = "", .query = query};
	if (i == 1) {
		if (query == NULL)
			p->query = page->side[0].query;
		p->from_ns = page->side[0].from_ns;
		p->until_ns = page->side[0].until_ns;
	}
	if ((e = i == 0 ? request_range(rq, &p->from_ns, &p->until_ns)
	    : request_range_of(rq, "from-b", "until-b", &p->from_ns,
	        &p->until_ns)) != NULL)
		return e;
	page->sides = i + 1;
	e = selector_parse(p->query, &p->selector);
	return e == NULL || i == 0 ? e : err_field(e->domain, e->code,
	    "query-b", "%s", e->text);
}

static const struct err *
graph_parse(struct graph_page *page, const struct request *rq)
{
	static const char *const collapses[] = {"0", "1", "auto", NULL};
	const struct err *e;

	if ((e = graph_parse_depth(page, rq)) != NULL ||
	    (e = request_choice(rq, "collapse", collapses, COLLAPSE_NONE,
	    &page->collapse)) != NULL ||
	    (e = request_int(rq, "plain", 0, 1, 0, &page->plain)) != NULL)
		return e;
	if (request_text(rq, "query") == NULL)
		return NULL;
	if ((e = graph_parse_side(page, rq, 0)) == NULL &&
	    (request_text(rq, "query-b") != NULL ||
	    request_text(rq, "from-b") != NULL ||
	    request_text(rq, "until-b") != NULL))
		e = graph_parse_side(page, rq, 1);
	return e;
}

/* ---- the answer ---- */

static const struct err *
graph_add_cost(struct graph_page *page, struct response *rs, struct graph *g,
    unsigned i)
{
	struct profile_page *p = &page->side[i];
	struct places *places = NULL;
	const struct err *e;

	if ((e = context_store(page->context, &p->store)) != NULL)
		return e;
	profile_page_widen(p, rs);
	p->by_module = true;
	if ((e = profile_page_ask(p)) != NULL ||
	    (e = places_read(&places, p->store,
	        selector_equals(p->selector, "service"), p->from_ns,
	        p->until_ns)) != NULL)
		return e;
	page->cost[i].node = request_text(page->request, "node");
	page->cost[i].function = request_text(page->request, "function");
	page->cost[i].one_service =
	    selector_equals(p->selector, "service") != NULL;
	e = graph_cost_add(g, p->profile, places, i, &page->cost[i]);
	places_free(places);
	return e;
}

static const struct err *
graph_check_units(const struct graph_page *page)
{
	const struct profile *a = page->side[0].profile;
	const struct profile *b = page->side[1].profile;

	if (page->sides < 2 || a->series == 0 || b->series == 0 ||
	    strcmp(a->unit, b->unit) == 0)
		return NULL;
	return err_field(ERR_REQUEST, 422, "query-b", "A counts %s, B counts "
	    "%s", a->unit, b->unit);
}

/* Which build of the program ran, of its graph's if that did; or "". */
static const char *
graph_seen_build(const struct graph_page *page, unsigned side)
{
	const struct graph_cost *c = &page->cost[side];
	const char *own = page->graph->origin.build_id, *most = "";

	for (size_t i = 0; i < c->n_builds; i++) {
		if (own != NULL && strcmp(c->builds[i].id, own) == 0)
			return own;
		if (*most == '\0')
			most = c->builds[i].id;
	}
	return most;
}

/* Is what was sampled another build than the graph's? */
static bool
graph_is_other_build(const struct graph_page *page, unsigned side)
{
	const char *own = page->graph->origin.build_id,
	    *seen = graph_seen_build(page, side);

	return *seen != '\0' && own != NULL && strcmp(seen, own) != 0;
}

/* The node that is asked for is somewhere in the graph. */
static const struct err *
graph_check_node(const struct graph_page *page, const struct graph *g)
{
	const char *node = request_text(page->request, "node");

	if (node == NULL || graph_find(g, node) != UINT32_MAX)
		return NULL;
	return err_field(ERR_REQUEST, 404, "node", "the graph has no node "
	    "\"%.200s\"", node);
}

/* Packages where they are asked for, or where there are too many nodes to
 * be read one by one and fewer packages. */
static const struct err *
graph_collapse_page(struct graph_page *page, struct graph **g, uint32_t *root)
{
	const struct graph_node *n = &(*g)->nodes[*root];
	const char *name = n->package != NULL ? n->package : n->name;
	struct graph *part, *packages;
	size_t many = SIZE_MAX;

	if (page->collapse == COLLAPSE_NONE)
		return NULL;
	if (page->collapse == COLLAPSE_AUTO) {
		part = graph_cut(*g, *root, page->depth);
		if (part == NULL)
			return err_nomem();
		many = part->n_nodes;
		graph_free(part);
		if (many <= READABLE_NODES)
			return NULL;
	}
	packages = graph_collapse(*g);
	if (packages == NULL)
		return err_nomem();
	if (packages->n_nodes >= many) {
		graph_free(packages);
		return NULL;
	}
	*root = graph_find(packages, name);
	graph_free(*g);
	*g = packages;
	page->collapsed = true;
	return NULL;
}

/* From the whole graph to what is shown of it. */
static const struct err *
graph_shape(struct graph_page *page, struct response *rs, struct graph **g,
    uint32_t root)
{
	const struct err *e = graph_collapse_page(page, g, &root);

	for (unsigned i = 0; e == NULL && i < page->sides; i++)
		e = graph_add_cost(page, rs, *g, i);
	if (e == NULL && (e = graph_check_units(page)) == NULL &&
	    (e = graph_check_node(page, *g)) == NULL) {
		page->graph = graph_cut(*g, root, page->depth);
		if (page->graph == NULL)
			e = err_nomem();
	}
	return e;
}

static const struct err *
graph_make(struct graph_page *page, struct response *rs, graph_put_fn *put)
{
	uint32_t root;
	struct graph *g;
	const struct err *e;

	if ((e = graph_target_load(&page->target, page->context, &g,
	    &root)) != NULL)
		return e;
	e = graph_shape(page, rs, &g, root);
	graph_free(g);
	return e == NULL ? put(page, &rs->body) : e;
}

/* ---- JSON ---- */

/* What nobody has sampled is no data, and not 0. */
static bool
graph_has_data(const struct graph_page *page, unsigned side)
{
	return page->side[side].profile->slots > 0;
}

static void
graph_put_amount(struct writer *w, const struct graph_page *page,
    const char *key, unsigned side, int128 v)
{
	writer_key(w, key);
	if (graph_has_data(page, side))
		writer_int128(w, v);
	else
		writer_null(w);
}

/* Which other code ran under the program's name. */
static void
graph_put_builds(struct buf *text, const struct graph_page *page,
    unsigned side)
{
	const struct graph_cost *c = &page->cost[side];
	const char *in = page->sides < 2 ? "" : side == 0 ? " in A" : " in B";
	bool other = graph_is_other_build(page, side);

	if (other)
		buf_printf(text, "; what was sampled%s is another build of "
		    "it, %s", in, graph_seen_build(page, side));
	for (size_t i = 0; i < c->n_builds; i++)
		if (!c->builds[i].own)
			buf_printf(text, "; %s program or build of that "
			    "name, %s, ran%s and is a node of its own",
			    other ? "the" : "another", c->builds[i].id, in);
}

/* What was read, and what speaks against it. */
static void
graph_put_origin(struct writer *w, const struct graph_page *page)
{
	const struct graph_origin *o = &page->graph->origin;
	struct buf text = {0};

	buf_printf(&text, "%s%s", o->source != NULL ? o->source : "",
	    graph_target_is_newer(&page->target) ? "; that file is newer than "
	    "the process that began with its name, which may run another"
	    : "");
	if (page->target.told_ns > page->target.until_ns)
		buf_printf(&text, "; nobody told it before the end of this "
		    "range");
	graph_put_bounds(&text, page->graph);
	for (unsigned i = 0; i < page->sides; i++)
		graph_put_builds(&text, page, i);
	writer_key(w, "source");
	writer_strn(w, (const char *)text.data, text.len);
	buf_fini(&text);
}

/* What was read, when it was written, and how to see the same.  What a file
 * of bazel does not say, whether deeper levels are missing, is null. */
static void
graph_put_source(struct writer *w, const struct graph_page *page)
{
	const struct graph_origin *o = &page->graph->origin;
	const char *seen = "";
	bool other = false;
	struct buf text = {0};

	for (unsigned i = 0; i < page->sides; i++) {
		other = other || graph_is_other_build(page, i);
		if (*seen == '\0' || graph_is_other_build(page, i))
			seen = graph_seen_build(page, i);
	}
	graph_put_origin(w, page);
	writer_key_seconds(w, "time", o->time_ns);
	writer_key(w, "told");
	if (page->target.told_ns != 0)
		writer_seconds(w, page->target.told_ns);
	else
		writer_null(w);
	writer_key_str(w, "build_id", o->build_id != NULL ? o->build_id : "");
	writer_key_str(w, "seen_build_id", seen);
	writer_key(w, "same_build");
	if (*seen != '\0' && o->build_id != NULL)
		writer_bool(w, !other);
	else
		writer_null(w);
	graph_put_command(&text, page->graph, page->depth, page->collapsed);
	writer_key(w, "command");
	writer_strn(w, (const char *)text.data, text.len);
	buf_fini(&text);
	writer_key(w, "complete");
	if (o->complete == GRAPH_PARTLY || page->graph->over != 0)
		writer_bool(w, false);
	else if (o->complete == GRAPH_WHOLE && !other &&
	    !graph_target_is_newer(&page->target))
		writer_bool(w, true);
	else
		writer_null(w);
}

static void
graph_put_amounts(struct writer *w, const struct graph_page *page,
    const char *key, const int128 v[2])
{
	if (page->sides == 0)
		return;
	graph_put_amount(w, page, key, 0, v[0]);
	if (page->sides == 2)
		graph_put_amount(w, page, key[0] == 's' ? "self_b"
		    : key[0] == 't' ? "total_b" : "calls_b", 1, v[1]);
}

static void
graph_put_nodes(struct writer *w, const struct graph_page *page)
{
	const struct graph *g = page->graph;

	writer_key_open(w, "nodes", '[');
	for (size_t i = 0; i < g->n_nodes; i++) {
		const struct graph_node *n = &g->nodes[i];

		writer_open(w, '{');
		writer_key_str(w, "id", n->name);
		writer_key_str(w, "name", n->name);
		writer_key_str(w, "label", n->name);
		writer_key_str(w, "kind", graph_kind_name(n->kind));
		writer_key(w, "level");
		if (n->level == GRAPH_BESIDE)
			writer_null(w);
		else
			writer_int(w, n->level);
		if (n->package != NULL)
			writer_key_str(w, "package", n->package);
		writer_key(w, "bytes");
		if (n->bytes >= 0)
			writer_int(w, n->bytes);
		else
			writer_null(w);
		graph_put_amounts(w, page, "self", n->self);
		graph_put_amounts(w, page, "total", n->total);
		writer_close(w, '}');
	}
	writer_close(w, ']');
}

static void
graph_put_edges(struct writer *w, const struct graph_page *page)
{
	const struct graph *g = page->graph;

	writer_key_open(w, "edges", '[');
	for (size_t i = 0; i < g->n_edges; i++) {
		const struct graph_edge *e = &g->edges[i];

		writer_open(w, '{');
		writer_key_str(w, "from", g->nodes[e->from].name);
		writer_key_str(w, "to", g->nodes[e->to].name);
		writer_key_str(w, "kind", graph_edge_kind_name(e->kind));
		if (e->last) {
			writer_key(w, "last");
			writer_bool(w, true);
		}
		if (e->label != NULL)
			writer_key_str(w, "label", e->label);
		graph_put_amounts(w, page, "calls", e->calls);
		writer_close(w, '}');
	}
	writer_close(w, ']');
}

/* One profile: its amounts, and which of them no shown node has. */
static void
graph_put_profile(struct writer *w, const struct graph_page *page,
    unsigned i)
{
	const struct graph_cost *cost = &page->cost[i];
	int128 shown = 0;

	for (size_t k = 0; k < page->graph->n_nodes; k++)
		shown += page->graph->nodes[k].self[i];
	writer_key_open(w, i == 0 ? "profile" : "profile_b", '{');
	profile_page_put(w, &page->side[i]);
	graph_put_amount(w, page, "unknown", i, cost->unknown);
	graph_put_amount(w, page, "beyond", i,
	    cost->total - cost->unknown - shown);
	writer_close(w, '}');
}

static void
graph_put_function(struct writer *w, const struct graph_function *f)
{
	writer_open(w, '{');
	writer_key_str(w, "name", f->name);
	writer_key_int128(w, "self", f->self);
	writer_key_int128(w, "total", f->total);
	writer_close(w, '}');
}

/* Of the node that is asked for, in each profile. */
static void
graph_put_functions(struct writer *w, const struct graph_page *page)
{
	if (page->sides == 0 || page->cost[0].node == NULL)
		return;
	writer_key_open(w, "node", '{');
	writer_key_str(w, "id", page->cost[0].node);
	for (unsigned side = 0; side < page->sides; side++) {
		const struct graph_cost *c = &page->cost[side];

		writer_key_int(w, side == 0 ? "functions" : "functions_b",
		    (int64_t)c->n_functions);
		writer_key_open(w, side == 0 ? "rows" : "rows_b", '[');
		for (size_t i = 0; i < c->n_functions && i < FUNCTIONS_MAX;
		     i++)
			graph_put_function(w, &c->functions[i]);
		writer_close(w, ']');
	}
	writer_close(w, '}');
}

static bool
graph_is_exact(const struct graph_page *page, const struct graph_home *home)
{
	return strcmp(home->function, page->cost[0].function) == 0;
}

/* Does a profile have a function that is called so to the letter?  Others,
 * with parameters behind that, are not asked for then. */
static bool
graph_has_exact(const struct graph_page *page)
{
	for (unsigned side = 0; side < page->sides; side++)
		for (size_t i = 0; i < page->cost[side].n_homes; i++)
			if (graph_is_exact(page, &page->cost[side].homes[i]))
				return true;
	return false;
}

static void
graph_put_home(struct writer *w, const struct graph_home *home)
{
	writer_open(w, '{');
	writer_key(w, "id");
	home->node != NULL ? writer_str(w, home->node) : writer_null(w);
	writer_key_str(w, "name", home->function);
	writer_key_int128(w, "self", home->self);
	writer_key_int128(w, "total", home->total);
	writer_close(w, '}');
}

/* The nodes that have the function that is asked for, or those of its
 * name. */
static void
graph_put_homes(struct writer *w, const struct graph_page *page)
{
	bool exact;

	if (page->sides == 0 || page->cost[0].function == NULL)
		return;
	exact = graph_has_exact(page);
	writer_key_open(w, "function", '{');
	writer_key_str(w, "name", page->cost[0].function);
	for (unsigned side = 0; side < page->sides; side++) {
		const struct graph_cost *c = &page->cost[side];

		writer_key_open(w, side == 0 ? "nodes" : "nodes_b", '[');
		for (size_t i = 0; i < c->n_homes; i++)
			if (!exact || graph_is_exact(page, &c->homes[i]))
				graph_put_home(w, &c->homes[i]);
		writer_close(w, ']');
	}
	writer_close(w, '}');
}

/* All that can be asked for, configured first. */
static const struct err *
graph_put_targets(struct writer *w, const struct graph_page *page)
{
	const struct settings *settings = page->context->settings;
	int64_t now_ns = page->request->now_ns;
	const struct err *e = NULL;
	struct buf names = {0};
	struct store *s;

	writer_key_open(w, "targets", '[');
	for (size_t i = 0; i < settings->n_graphs; i++)
		writer_str(w, settings->graphs[i].name);
	if (context_store(page->context, &s) == NULL)
		e = graph_told_names(&names, s, now_ns, now_ns);
	for (size_t at = 0; e == NULL && at < names.len;) {
		const char *name = (const char *)names.data + at;

		if (settings_find_graph(settings, name) == NULL)
			writer_str(w, name);
		at += strlen(name) + 1;
	}
	writer_close(w, ']');
	buf_fini(&names);
	return e;
}

static const struct err *
graph_put_json(const struct graph_page *page, struct buf *out)
{
	struct writer w = writer_of(out);
	const struct err *e;

	writer_open(&w, '{');
	writer_key_str(&w, "target", page->target.name);
	e = graph_put_targets(&w, page);
	writer_key(&w, "depth");
	if (page->depth == GRAPH_ALL)
		writer_str(&w, "all");
	else
		writer_int(&w, page->depth);
	writer_key(&w, "collapsed");
	writer_bool(&w, page->collapsed);
	graph_put_source(&w, page);
	for (unsigned i = 0; i < page->sides; i++)
		graph_put_profile(&w, page, i);
	graph_put_functions(&w, page);
	graph_put_homes(&w, page);
	graph_put_nodes(&w, page);
	graph_put_edges(&w, page);
	writer_close(&w, '}');
	return e;
}

/* ---- DOT and pictures ---- */

static struct graph_shares
graph_shares_of(const struct graph_page *page)
{
	struct graph_shares shares = {.sides = page->sides};

	for (unsigned i = 0; i < page->sides; i++)
		shares.total[i] = page->cost[i].total;
	return shares;
}

static const struct err *
graph_put_dot_text(const struct graph_page *page, struct buf *out)
{
	struct graph_shares shares = graph_shares_of(page);

	shares.room = page->plain != 0;
	graph_put_dot_cost(out, page->graph, &shares);
	return NULL;
}

/* The layout, which is the same whatever nodes cost, is made once. */
static const struct err *
graph_put_layout(const struct graph_page *page, struct buf *out)
{
	struct graph_shares shares = graph_shares_of(page);
	struct context *c = page->context;
	struct buf dot = {0};
	const struct err *e = NULL;
	uint64_t stamp;

	if (page->graph->n_nodes > LAYOUT_NODES_MAX)
		return err_field(ERR_REQUEST, 413, "depth", "%zu nodes are "
		    "more than a picture of %d: collapse=1 draws packages",
		    page->graph->n_nodes, LAYOUT_NODES_MAX);
	shares.room = true;
	graph_put_dot_cost(&dot, page->graph, &shares);
	stamp = hash64(0, dot.data, dot.len);
	if (dot.failed)
		e = err_nomem();
	else if (!graph_cache_get(c->graphs, "svg", stamp, out) &&
	    (e = draw_graph(c->draw, &dot, out)) == NULL)
		graph_cache_put(&c->graphs, "svg", stamp, out);
	buf_fini(&dot);
	return e;
}

static const struct err *
graph_put_svg(const struct graph_page *page, struct buf *out)
{
	struct graph_shares shares = graph_shares_of(page);
	struct buf layout = {0};
	const struct err *e;

	if (page->sides == 0 || page->plain)
		return graph_put_layout(page, out);
	e = graph_put_layout(page, &layout);
	if (e == NULL && (layout.failed ||
	        !graph_paint(out, &layout, page->graph, &shares)))
		e = err_nomem();
	buf_fini(&layout);
	return e;
}

static void
graph_page_free(struct graph_page *page)
{
	for (unsigned i = 0; i < page->sides; i++) {
		profile_page_fini(&page->side[i]);
		graph_cost_fini(&page->cost[i]);
	}
	graph_target_fini(&page->target);
	graph_free(page->graph);
	free(page);
}

/* The end of what is asked for. */
static int64_t
graph_until(const struct graph_page *page)
{
	int64_t until_ns = page->request->now_ns;

	for (unsigned i = 0; i < page->sides; i++)
		if (i == 0 || page->side[i].until_ns > until_ns)
			until_ns = page->side[i].until_ns;
	return until_ns;
}

static const struct err *
graph_answer(struct context *c, const struct request *rq, struct response *rs,
    const char *type, graph_put_fn *put)
{
	struct graph_page *page = calloc(1, sizeof(*page));
	const struct err *e;

	if (page == NULL)
		return err_nomem();
	rs->type = type;
	page->context = c;
	page->request = rq;
	e = graph_parse(page, rq);
	if (e == NULL)
		e = graph_target_find(&page->target, c, rq,
		    request_text(rq, "target"), graph_until(page));
	if (e == NULL && (page->sides > 0 ||
	    !response_unchanged_tag(rs, rq, page->target.stamp)))
		e = graph_make(page, rs, put);
	graph_page_free(page);
	return e;
}

const struct err *
api_graph_json(struct context *c, struct request *rq, struct response *rs)
{
	return graph_answer(c, rq, rs, TYPE_JSON, graph_put_json);
}

const struct err *
api_graph_dot(struct context *c, struct request *rq, struct response *rs)
{
	return graph_answer(c, rq, rs, "text/vnd.graphviz; charset=utf-8",
	    graph_put_dot_text);
}

const struct err *
api_graph_svg(struct context *c, struct request *rq, struct response *rs)
{
	return graph_answer(c, rq, rs, TYPE_SVG, graph_put_svg);
}
