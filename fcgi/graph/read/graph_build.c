/*
 * Graphs that builders of Go and Rust tell as JSON:
 *
 *	go list -deps -json .              a package an object, one after the
 *	                                   other, dependencies first
 *	cargo metadata --format-version 1  packages by id; in "resolve" which
 *	                                   needs which
 *
 * Functions are known by the package or crate that their names begin with.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/json_in.h"
#include "fcgi/graph/model/graph.h"
#include "fcgi/graph/read/graph_private.h"
#include "fcgi/graph/read/graph_read.h"
#include "fcgi/graph/read/read_file.h"

struct build_reader {
	struct graph *g;
	struct json_in in;
	struct buf key, text, name, version, module;
	size_t programs; /* of Go */
};

static const char *
build_text(struct buf *b)
{
	buf_put_u8(b, 0);
	return b->failed ? "" : (const char *)b->data;
}

/* A string, or nothing where it is null or something else. */
static void
build_string(struct json_in *j, struct buf *out)
{
	buf_clear(out);
	if (json_in_peek(j) == '"')
		json_in_string(j, out);
	else
		json_in_skip(j);
}

/* ---- Go ---- */

static void
go_module(struct build_reader *r)
{
	buf_clear(&r->module);
	buf_clear(&r->version);
	if (!json_in_open(&r->in, '{'))
		return;
	while (json_in_member(&r->in, &r->key)) {
		if (json_in_is(&r->key, "Path"))
			build_string(&r->in, &r->module);
		else if (json_in_is(&r->key, "Version"))
			build_string(&r->in, &r->version);
		else
			json_in_skip(&r->in);
	}
	if (r->version.len > 0) {
		buf_put_u8(&r->module, ' ');
		buf_put(&r->module, r->version.data, r->version.len);
	}
}

/* As its functions' names begin: dots of the last part are "%2e". */
void
graph_own_go(struct graph *g, const char *path, uint32_t node)
{
	const char *slash = strrchr(path, '/');
	struct buf name = {0};

	for (const char *p = path; *p != '\0'; p++) {
		if (*p == '.' && (slash == NULL || p > slash))
			buf_printf(&name, "%%2e");
		else
			buf_put_u8(&name, (uint8_t)*p);
	}
	graph_own(g, GRAPH_BY_PREFIX, build_text(&name), node);
	g->failed = g->failed || name.failed;
	buf_fini(&name);
}

/* Where to begin: several programs have a node that holds them. */
static void
go_program(struct build_reader *r, uint32_t node)
{
	struct graph *g = r->g;
	uint32_t before = g->begin;

	if (++r->programs == 1) {
		g->begin = node;
		return;
	}
	if (r->programs == 2) {
		g->begin = graph_node(g, "(programs)");
		graph_edge_of(g, g->begin, before, GRAPH_HOLDS, NULL);
	}
	graph_edge_of(g, g->begin, node, GRAPH_HOLDS, NULL);
}

/* One package; its imports are read when its name is known. */
static void
go_package(struct build_reader *r)
{
	struct json_in imports = {.bad = true};
	uint32_t node, root;
	bool standard = false, only_needed = false;
	const char *path;

	buf_clear(&r->name);
	buf_clear(&r->text);
	buf_clear(&r->module);
	if (!json_in_open(&r->in, '{'))
		return;
	while (json_in_member(&r->in, &r->key)) {
		if (json_in_is(&r->key, "ImportPath"))
			build_string(&r->in, &r->name);
		else if (json_in_is(&r->key, "Name"))
			build_string(&r->in, &r->text);
		else if (json_in_is(&r->key, "Module"))
			go_module(r);
		else if (json_in_is(&r->key, "Standard")) {
			standard = json_in_peek(&r->in) == 't';
			json_in_skip(&r->in);
		} else if (json_in_is(&r->key, "DepOnly")) {
			only_needed = json_in_peek(&r->in) == 't';
			json_in_skip(&r->in);
		} else {
			if (json_in_is(&r->key, "Imports"))
				imports = r->in;
			json_in_skip(&r->in);
		}
	}
	path = build_text(&r->name);
	if (*path == '\0')
		return;
	node = graph_node(r->g, path);
	if (node == UINT32_MAX)
		return;
	graph_set(r->g, &r->g->nodes[node].package,
	    standard ? "Go's standard library" : build_text(&r->module));
	if (strcmp(build_text(&r->text), "main") == 0) {
		if (!only_needed)
			go_program(r, node);
		path = "main";
	}
	graph_own_go(r->g, path, node);
	root = node;
	if (imports.bad || !json_in_open(&imports, '['))
		return;
	while (json_in_item(&imports)) {
		build_string(&imports, &r->text);
		path = build_text(&r->text);
		if (strcmp(path, "C") != 0 && *path != '\0')
			graph_edge(r->g, root, graph_node(r->g, path), NULL);
	}
}

/* What no package imports is linked to the program all the same, as what cgo
 * needs. */
