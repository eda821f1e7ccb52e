/*
 * A dependency graph as JSON: where it was read, how to print the same, nodes,
 * edges, and what they cost.
 */
#include "fcgi/graph/graph_json.h"

#include <string.h>

#include "fcgi/format/writer.h"
#include "fcgi/graph/graph_page.h"
#include "fcgi/graph/graph_told.h"
#include "fcgi/graph/read/graph_read.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/settings.h"
#include "store/base/err.h"

#define FUNCTIONS_MAX 200 /* of one node that are told */

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

const struct err *
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
