/*
 * One walk over the call tree; the path to where it is, in nodes of the graph.
 */
#include "fcgi/graph/graph_cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/query/places.h"
#include "store/base/array.h"
#include "store/base/err.h"
#include "store/base/intern.h"
#include "store/store.h"

#define NONE UINT32_MAX

/* A frame of the path. */
struct cost_step {
	uint32_t node; /* or NONE */
	uint32_t edge; /* that its call is counted for, or NONE */
	uint32_t function; /* of the node that is looked at, or NONE */
	uint32_t home; /* of the function that is looked for, or NONE */
};

struct cost_walk {
	struct graph *g;
	const struct profile *p;
	const struct places *places;
	unsigned side;
	struct map64 edges;   /* from << 32 | to -> number */
	struct map64 modules; /* hash of a file's name -> node that was seen */
	struct map64 builds;  /* hash of a file's name -> frame of a build */
	struct map64 several; /* hashes of names of which builds differ */
	struct cost_step *path; /* by depth */
	uint32_t *on_node, *on_edge; /* how often they are on the path */
	size_t cap_path, cap_node, cap_edge, cap_functions, cap_homes;
	struct graph_cost *cost;
	uint32_t looked_at;   /* node whose functions are wanted, or NONE */
	struct map64 names;   /* hash -> its function */
	bool failed;
};

/* ---- whose frame ---- */

static uint32_t
cost_place(const struct cost_walk *w, const struct profile_node *f)
{
	const char *file;
	int64_t line;
	size_t n;

	if (w->places == NULL || !places_find(w->places, f->name, f->module,
	        &file, &n, &line))
		return NONE;
	return graph_of_file(w->g, file, n);
}

static uint32_t cost_seen(struct cost_walk *w, const char *module);

/* By package or crate; what Rust's compiler brings is declared nowhere. */
static uint32_t
cost_package(struct cost_walk *w, const struct profile_node *f)
{
	uint32_t node = graph_of_name(w->g, f->name);

	return node < w->g->n_nodes || !graph_is_rust_own(w->g, f->name)
	    ? node : cost_seen(w, GRAPH_RUST_OWN);
}

/* The node of what nobody declares, made when it is first seen. */
static uint32_t
cost_seen(struct cost_walk *w, const char *module)
{
	uint64_t hash = hash64(0, module, strlen(module));
	uint32_t node = map64_get(&w->modules, hash);

	if (node != INTERN_NONE)
		return node;
	node = graph_find(w->g, module);
	if (node == NONE) {
		node = graph_node(w->g, module);
		if (node == NONE)
			return NONE;
		w->g->nodes[node].kind = GRAPH_SEEN;
		if (w->cost->node != NULL &&
		    strcmp(module, w->cost->node) == 0)
			w->looked_at = node;
	}
	if (!map64_add(&w->modules, hash, node))
		w->failed = true;
	return node;
}

/* Is it the program's code?  What does not know its module, or a graph that
 * knows none, has only the service that was asked for to tell. */
static bool
cost_is_own(const struct cost_walk *w, const char *module)
{
	const char *own = w->g->module;

	if (*module == '\0' || own == NULL || *own == '\0')
		return w->cost->one_service;
	return strcmp(module, own) == 0;
}

static bool
cost_has_own_name(const struct cost_walk *w, const struct profile_node *f)
{
	return f->kind != FRAME_KERNEL && f->kind != FRAME_BPF &&
	    f->kind != FRAME_MARK && w->g->module != NULL &&
	    *f->module != '\0' && strcmp(f->module, w->g->module) == 0;
}

static struct graph_build *
cost_build(const struct cost_walk *w, const struct profile_node *f)
{
	const char *id = profile_build_id(w->p, f);

	for (size_t i = 0; i < w->cost->n_builds; i++)
		if (strcmp(w->cost->builds[i].id, id) == 0)
			return &w->cost->builds[i];
	return NULL;
}

/* Another program of the name, or another build: its node, else NONE. */
static uint32_t
cost_other_build(struct cost_walk *w, const struct profile_node *f)
{
	const struct graph_build *build;
	char name[GRAPH_NAME_MAX];

	if (!cost_has_own_name(w, f))
		return NONE;
	build = cost_build(w, f);
	if (build != NULL && build->own)
		return NONE;
	snprintf(name, sizeof(name), "%s (build %.12s)", f->module,
	    build != NULL ? build->id : "of many");
	return cost_seen(w, name);
}

