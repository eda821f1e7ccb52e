/*
 * The graph of a build folder of CMake, by what its file API has answered:
 * .cmake/api/v1/reply holds an index, which names a model of the build, which
 * names a file for each target.  Targets, what they depend on, their sources,
 * and the libraries of the system that programs and shared libraries are
 * linked with; interface libraries without sources are not in it.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/graph/read/graph_private.h"
#include "fcgi/graph/read/graph_read.h"
#include "fcgi/graph/read/linked.h"
#include "fcgi/graph/read/read_file.h"

#define PATH_ROOM 4096
#define REPLY ".cmake/api/v1/reply"

struct cmake {
	struct graph *g;
	struct linked linked;
	const char *root;          /* or NULL */
	char reply[PATH_ROOM];
	char build[PATH_ROOM];     /* its folder, as it is now */
	struct buf built;          /* and as the model knows it */
	struct buf version;
	struct graph *ids;         /* an id's number is that of its target */
	uint32_t nodes[GRAPH_NODES_MAX];
	bool *needed;              /* by node: another target needs it */
	int64_t time_ns;
};

/* ---- a target ---- */

static void
cmake_sources(struct cmake *c, struct json_in target, uint32_t node)
{
	struct buf path = {0};
	struct json_in list;

	if (!json_in_find(target, "sources", &list) ||
	    !json_in_open(&list, '['))
		return;
	while (json_in_item(&list)) {
		json_in_find_string(list, "path", &path);
		if (path.len > 0)
			graph_own(c->g, GRAPH_BY_FILE, read_text(&path),
			    node);
		json_in_skip(&list);
	}
	c->g->failed = c->g->failed || path.failed;
	buf_fini(&path);
}

static void
cmake_needs(struct cmake *c, struct json_in target, uint32_t node)
{
	struct buf id = {0};
	struct json_in list;
	uint32_t to;

	if (!json_in_find(target, "dependencies", &list) ||
	    !json_in_open(&list, '['))
		return;
	while (json_in_item(&list)) {
		json_in_find_string(list, "id", &id);
		to = graph_find(c->ids, read_text(&id));
		if (to == UINT32_MAX) {
			c->g->cut = true;
		} else {
			graph_edge(c->g, node, c->nodes[to], NULL);
			if (c->nodes[to] < GRAPH_NODES_MAX)
				c->needed[c->nodes[to]] = true;
		}
		json_in_skip(&list);
	}
	c->g->failed = c->g->failed || id.failed;
	buf_fini(&id);
}

/* A library that the build makes is told by its path, too. */
static bool
cmake_is_built(const struct cmake *c, const char *word)
{
	size_t n = c->built.len;

	return n > 0 && strncmp(word, (const char *)c->built.data, n) == 0 &&
	    word[n] == '/';
}

/* "-lm /usr/lib/libz.so": the words of a linker's line, without quotes. */
static void
cmake_words(struct cmake *c, char *line, uint32_t node)
{
	char *rest = NULL;

	for (char *word = strtok_r(line, " \t\n", &rest); word != NULL;
	     word = strtok_r(NULL, " \t\n", &rest)) {
		size_t n = strlen(word);

		if (n > 1 && word[0] == '"' && word[n - 1] == '"') {
			word[n - 1] = '\0';
			word++;
		}
		if (!cmake_is_built(c, word))
			graph_edge(c->g, node, linked_node(&c->linked, word),
			    NULL);
	}
}

static void
cmake_links(struct cmake *c, struct json_in target, uint32_t node)
{
	struct buf role = {0}, text = {0};
	struct json_in link, list;

	if (!json_in_find(target, "link", &link) ||
	    !json_in_find(link, "commandFragments", &list) ||
	    !json_in_open(&list, '['))
		return;
	while (json_in_item(&list)) {
		json_in_find_string(list, "role", &role);
		json_in_find_string(list, "fragment", &text);
		if (json_in_is(&role, "libraries") &&
		    *read_text(&text) != '\0')
			cmake_words(c, (char *)text.data, node);
		json_in_skip(&list);
	}
	c->g->failed = c->g->failed || role.failed || text.failed;
	buf_fini(&role);
	buf_fini(&text);
}

