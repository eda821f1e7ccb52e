/*
 * The graph of a build folder of Meson: targets, their sources and the
 * dependencies of the project by what meson introspect tells of them
 * (meson-info/intro-*.json); which target needs which by build.ninja, which
 * introspection does not say.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/graph/read/graph_private.h"
#include "fcgi/graph/read/graph_read.h"
#include "fcgi/graph/read/linked.h"
#include "fcgi/graph/read/ninja.h"
#include "fcgi/graph/read/read_file.h"
#include "store/base/array.h"

#define PATH_ROOM 4096
#define INFO "meson-info/meson-info.json"
#define DEPTH_MAX 64

/* What pkg-config and others have found: the words that link it. */
struct meson_dependency {
	uint32_t node;
	char *words; /* each NUL-terminated, and an empty one */
	bool linked; /* a target is linked with it */
};

struct meson {
	struct graph *g;
	struct linked linked;
	const char *root, *folder;
	struct buf source, build; /* folders, as the project knows them */
	struct buf version;
	struct ninja ninja;
	uint32_t *seen;      /* by statement: output whose way it was last on */
	struct graph *files; /* an output's number is that of its target */
	uint32_t nodes[GRAPH_NODES_MAX];
	bool *held;          /* by node: the project's, if nobody needs it */
	struct meson_dependency *dependencies;
	size_t n_dependencies, cap_dependencies;
	int64_t time_ns;
};

/* A path below a folder without that, or as it is. */
static const char *
meson_below(struct buf *folder, const char *path)
{
	size_t n = folder->len;

	return n > 0 && strncmp(path, (const char *)folder->data, n) == 0 &&
	    path[n] == '/' ? path + n + 1 : path;
}

/* ---- targets ---- */

static const struct {
	const char *type;
	enum graph_kind kind;
	bool held;
} types[] = {
    {"executable", GRAPH_PROGRAM, true},
    {"shared library", GRAPH_LIBRARY, true},
    {"shared module", GRAPH_LIBRARY, true},
    {"static library", GRAPH_TARGET, true},
    {"jar", GRAPH_TARGET, true},
    {"run", GRAPH_TARGET, true},
    {"alias", GRAPH_TARGET, true},
};

static void
meson_kind(struct meson *m, struct json_in target, uint32_t node)
{
	struct buf type = {0};

	json_in_find_string(target, "type", &type);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (json_in_is(&type, types[i].type)) {
			m->g->nodes[node].kind = types[i].kind;
			m->held[node] = types[i].held;
		}
	buf_fini(&type);
}

/* Calls for each string of a member that is an array. */
static void
meson_each(struct meson *m, struct json_in of, const char *member,
    uint32_t node, void (*each)(struct meson *m, uint32_t node,
    const char *text))
{
	struct buf text = {0};
	struct json_in list;

	if (json_in_find(of, member, &list) && json_in_peek(&list) == '[' &&
	    json_in_open(&list, '['))
		while (json_in_item(&list)) {
			buf_clear(&text);
			if (json_in_peek(&list) != '"') {
				json_in_skip(&list);
				continue;
			}
			json_in_string(&list, &text);
			each(m, node, read_text(&text));
		}
	m->g->failed = m->g->failed || text.failed;
	buf_fini(&text);
}

static void
meson_output(struct meson *m, uint32_t node, const char *path)
{
	char here[PATH_ROOM];
	const char *name = meson_below(&m->build, path);
	uint32_t i = graph_node(m->files, name);

	if (i != UINT32_MAX)
		m->nodes[i] = node;
	if ((m->g->nodes[node].kind == GRAPH_PROGRAM ||
	        m->g->nodes[node].kind == GRAPH_LIBRARY) &&
	    read_join(here, sizeof(here), *name == '/' ? "" : m->folder,
	        name))
		linked_built(&m->linked, node, here, m->root);
}

static void
meson_source(struct meson *m, uint32_t node, const char *path)
{
	graph_own(m->g, GRAPH_BY_FILE, meson_below(&m->source,
	    meson_below(&m->build, path)), node);
}

static void
meson_sources(struct meson *m, struct json_in target, uint32_t node)
{
	struct json_in list;

	if (!json_in_find(target, "target_sources", &list) ||
	    !json_in_open(&list, '['))
		return;
	while (json_in_item(&list)) {
		meson_each(m, list, "sources", node, meson_source);
		meson_each(m, list, "generated_sources", node, meson_source);
		json_in_skip(&list);
	}
}