/* Or of a library that it declares: other programs' files of sources and
 * packages may have the same names. */
static bool
cost_is_declared(const struct cost_walk *w, const char *module)
{
	return cost_is_own(w, module) || (*module != '\0' &&
	    graph_owner(w->g, GRAPH_BY_MODULE, module, strlen(module)) !=
	    NONE);
}

/* A file that nobody declares. */
static uint32_t
cost_seen_file(struct cost_walk *w, const struct profile_node *f)
{
	uint64_t hash = hash64(0, f->module, strlen(f->module));
	const char *id = profile_build_id(w->p, f);
	char name[GRAPH_NAME_MAX];

	if (map64_get(&w->several, hash) == INTERN_NONE)
		return cost_seen(w, f->module);
	snprintf(name, sizeof(name), "%s (build %.12s)", f->module,
	    *id != '\0' ? id : "not known");
	return cost_seen(w, name);
}

/* Several nodes are files of that name: it is none of them that is known. */
static uint32_t
cost_several(struct cost_walk *w, const char *module)
{
	char name[GRAPH_NAME_MAX];

	snprintf(name, sizeof(name), "%s (several)", module);
	return cost_seen(w, name);
}

static uint32_t
cost_node(struct cost_walk *w, const struct profile_node *f, uint32_t caller)
{
	const struct graph *g = w->g;
	uint32_t node = NONE;

	if (f->kind == FRAME_MARK) /* how large, how long: of its caller */
		return caller;
	if (f->kind == FRAME_KERNEL || f->kind == FRAME_BPF)
		return cost_seen(w, f->kind == FRAME_BPF ? "[bpf]"
		    : *f->module != '\0' ? f->module : "[kernel]");
	node = cost_other_build(w, f);
	if (node != NONE)
		return node;
	if (cost_is_own(w, f->module))
		node = graph_owner(g, GRAPH_BY_FUNCTION, f->name,
		    strlen(f->name));
	if (node >= g->n_nodes && cost_is_declared(w, f->module)) {
		node = cost_package(w, f);
		if (node >= g->n_nodes)
			node = cost_place(w, f);
	}
	if (node == NONE && f->kind == FRAME_INLINED)
		return caller;
	if (node == NONE && *f->module != '\0')
		node = graph_owner(g, GRAPH_BY_MODULE, f->module,
		    strlen(f->module));
	if (node < g->n_nodes)
		return node;
	return *f->module == '\0' ? NONE
	    : node == GRAPH_BOTH ? cost_several(w, f->module)
	    : cost_seen_file(w, f);
}

/* ---- the walk ---- */

/* Zeros up to n. */
static bool
cost_room(uint32_t **counts, size_t n, size_t *cap)
{
	size_t before = *cap;

	if (!array_room(counts, n, cap))
		return false;
	memset(*counts + before, 0, (*cap - before) * sizeof(**counts));
	return true;
}

static uint32_t
cost_edge(struct cost_walk *w, uint32_t from, uint32_t to)
{
	uint64_t key = (uint64_t)from << 32 | to;
	uint32_t edge;

	if (from == NONE || to == NONE || from == to)
		return NONE;
	edge = map64_get(&w->edges, key);
	if (edge != INTERN_NONE)
		return edge;
	edge = (uint32_t)w->g->n_edges;
	graph_edge_of(w->g, from, to, GRAPH_CALLS, NULL);
	if (w->g->n_edges == edge)
		return NONE;
	if (!map64_add(&w->edges, key, edge))
		w->failed = true;
	return edge;
}

/* The number of a frame's function where its node is looked at. */
static uint32_t
cost_function(struct cost_walk *w, const struct profile_node *f,
    uint32_t node)
{
	struct graph_cost *c = w->cost;
	uint32_t i;
	uint64_t hash;

	if (node == NONE || node != w->looked_at || f->kind == FRAME_MARK)
		return NONE;
	hash = hash64(0, f->name, strlen(f->name));
	i = map64_get(&w->names, hash);
	if (i != INTERN_NONE)
		return i;
	i = (uint32_t)c->n_functions;
	if (!array_room(&c->functions, c->n_functions + 1,
	        &w->cap_functions) || !map64_add(&w->names, hash, i)) {
		w->failed = true;
		return NONE;
	}
	c->functions[c->n_functions++] = (struct graph_function){
	    .name = f->name};
	return i;
}