/* What it is built to: a file whose code is its own. */
static void
cmake_artifact(struct cmake *c, struct json_in target, uint32_t node)
{
	struct json_in list, first;
	struct buf name = {0};
	char path[PATH_ROOM];

	if (json_in_find(target, "artifacts", &list) &&
	    json_in_head(list, &first)) {
		json_in_find_string(first, "path", &name);
		if (*read_text(&name) != '\0' && read_join(path,
		        sizeof(path), name.data[0] == '/' ? "" : c->build,
		        (const char *)name.data))
			linked_built(&c->linked, node, path, c->root);
	}
	c->g->failed = c->g->failed || name.failed;
	buf_fini(&name);
}

/* Kinds of CMake, and whether the build's own node holds one. */
static enum graph_kind
cmake_kind(struct json_in target, bool *held)
{
	struct buf type = {0};
	enum graph_kind kind = GRAPH_TARGET;

	json_in_find_string(target, "type", &type);
	*held = !json_in_is(&type, "UTILITY");
	if (json_in_is(&type, "EXECUTABLE"))
		kind = GRAPH_PROGRAM;
	else if (json_in_is(&type, "SHARED_LIBRARY") ||
	    json_in_is(&type, "MODULE_LIBRARY"))
		kind = GRAPH_LIBRARY;
	buf_fini(&type);
	return kind;
}

static void
cmake_target(struct cmake *c, const char *file, uint32_t node)
{
	struct buf text = {0};
	struct json_in target;
	char path[PATH_ROOM];
	bool held;

	if (node == UINT32_MAX)
		return;
	if (!read_join_name(path, sizeof(path), c->reply, file) ||
	    !read_json(path, &text, &target, &c->time_ns)) {
		c->g->cut = true;
		buf_fini(&text);
		return;
	}
	c->g->nodes[node].kind = cmake_kind(target, &held);
	if (!held)
		c->needed[node] = true;
	if (c->g->nodes[node].kind != GRAPH_TARGET)
		cmake_artifact(c, target, node);
	cmake_needs(c, target, node);
	cmake_links(c, target, node);
	cmake_sources(c, target, node);
	buf_fini(&text);
}

/* ---- the model ---- */

/* All names first: what needs what is told by ids. */
static void
cmake_names(struct cmake *c, struct json_in list)
{
	struct buf id = {0}, name = {0};

	if (json_in_open(&list, '['))
		while (json_in_item(&list)) {
			uint32_t i;

			json_in_find_string(list, "id", &id);
			json_in_find_string(list, "name", &name);
			i = graph_node(c->ids, read_text(&id));
			if (i != UINT32_MAX)
				c->nodes[i] = graph_node(c->g,
				    read_text(&name));
			json_in_skip(&list);
		}
	c->g->failed = c->g->failed || id.failed || name.failed;
	buf_fini(&id);
	buf_fini(&name);
}

static void
cmake_targets(struct cmake *c, struct json_in list)
{
	struct buf id = {0}, file = {0};
	size_t first = c->g->n_nodes;

	cmake_names(c, list);
	if (json_in_open(&list, '['))
		while (json_in_item(&list)) {
			uint32_t i;

			json_in_find_string(list, "id", &id);
			json_in_find_string(list, "jsonFile", &file);
			i = graph_find(c->ids, read_text(&id));
			if (i != UINT32_MAX)
				cmake_target(c, read_text(&file),
				    c->nodes[i]);
			json_in_skip(&list);
		}
	for (size_t i = 0; i < c->ids->n_nodes; i++)
		if (c->nodes[i] != UINT32_MAX && !c->needed[c->nodes[i]])
			graph_edge_of(c->g, (uint32_t)first - 1, c->nodes[i],
			    GRAPH_HOLDS, NULL);
	c->g->failed = c->g->failed || id.failed || file.failed;
	buf_fini(&id);
	buf_fini(&file);
}