/* The first output, as the build folder has it. */
static void
meson_file_name(struct meson *m, struct json_in target, struct buf *out)
{
	struct buf path = {0};
	struct json_in list;

	buf_clear(out);
	if (json_in_find(target, "filename", &list) &&
	    json_in_head(list, &list) && json_in_peek(&list) == '"') {
		json_in_string(&list, &path);
		buf_printf(out, "%s", meson_below(&m->build,
		    read_text(&path)));
	}
	buf_fini(&path);
}

/* Folders may each have a target of one name, as a library and a program: the
 * second goes by its file, a third by its id. */
static uint32_t
meson_name(struct meson *m, struct json_in target)
{
	struct buf name = {0};
	uint32_t node;

	json_in_find_string(target, "name", &name);
	if (graph_find(m->g, read_text(&name)) != UINT32_MAX) {
		meson_file_name(m, target, &name);
		if (graph_find(m->g, read_text(&name)) != UINT32_MAX ||
		    name.len < 2)
			json_in_find_string(target, "id", &name);
		read_text(&name);
	}
	node = name.failed || name.len < 2 ? UINT32_MAX
	    : graph_node(m->g, (const char *)name.data);
	buf_fini(&name);
	return node;
}

static void
meson_targets(struct meson *m, struct json_in list)
{
	if (!json_in_open(&list, '['))
		return;
	while (json_in_item(&list)) {
		uint32_t node = meson_name(m, list);

		if (node != UINT32_MAX) {
			meson_kind(m, list, node);
			meson_each(m, list, "filename", node, meson_output);
			meson_sources(m, list, node);
		}
		json_in_skip(&list);
	}
}

/* ---- dependencies ---- */

static void
meson_word(struct meson *m, uint32_t node, const char *word)
{
	struct meson_dependency *d =
	    &m->dependencies[m->n_dependencies - 1];
	size_t n = 0;
	char *larger;

	while (d->words[n] != '\0')
		n += strlen(d->words + n) + 1;
	larger = realloc(d->words, n + strlen(word) + 2);
	if (larger == NULL || *word == '\0') {
		m->g->failed = m->g->failed || larger == NULL;
		d->words = larger != NULL ? larger : d->words;
		return;
	}
	memcpy(larger + n, word, strlen(word) + 1);
	larger[n + strlen(word) + 1] = '\0';
	d->words = larger;
	if (*word == '/' && linked_is_library(word)) {
		m->linked.found++;
		linked_set(&m->linked, node, word);
	}
}

static void
meson_dependency(struct meson *m, struct json_in of)
{
	struct buf name = {0}, version = {0};
	uint32_t node;

	json_in_find_string(of, "name", &name);
	json_in_find_string(of, "version", &version);
	if (version.len > 0 && !json_in_is(&version, "unknown")) {
		buf_put_u8(&name, ' ');
		buf_put(&name, version.data, version.len);
	}
	node = graph_node(m->g, read_text(&name));
	if (node != UINT32_MAX && name.len > 1 &&
	    m->g->nodes[node].kind == GRAPH_TARGET &&
	    array_room(&m->dependencies, m->n_dependencies + 1,
	        &m->cap_dependencies)) {
		m->g->nodes[node].kind = GRAPH_LIBRARY;
		m->held[node] = false;
		m->dependencies[m->n_dependencies++] =
		    (struct meson_dependency){node, calloc(1, 1), false};
		if (m->dependencies[m->n_dependencies - 1].words == NULL) {
			m->n_dependencies--;
			m->g->failed = true;
		} else {
			meson_each(m, of, "link_args", node, meson_word);
		}
	}
	buf_fini(&name);
	buf_fini(&version);
}

/* Is each of its words among the line's? */
static bool
meson_is_linked(const struct meson_dependency *d, const char *line)
{
	const char *word = d->words;

	for (; *word != '\0'; word += strlen(word) + 1) {
		const char *at = line;
		size_t n = strlen(word);

		while ((at = strstr(at, word)) != NULL &&
		    ((at > line && at[-1] != ' ') ||
		    (at[n] != '\0' && at[n] != ' ')))
			at++;
		if (at == NULL)
			return false;
	}
	return *d->words != '\0';
}