/* Is it called so, with its parameters or without? */
static bool
cost_is_named(const char *name, const char *asked)
{
	size_t n = strlen(asked);

	return strncmp(name, asked, n) == 0 &&
	    (name[n] == '\0' || graph_bare(name) == n);
}

/* The number of a frame's node where its function is looked for. */
static uint32_t
cost_home(struct cost_walk *w, const struct profile_node *f, uint32_t node)
{
	struct graph_cost *c = w->cost;
	char *name = NULL;

	if (c->function == NULL || !cost_is_named(f->name, c->function))
		return NONE;
	for (size_t i = 0; i < c->n_homes; i++)
		if (c->homes[i].number == node &&
		    strcmp(c->homes[i].function, f->name) == 0)
			return (uint32_t)i;
	if (!array_room(&c->homes, c->n_homes + 1, &w->cap_homes) ||
	    (node != NONE &&
	    (name = strdup(w->g->nodes[node].name)) == NULL)) {
		w->failed = true;
		return NONE;
	}
	c->homes[c->n_homes] = (struct graph_home){.node = name,
	    .function = f->name, .number = node};
	return (uint32_t)c->n_homes++;
}

static void
cost_leave(struct cost_walk *w, const struct cost_step *s)
{
	if (s->node != NONE)
		w->on_node[s->node]--;
	if (s->edge != NONE)
		w->on_edge[s->edge]--;
	if (s->function != NONE)
		w->cost->functions[s->function].on--;
	if (s->home != NONE)
		w->cost->homes[s->home].on--;
}

static void
cost_enter(struct cost_walk *w, const struct profile_node *f,
    struct cost_step *s)
{
	if (s->node != NONE && w->on_node[s->node]++ == 0)
		w->g->nodes[s->node].total[w->side] += f->total;
	if (s->edge != NONE && w->on_edge[s->edge]++ == 0)
		w->g->edges[s->edge].calls[w->side] += f->total;
	if (s->function != NONE) {
		struct graph_function *of = &w->cost->functions[s->function];

		of->self += f->self;
		if (of->on++ == 0)
			of->total += f->total;
	}
	if (s->home != NONE) {
		struct graph_home *of = &w->cost->homes[s->home];

		of->self += f->self;
		if (of->on++ == 0)
			of->total += f->total;
	}
}

static bool
cost_walk(struct cost_walk *w, const struct profile *p)
{
	size_t depth = 0; /* steps on the path */

	for (size_t i = 0; i < p->n_nodes; i++) {
		const struct profile_node *f = &p->nodes[i];
		struct cost_step s = {NONE, NONE, NONE, NONE};
		uint32_t caller = NONE;

		while (depth > f->depth)
			cost_leave(w, &w->path[--depth]);
		if (depth > 0)
			caller = w->path[depth - 1].node;
		if (i > 0) {
			s.node = cost_node(w, f, caller);
			s.edge = cost_edge(w, caller, s.node);
			s.function = cost_function(w, f, s.node);
			s.home = cost_home(w, f, s.node);
		}
		if (w->failed || w->g->failed ||
		    !array_room(&w->path, depth + 1, &w->cap_path) ||
		    !cost_room(&w->on_node, w->g->n_nodes + 1, &w->cap_node) ||
		    !cost_room(&w->on_edge, w->g->n_edges + 1, &w->cap_edge))
			return false;
		cost_enter(w, f, &s);
		w->path[depth++] = s;
		if (s.node != NONE)
			w->g->nodes[s.node].self[w->side] += f->self;
		else
			w->cost->unknown += f->self;
	}
	return true;
}

/* ---- which builds ---- */

static int
cost_build_order(const void *a, const void *b)
{
	const struct graph_build *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return strcmp(x->id, y->id);
}