static void
go_rest(struct build_reader *r)
{
	struct graph *g = r->g;
	bool *needed = calloc(g->n_nodes + 1, sizeof(*needed));

	if (needed == NULL) {
		g->failed = true;
		return;
	}
	for (size_t i = 0; i < g->n_edges; i++)
		needed[g->edges[i].to] = true;
	for (uint32_t i = 0; r->programs > 0 && i < g->n_nodes; i++)
		if (!needed[i] && i != g->begin)
			graph_edge_of(g, g->begin, i, GRAPH_HOLDS, NULL);
	free(needed);
}

/* ---- Rust ---- */

/* A package's node is known by its id until it has its name. */
struct cargo_package {
	char *id;
	uint32_t node;
};

struct cargo {
	struct build_reader *r;
	struct graph *ids; /* an id's number is that of its package */
	uint32_t nodes[GRAPH_NODES_MAX];
};

/* Names of its functions begin with the crate's name. */
static void
cargo_own(struct build_reader *r, struct buf *name, uint32_t node)
{
	const char *text = build_text(name);

	if (*text == '\0')
		return;
	for (char *p = (char *)name->data; *p != '\0'; p++)
		if (*p == '-')
			*p = '_';
	graph_own(r->g, GRAPH_BY_PREFIX, text, node);
}

/* A library or program of it may have a name of its own; tests, examples and
 * what runs before the build are not of it. */
static void
cargo_targets(struct build_reader *r, struct json_in list, uint32_t node)
{
	static const char *const kinds[] = {"lib", "rlib", "dylib", "cdylib",
	    "staticlib", "proc-macro", "bin"};
	struct json_in kind;

	if (!json_in_open(&list, '['))
		return;
	while (json_in_item(&list)) {
		buf_clear(&r->version);
		if (json_in_find(list, "kind", &kind) &&
		    json_in_head(kind, &kind) && json_in_peek(&kind) == '"')
			json_in_string(&kind, &r->version);
		json_in_find_string(list, "name", &r->name);
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			if (json_in_is(&r->version, kinds[i])) {
				cargo_own(r, &r->name, node);
				break;
			}
		json_in_skip(&list);
	}
}

static void
cargo_package(struct cargo *c)
{
	struct build_reader *r = c->r;
	struct json_in *j = &r->in;
	struct json_in targets = {.bad = true};
	uint32_t id, node;

	buf_clear(&r->text);
	if (!json_in_open(j, '{'))
		return;
	while (json_in_member(j, &r->key)) {
		if (json_in_is(&r->key, "targets"))
			targets = *j;
		if (json_in_is(&r->key, "id"))
			build_string(j, &r->text);
		else if (json_in_is(&r->key, "name"))
			build_string(j, &r->name);
		else if (json_in_is(&r->key, "version"))
			build_string(j, &r->version);
		else
			json_in_skip(j);
	}
	buf_clear(&r->module);
	buf_put(&r->module, r->name.data, r->name.len);
	buf_put_u8(&r->module, ' ');
	buf_put(&r->module, r->version.data, r->version.len);
	id = graph_node(c->ids, build_text(&r->text));
	node = graph_node(r->g, build_text(&r->module));
	if (id == UINT32_MAX || node == UINT32_MAX)
		return;
	c->nodes[id] = node;
	cargo_own(r, &r->name, node);
	if (!targets.bad)
		cargo_targets(r, targets, node);
}

/* Is it for more than tests?  Its target, where it is for one alone. */
static bool
cargo_kinds(struct build_reader *r, struct json_in *j)
{
	bool wanted = false, always = false;

	buf_clear(&r->version);
	if (!json_in_open(j, '['))
		return true;
	while (json_in_item(j)) {
		bool dev = false;

		buf_clear(&r->text);
		if (!json_in_open(j, '{'))
			break;
		while (json_in_member(j, &r->key)) {
			if (json_in_is(&r->key, "kind")) {
				build_string(j, &r->name);
				dev = json_in_is(&r->name, "dev");
			} else if (json_in_is(&r->key, "target")) {
				build_string(j, &r->text);
			} else {
				json_in_skip(j);
			}
		}
		if (dev)
			continue;
		wanted = true;
		always = always || r->text.len == 0;
		buf_clear(&r->version);
		buf_put(&r->version, r->text.data, r->text.len);
	}
	if (always)
		buf_clear(&r->version);
	return wanted;
}

/* One dependency of a node. */
static void
cargo_dep(struct cargo *c, uint32_t from)
{
	struct build_reader *r = c->r;
	struct json_in *j = &r->in;
	bool wanted = true;
	uint32_t to;

	buf_clear(&r->module);
	buf_clear(&r->version);
	if (!json_in_open(j, '{'))
		return;
	while (json_in_member(j, &r->key)) {
		if (json_in_is(&r->key, "pkg"))
			build_string(j, &r->module);
		else if (json_in_is(&r->key, "dep_kinds"))
			wanted = cargo_kinds(r, j);
		else
			json_in_skip(j);
	}
	to = graph_find(c->ids, build_text(&r->module));
	if (wanted && from != UINT32_MAX && to != UINT32_MAX)
		graph_edge(r->g, c->nodes[from], c->nodes[to],
		    build_text(&r->version));
}