/* Is the word one of a dependency's? */
static bool
meson_is_told(const struct meson *m, const char *text)
{
	for (size_t i = 0; i < m->n_dependencies; i++) {
		const char *word = m->dependencies[i].words;

		for (; *word != '\0'; word += strlen(word) + 1)
			if (strcmp(word, text) == 0)
				return true;
	}
	return false;
}

/* "LINK_ARGS = ... /usr/lib/libz.so -lm" */
static void
meson_links(struct meson *m, uint32_t node, const char *line)
{
	char *copy = strdup(line), *rest = NULL;

	for (size_t i = 0; i < m->n_dependencies; i++)
		if (meson_is_linked(&m->dependencies[i], line)) {
			graph_edge(m->g, node, m->dependencies[i].node, NULL);
			m->dependencies[i].linked = true;
		}
	if (copy == NULL)
		m->g->failed = true;
	for (char *word = strtok_r(copy, " ", &rest); word != NULL;
	     word = strtok_r(NULL, " ", &rest))
		if (!meson_is_told(m, word) &&
		    meson_below(&m->build, word) == word)
			graph_edge(m->g, node, linked_node(&m->linked, word),
			    NULL);
	free(copy);
}

/* ---- what needs what ---- */

/* Whose a file of the build is: an output, or in the folder "NAME.p" of
 * one. */
static uint32_t
meson_owner(const struct meson *m, const char *file)
{
	char name[PATH_ROOM];
	const char *end = strstr(file, ".p/");
	uint32_t i = graph_find(m->files, file);

	if (i == UINT32_MAX && end != NULL &&
	    (size_t)(end - file) < sizeof(name)) {
		snprintf(name, sizeof(name), "%.*s", (int)(end - file), file);
		i = graph_find(m->files, name);
	}
	return i != UINT32_MAX ? m->nodes[i] : UINT32_MAX;
}

static bool
meson_has_edge(const struct graph *g, size_t first, uint32_t to)
{
	for (size_t i = first; i < g->n_edges; i++)
		if (g->edges[i].to == to)
			return true;
	return false;
}

/* Of a target that makes nothing: run_target(), alias_target(). */
static bool
meson_is_phony(const struct ninja_build *b)
{
	return b != NULL && strcmp(b->rule, "phony") == 0;
}

/* An archive that takes an object of what is linked by itself, as that of
 * both_libraries() does, has what that is made of, and needs no more of it. */
static bool
meson_is_taken(const struct meson *m, const struct ninja_build *b,
    uint32_t owner, const char *input)
{
	return strstr(b->rule, "STATIC_LINKER") != NULL &&
	    m->g->nodes[owner].kind != GRAPH_TARGET &&
	    graph_find(m->files, input) == UINT32_MAX;
}

/* From a file of a target to what it is made of: another target's ends the
 * way, what is in between goes on. */
static void
meson_follow(struct meson *m, uint32_t output, size_t first,
    const char *file, unsigned depth)
{
	const struct ninja_build *b = ninja_find(&m->ninja, file);
	uint32_t node = m->nodes[output];

	if (b == NULL || (depth > 0 && meson_is_phony(b)) ||
	    m->seen[b - m->ninja.builds] == output + 1)
		return;
	m->seen[b - m->ninja.builds] = output + 1;
	if (depth == DEPTH_MAX) {
		m->g->cut = true;
		return;
	}
	meson_links(m, node, ninja_variable(b, "LINK_ARGS"));
	for (size_t i = 0; i < b->n_inputs + b->n_before; i++) {
		const char *input = i < b->n_inputs ? b->inputs[i]
		    : b->before[i - b->n_inputs];
		uint32_t owner = meson_owner(m, input);

		if (owner == UINT32_MAX || owner == node ||
		    meson_is_taken(m, b, owner, input)) {
			meson_follow(m, output, first, input, depth + 1);
			continue;
		}
		if (!meson_has_edge(m->g, first, owner))
			graph_edge(m->g, node, owner, NULL);
		/* What only runs it does not take it from the project. */
		if (!meson_is_phony(ninja_find(&m->ninja,
		        m->files->nodes[output].name)))
			m->held[owner] = false;
	}
}