/* Those that say nothing, or the graph's own where it ran; the only one. */
static void
cost_own_builds(struct graph_cost *c, const char *id)
{
	size_t named = 0;

	for (size_t i = 0; i < c->n_builds; i++) {
		struct graph_build *b = &c->builds[i];

		named += *b->id != '\0';
		b->own = id == NULL || *b->id == '\0' ||
		    strcmp(b->id, id) == 0;
	}
	for (size_t i = 0; i < c->n_builds && named == 1; i++)
		c->builds[i].own = true;
	qsort(c->builds, c->n_builds, sizeof(*c->builds), cost_build_order);
}

/* Builds beyond GRAPH_BUILDS_MAX have no number of their own. */
static void
cost_find_builds(struct cost_walk *w)
{
	struct graph_cost *c = w->cost;

	for (size_t i = 1; i < w->p->n_nodes; i++) {
		const struct profile_node *f = &w->p->nodes[i];
		struct graph_build *b;

		if (!cost_has_own_name(w, f))
			continue;
		b = cost_build(w, f);
		if (b == NULL && c->n_builds < GRAPH_BUILDS_MAX) {
			b = &c->builds[c->n_builds++];
			*b = (struct graph_build){.id =
			    profile_build_id(w->p, f)};
		}
		if (b != NULL)
			b->self += f->self;
	}
	cost_own_builds(c, w->g->origin.build_id);
}

/* Files of one name that are not one. */
static bool
cost_find_several(struct cost_walk *w)
{
	for (size_t i = 1; i < w->p->n_nodes; i++) {
		const struct profile_node *f = &w->p->nodes[i];
		const char *id = profile_build_id(w->p, f);
		uint64_t hash = hash64(0, f->module, strlen(f->module));
		uint32_t at = map64_get(&w->builds, hash);

		if (*id == '\0' || *f->module == '\0')
			continue;
		if (at == INTERN_NONE) {
			if (!map64_add(&w->builds, hash, (uint32_t)i))
				return false;
		} else if (w->p->nodes[at].build != f->build &&
		    strcmp(profile_build_id(w->p, &w->p->nodes[at]), id) != 0 &&
		    map64_get(&w->several, hash) == INTERN_NONE &&
		    !map64_add(&w->several, hash, 0)) {
			return false;
		}
	}
	return true;
}

static int
cost_order(const void *a, const void *b)
{
	const struct graph_function *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int
cost_home_order(const void *a, const void *b)
{
	const struct graph_home *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return strcmp(x->function, y->function);
}

void
graph_cost_fini(struct graph_cost *cost)
{
	for (size_t i = 0; i < cost->n_homes; i++)
		free(cost->homes[i].node);
	free(cost->homes);
	free(cost->functions);
}

const struct err *
graph_cost_add(struct graph *g, const struct profile *p,
    const struct places *places, unsigned side, struct graph_cost *cost)
{
	struct cost_walk w = {.g = g, .p = p, .places = places, .side = side,
	    .cost = cost, .looked_at = NONE};
	bool fine = cost_find_several(&w);

	*cost = (struct graph_cost){.node = cost->node,
	    .function = cost->function,
	    .one_service = cost->one_service,
	    .total = p->n_nodes > 0 ? p->nodes[0].total : 0};
	cost_find_builds(&w);
	if (cost->node != NULL)
		w.looked_at = graph_find(g, cost->node);
	for (size_t i = 0; fine && i < g->n_edges; i++) {
		uint64_t key = (uint64_t)g->edges[i].from << 32 |
		    g->edges[i].to;

		if (map64_get(&w.edges, key) == INTERN_NONE)
			fine = map64_add(&w.edges, key, (uint32_t)i);
	}
	fine = fine && cost_walk(&w, p);
	map64_fini(&w.edges);
	map64_fini(&w.modules);
	map64_fini(&w.builds);
	map64_fini(&w.several);
	map64_fini(&w.names);
	free(w.path);
	free(w.on_node);
	free(w.on_edge);
	if (cost->n_functions > 0)
		qsort(cost->functions, cost->n_functions,
		    sizeof(*cost->functions), cost_order);
	if (cost->n_homes > 0)
		qsort(cost->homes, cost->n_homes, sizeof(*cost->homes),
		    cost_home_order);
	return fine ? NULL : err_nomem();
}
