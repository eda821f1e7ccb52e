/*
 * GET /api/v1/graph.json, .dot and .svg: what a target is built of, so many
 * levels deep, where that was read, the command that prints the same, and
 * what each part costs of a profile, or of two.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/graph/graph_cache.h"
#include "fcgi/graph/graph_json.h"
#include "fcgi/graph/graph_page.h"
#include "fcgi/graph/pages.h"
#include "fcgi/graph/read/graph_read.h"
#include "fcgi/query/places.h"
#include "fcgi/server/context.h"
#include "fcgi/server/draw.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/err.h"

#define LAYOUT_NODES_MAX 1500 /* that a picture is made of */
#define READABLE_NODES 200 /* from which on collapse=auto draws packages */

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