/* The node of the whole: "shop (CMake project)". */
static void
cmake_project(struct cmake *c, struct json_in configuration)
{
	struct buf name = {0};
	struct json_in list, first;
	char text[GRAPH_NAME_MAX];

	if (json_in_find(configuration, "projects", &list) &&
	    json_in_head(list, &first))
		json_in_find_string(first, "name", &name);
	snprintf(text, sizeof(text), "%.2000s (CMake project)",
	    read_text(&name));
	graph_node(c->g, text);
	buf_fini(&name);
}

static void
cmake_model(struct cmake *c, const char *file)
{
	struct buf text = {0}, name = {0};
	struct json_in model, list, first;
	char path[PATH_ROOM];

	if (read_join_name(path, sizeof(path), c->reply, file) &&
	    read_json(path, &text, &model, &c->time_ns) &&
	    json_in_find(model, "configurations", &list) &&
	    json_in_head(list, &first)) {
		cmake_project(c, first);
		if (json_in_find(model, "paths", &list))
			json_in_find_string(list, "build", &c->built);
		if (json_in_find(first, "targets", &list))
			cmake_targets(c, list);
	}
	buf_fini(&text);
	buf_fini(&name);
}

/* The newest answer is the one whose name is last. */
static bool
cmake_index(struct cmake *c, char path[PATH_ROOM])
{
	char best[256] = "";
	DIR *d = opendir(c->reply);
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL)
		if (strncmp(e->d_name, "index-", 6) == 0 &&
		    strcmp(e->d_name, best) > 0)
			snprintf(best, sizeof(best), "%.255s", e->d_name);
	if (d != NULL)
		closedir(d);
	return best[0] != '\0' && read_join(path, PATH_ROOM, c->reply, best);
}

static void
cmake_read(struct cmake *c)
{
	struct buf text = {0}, word = {0};
	struct json_in index, list, value;
	char path[PATH_ROOM];

	if (cmake_index(c, path) &&
	    read_json(path, &text, &index, &c->time_ns) &&
	    json_in_find(index, "objects", &list) &&
	    json_in_open(&list, '[')) {
		if (json_in_find(index, "cmake", &value) &&
		    json_in_find(value, "version", &value))
			json_in_find_string(value, "string", &c->version);
		while (json_in_item(&list)) {
			json_in_find_string(list, "kind", &word);
			if (json_in_is(&word, "codemodel")) {
				json_in_find_string(list, "jsonFile", &word);
				cmake_model(c, read_text(&word));
				break;
			}
			json_in_skip(&list);
		}
	}
	buf_fini(&text);
	buf_fini(&word);
}

static void
cmake_describe(struct cmake *c, const char *path)
{
	struct buf out = {0};

	buf_printf(&out, "the answer of CMake %.40s's file API (codemodel) "
	    "in %s; without interface libraries that have no sources; "
	    "libraries of the system are of what is linked with them",
	    read_text(&c->version), path);
	graph_set(c->g, &c->g->origin.source, read_text(&out));
	buf_fini(&out);
}

bool
graph_is_cmake(const char *path)
{
	return read_has(path, REPLY);
}

bool
graph_load_cmake(struct graph *g, const struct graph_source *s)
{
	struct cmake *c = calloc(1, sizeof(*c));
	bool fine;

	if (c == NULL)
		return false;
	c->g = c->linked.g = g;
	c->root = s->root;
	c->ids = graph_new();
	c->needed = calloc(GRAPH_NODES_MAX, sizeof(*c->needed));
	fine = c->ids != NULL && c->needed != NULL &&
	    read_join(c->build, sizeof(c->build), s->path, "") &&
	    read_join(c->reply, sizeof(c->reply), s->path, REPLY);
	if (fine) {
		cmake_read(c);
		cmake_describe(c, s->path);
		graph_lack(g, c->ids);
		g->origin.time_ns = c->time_ns;
		g->failed = g->failed || c->ids->failed;
	}
	linked_fini(&c->linked);
	graph_free(c->ids);
	free(c->needed);
	buf_fini(&c->built);
	buf_fini(&c->version);
	free(c);
	return fine && !g->failed;
}
