/*
 * The graph of a build below its program; bytes by functions.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/graph/read/graph_private.h"
#include "fcgi/memlens/program_parts.h"
#include "fcgi/symbolize/symbolize.h"
#include "store/base/err.h"

#define NONE UINT32_MAX

struct build_owner {
	struct graph *g;
	struct symbolizer *lines; /* NULL: no debug information */
	struct symbolized *frames;
};

/* Whose a function is; by_name: so the store's reader knows, too. */
static uint32_t
build_owner_of(const struct build_owner *o, const struct program_symbol *y,
    bool *by_name)
{
	uint32_t node = graph_of_name(o->g, y->name);

	*by_name = node < o->g->n_nodes;
	if (*by_name)
		return node;
	if (graph_is_rust_own(o->g, y->name)) {
		*by_name = true;
		return graph_find(o->g, GRAPH_RUST_OWN);
	}
	if (o->lines == NULL || symbolizer_find(o->lines, y->address,
	        o->frames) == 0 || o->frames[0].file == NULL)
		return NONE;
	return graph_of_file(o->g, o->frames[0].file,
	    strlen(o->frames[0].file));
}

/* One whose owner is not known makes others of its name nobody's, too. */
static void
build_share_names(struct build_owner *o, const struct program_symbols *s)
{
	bool by_name;

	graph_settle(o->g);
	for (size_t i = 0; i < s->n && !o->g->failed; i++) {
		const struct program_symbol *y = &s->items[i];

		if (y->function && graph_owner(o->g, GRAPH_BY_FUNCTION,
		        y->name, strlen(y->name)) < o->g->n_nodes &&
		    build_owner_of(o, y, &by_name) >= o->g->n_nodes)
			graph_own(o->g, GRAPH_BY_FUNCTION, y->name,
			    GRAPH_BOTH);
	}
	graph_settle(o->g);
}

/* Symbols are by address: a second name of one function has no bytes. */
static void
build_own(struct build_owner *o, const struct program_symbols *s)
{
	uint64_t end = 0;
	bool by_name = true;

	for (size_t i = 0; i < s->n && !o->g->failed; i++) {
		const struct program_symbol *y = &s->items[i];
		uint32_t node = y->function
		    ? build_owner_of(o, y, &by_name) : NONE;
		struct graph_node *n;

		if (node >= o->g->n_nodes)
			continue;
		if (!by_name)
			graph_own(o->g, GRAPH_BY_FUNCTION, y->name, node);
		if (y->address < end)
			continue;
		end = y->address + y->size;
		n = &o->g->nodes[node];
		n->bytes = (n->bytes > 0 ? n->bytes : 0) + (int64_t)y->size;
		o->g->nodes[0].bytes -= (int64_t)y->size;
	}
	if (o->g->nodes[0].bytes < 0)
		o->g->nodes[0].bytes = 0;
	build_share_names(o, s);
}

/* What the compiler brings is no crate, and yet a part. */
static void
build_add_rust(struct graph *g)
{
	uint32_t node;

	if (graph_owner(g, GRAPH_BY_PREFIX, GRAPH_RUST,
	    strlen(GRAPH_RUST)) >= g->n_nodes)
		return;
	node = graph_node(g, GRAPH_RUST_OWN);
	graph_edge_of(g, 0, node, GRAPH_HOLDS, NULL);
}

/* What the root does not need is no part of the program, and owns none of its
 * files. */
static bool
build_merge(struct graph *g, const struct graph *build, const char *root)
{
	uint32_t from = root != NULL ? graph_find(build, root)
	    : build->begin != 0 ? build->begin : graph_root(build);
	struct graph *part = from != NONE ? graph_cut(build, from, GRAPH_ALL)
	                                  : NULL;
	uint32_t to = part != NULL ? graph_merge(g, part, 0) : NONE;

	graph_free(part);
	if (to == NONE)
		return false;
	if (to != 0)
		graph_edge_of(g, 0, to, GRAPH_HOLDS, NULL);
	if (g->origin.complete == GRAPH_NOT_SAID ||
	    build->origin.complete != GRAPH_WHOLE)
		g->origin.complete = build->origin.complete;
	graph_settle(g);
	build_add_rust(g);
	return true;
}

bool
program_build_load(struct graph *g, const char *path, const char *root,
    const char *program, const struct program_symbols *s)
{
	struct build_owner o = {.g = g,
	    .frames = calloc(SYMBOLIZED_MAX, sizeof(*o.frames))};
	struct graph *build = graph_new();
	bool known = o.frames != NULL && build != NULL &&
	    graph_load_file(build, path, root) && build->n_nodes > 0 &&
	    build_merge(g, build, root);

	if (known) {
		if (symbolizer_open(&o.lines, program) != NULL)
			o.lines = NULL;
		build_own(&o, s);
		symbolizer_close(o.lines);
	}
	graph_free(build);
	free(o.frames);
	return known && !g->failed;
}