static void
meson_edges(struct meson *m)
{
	m->seen = calloc(m->ninja.n_builds + 1, sizeof(*m->seen));
	if (m->seen == NULL) {
		m->g->failed = true;
		return;
	}
	for (uint32_t i = 0; i < m->files->n_nodes; i++) {
		size_t first = m->g->n_edges;

		while (first > 0 && m->g->edges[first - 1].from == m->nodes[i])
			first--;
		meson_follow(m, i, first, m->files->nodes[i].name, 0);
	}
	for (uint32_t i = 1; i < m->g->n_nodes && i < GRAPH_NODES_MAX; i++)
		if (m->held[i])
			graph_edge_of(m->g, 0, i, GRAPH_HOLDS, NULL);
	/* of what is only compiled with, the project alone is known */
	for (size_t i = 0; i < m->n_dependencies; i++)
		if (!m->dependencies[i].linked)
			graph_edge(m->g, 0, m->dependencies[i].node, NULL);
}

/* ---- all ---- */

static bool
meson_file(struct meson *m, const char *name, struct buf *text,
    struct json_in *json)
{
	char path[PATH_ROOM];

	return read_join(path, sizeof(path), m->folder, name) &&
	    read_json(path, text, json, &m->time_ns);
}

static void
meson_head(struct meson *m)
{
	struct buf text = {0}, name = {0};
	struct json_in json, value;
	char project[GRAPH_NAME_MAX];

	if (meson_file(m, INFO, &text, &json)) {
		if (json_in_find(json, "meson_version", &value))
			json_in_find_string(value, "full", &m->version);
		if (json_in_find(json, "directories", &value)) {
			json_in_find_string(value, "source", &m->source);
			json_in_find_string(value, "build", &m->build);
		}
	}
	if (meson_file(m, "meson-info/intro-projectinfo.json", &text, &json))
		json_in_find_string(json, "descriptive_name", &name);
	snprintf(project, sizeof(project), "%.2000s (Meson project)",
	    read_text(&name));
	graph_node(m->g, project);
	buf_fini(&text);
	buf_fini(&name);
}

static void
meson_body(struct meson *m)
{
	struct buf text = {0};
	struct json_in json;

	if (meson_file(m, "meson-info/intro-targets.json", &text, &json))
		meson_targets(m, json);
	else
		m->g->cut = true;
	if (meson_file(m, "meson-info/intro-dependencies.json", &text,
	        &json) && json_in_open(&json, '['))
		while (json_in_item(&json)) {
			meson_dependency(m, json);
			json_in_skip(&json);
		}
	if (!ninja_read(&m->ninja, m->folder, "build.ninja"))
		m->g->cut = true;
	m->g->cut = m->g->cut || m->ninja.cut;
	graph_lack(m->g, m->files);
	meson_edges(m);
	m->g->failed = m->g->failed || m->ninja.failed || m->files->failed;
	ninja_fini(&m->ninja);
	buf_fini(&text);
}

static void
meson_describe(struct meson *m)
{
	struct graph *g = m->g;
	struct buf out = {0};
	bool linked = true;

	for (size_t i = 0; i < m->n_dependencies; i++)
		linked = linked && m->dependencies[i].linked;
	if (!g->cut && linked)
		g->origin.complete = GRAPH_WHOLE;
	g->origin.time_ns = m->time_ns;
	buf_printf(&out, "the targets and dependencies that Meson %.40s "
	    "tells in %s/meson-info, and which needs which by its build.ninja",
	    read_text(&m->version), m->folder);
	if (!linked)
		buf_printf(&out, "; who needs dependencies that nothing is "
		    "linked with is not told");
	graph_set(g, &g->origin.source, read_text(&out));
	buf_fini(&out);
}

bool
graph_is_meson(const char *path)
{
	return read_has(path, INFO);
}

bool
graph_load_meson(struct graph *g, const struct graph_source *s)
{
	struct meson *m = calloc(1, sizeof(*m));
	bool fine;

	if (m == NULL)
		return false;
	m->g = m->linked.g = g;
	m->root = s->root;
	m->folder = s->path;
	m->files = graph_new();
	m->held = calloc(GRAPH_NODES_MAX, sizeof(*m->held));
	fine = m->files != NULL && m->held != NULL;
	if (fine) {
		meson_head(m);
		meson_body(m);
		meson_describe(m);
	}
	for (size_t i = 0; i < m->n_dependencies; i++)
		free(m->dependencies[i].words);
	free(m->dependencies);
	linked_fini(&m->linked);
	graph_free(m->files);
	free(m->held);
	free(m->seen);
	buf_fini(&m->source);
	buf_fini(&m->build);
	buf_fini(&m->version);
	free(m);
	return fine && !g->failed;
}