static void
cargo_node(struct cargo *c)
{
	struct build_reader *r = c->r;
	struct json_in *j = &r->in, deps = {.bad = true}, after;
	uint32_t from;

	buf_clear(&r->text);
	if (!json_in_open(j, '{'))
		return;
	while (json_in_member(j, &r->key)) {
		if (json_in_is(&r->key, "id")) {
			build_string(j, &r->text);
			continue;
		}
		if (json_in_is(&r->key, "deps"))
			deps = *j;
		json_in_skip(j);
	}
	from = graph_find(c->ids, build_text(&r->text));
	after = *j;
	*j = deps;
	if (!deps.bad && json_in_open(j, '['))
		while (json_in_item(j))
			cargo_dep(c, from);
	after.bad = after.bad || (j->bad && !deps.bad);
	*j = after;
}

/* Calls `each` for the items of an array that is a member. */
static void
cargo_each(struct cargo *c, struct json_in from, const char *member,
    void (*each)(struct cargo *c))
{
	struct build_reader *r = c->r;

	r->in = from;
	if (!json_in_open(&r->in, '{'))
		return;
	while (json_in_member(&r->in, &r->key)) {
		if (!json_in_is(&r->key, member)) {
			json_in_skip(&r->in);
			continue;
		}
		if (json_in_peek(&r->in) == '[' && json_in_open(&r->in, '['))
			while (json_in_item(&r->in))
				each(c);
		else
			json_in_skip(&r->in);
	}
}

/* The package that was asked for, where it is one; else a node that holds
 * those of the workspace. */
static void
cargo_root(struct cargo *c, struct json_in all, struct json_in resolve)
{
	struct build_reader *r = c->r;
	struct json_in list;
	uint32_t id;

	json_in_find_string(resolve, "root", &r->text);
	id = graph_find(c->ids, build_text(&r->text));
	if (id != UINT32_MAX) {
		r->g->begin = c->nodes[id];
		return;
	}
	if (!json_in_find(all, "workspace_members", &list) ||
	    !json_in_open(&list, '['))
		return;
	r->g->begin = graph_node(r->g, "(workspace)");
	while (json_in_item(&list)) {
		build_string(&list, &r->text);
		id = graph_find(c->ids, build_text(&r->text));
		if (id != UINT32_MAX)
			graph_edge_of(r->g, r->g->begin, c->nodes[id],
			    GRAPH_HOLDS, NULL);
	}
}

static void
cargo_read(struct build_reader *r)
{
	struct cargo *c = calloc(1, sizeof(*c));
	struct json_in start = r->in, resolve, end;

	if (c == NULL || (c->ids = graph_new()) == NULL) {
		free(c);
		r->g->failed = true;
		return;
	}
	c->r = r;
	cargo_each(c, start, "packages", cargo_package);
	end = r->in;
	if (json_in_find(start, "resolve", &resolve) &&
	    json_in_peek(&resolve) == '{') {
		cargo_each(c, resolve, "nodes", cargo_node);
		cargo_root(c, start, resolve);
		end.bad = end.bad || r->in.bad;
	} else {
		r->g->cut = true; /* --no-deps */
	}
	end.bad = end.bad || c->ids->failed;
	r->in = end;
	graph_own(r->g, GRAPH_BY_PREFIX, GRAPH_RUST, 0);
	graph_free(c->ids);
	free(c);
}

/* ---- both ---- */

/* Does the object have that member? */
static bool
build_has(struct json_in j, struct buf *key, const char *member)
{
	bool has = false;

	if (json_in_open(&j, '{'))
		while (json_in_member(&j, key)) {
			has = has || json_in_is(key, member);
			json_in_skip(&j);
		}
	return has && !j.bad;
}

static void
build_read(struct build_reader *r)
{
	if (build_has(r->in, &r->key, "resolve")) {
		cargo_read(r);
		return;
	}
	while (json_in_peek(&r->in) == '{' && !r->in.bad && !r->g->failed)
		go_package(r);
	go_rest(r);
}

bool
graph_load_build(struct graph *g, const struct graph_source *s)
{
	struct build_reader r = {.g = g};
	struct buf data = {0};
	bool fine = read_file(s->path, &data, &g->origin.time_ns);

	r.in = json_in_of(data.data, data.len);
	build_read(&r);
	/* what is not understood is not known to be all */
	g->cut = g->cut || r.in.bad || json_in_peek(&r.in) != '\0';
	if (!g->cut)
		g->origin.complete = GRAPH_WHOLE;
	fine = fine && !g->failed && !data.failed && !r.key.failed &&
	    !r.text.failed && !r.name.failed && !r.version.failed &&
	    !r.module.failed;
	buf_fini(&data);
	buf_fini(&r.key);
	buf_fini(&r.text);
	buf_fini(&r.name);
	buf_fini(&r.version);
	buf_fini(&r.module);
	return fine;
}
