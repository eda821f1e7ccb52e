/*
 * The graph of a .pc file: the packages that it requires, and those theirs,
 * looked up beside it and where pkg-config looks.  What is only required to
 * link statically or to compile (Requires.private) is so marked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/graph/read/graph_private.h"
#include "fcgi/graph/read/graph_read.h"
#include "fcgi/graph/read/linked.h"
#include "fcgi/graph/read/read_file.h"

#define PATH_ROOM 4096
#define VARIABLES_MAX 256
#define PRIVATE "Requires.private"

static const char *const folders[] = {"/usr/local/lib/x86_64-linux-gnu",
    "/usr/local/lib/aarch64-linux-gnu", "/usr/local/lib", "/usr/local/share",
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib",
    "/usr/share"};

struct pc_variable {
	char *name, *value;
};

/* One file, with its variables. */
struct pc_file {
	struct pc_variable variables[VARIABLES_MAX];
	size_t n;
	char folder[PATH_ROOM];
	struct buf version, requires, requires_private, libs;
};

struct pc_walk {
	struct graph *g;
	struct linked linked;
	struct graph *names; /* a package's number is that of its node */
	uint32_t nodes[GRAPH_NODES_MAX];
	char **paths;        /* of each package's file, or NULL */
	char folder[PATH_ROOM];
	int64_t time_ns;
};

/* ---- a file ---- */

static const char *
pc_variable(const struct pc_file *f, const char *name, size_t n)
{
	if (n == 9 && memcmp(name, "pcfiledir", 9) == 0)
		return f->folder;
	for (size_t i = f->n; i-- > 0;)
		if (strncmp(f->variables[i].name, name, n) == 0 &&
		    f->variables[i].name[n] == '\0')
			return f->variables[i].value;
	return "";
}

/* A value with its ${variables}, at most so long. */
static void
pc_expand(const struct pc_file *f, const char *from, struct buf *out)
{
	buf_clear(out);
	while (*from != '\0' && out->len < GRAPH_NAME_MAX) {
		const char *end = strchr(from, '}'), *value;

		if (from[0] != '$' || from[1] != '{' || end == NULL) {
			buf_put_u8(out, (uint8_t)*from++);
			continue;
		}
		value = pc_variable(f, from + 2, (size_t)(end - from - 2));
		buf_put(out, value, strnlen(value, GRAPH_NAME_MAX));
		from = end + 1;
	}
}

static void
pc_set(struct pc_file *f, const char *name, size_t n, const char *value)
{
	struct buf out = {0};
	struct pc_variable *v = &f->variables[f->n];

	if (f->n == VARIABLES_MAX)
		return;
	pc_expand(f, value, &out);
	*v = (struct pc_variable){strndup(name, n), strdup(read_text(&out))};
	if (v->name != NULL && v->value != NULL)
		f->n++;
	else {
		free(v->name);
		free(v->value);
	}
	buf_fini(&out);
}

static const struct {
	const char *name;
	size_t field;
} fields[] = {
    {"Version", offsetof(struct pc_file, version)},
    {"Requires", offsetof(struct pc_file, requires)},
    {PRIVATE, offsetof(struct pc_file, requires_private)},
    {"Libs", offsetof(struct pc_file, libs)},
};

/* "name=value" or "Field: value" */
static void
pc_line(struct pc_file *f, char *line)
{
	size_t n = strcspn(line, " \t=:"), at = n + strspn(line + n, " \t");
	char sign = line[at];
	const char *value;

	if (n == 0 || (sign != '=' && sign != ':'))
		return;
	value = line + at + 1 + strspn(line + at + 1, " \t");
	if (sign == '=') {
		pc_set(f, line, n, value);
		return;
	}
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strlen(fields[i].name) == n &&
		    strncmp(fields[i].name, line, n) == 0)
			pc_expand(f, value,
			    (struct buf *)((char *)f + fields[i].field));
}

/* Lines without comments, those that end with a backslash joined. */
static void
pc_lines(struct pc_file *f, char *text)
{
	while (*text != '\0') {
		char *line = text, *end;

		for (end = text; *end != '\0' && *end != '\n'; end++)
			if (end[0] == '\\' && end[1] == '\n')
				end[0] = end[1] = ' ';
		text = *end != '\0' ? end + 1 : end;
		*end = '\0';
		line[strcspn(line, "#\r")] = '\0';
		pc_line(f, line);
	}
}

static bool
pc_read(struct pc_walk *w, struct pc_file *f, const char *path)
{
	struct buf text = {0};
	char *slash;
	bool found = read_file(path, &text, &w->time_ns);

	memset(f, 0, sizeof(*f));
	snprintf(f->folder, sizeof(f->folder), "%s", path);
	slash = strrchr(f->folder, '/');
	if (slash != NULL)
		*slash = '\0';
	if (found)
		pc_lines(f, (char *)text.data);
	buf_fini(&text);
	return found;
}

static void
pc_free(struct pc_file *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->variables[i].name);
		free(f->variables[i].value);
	}
	buf_fini(&f->version);
	buf_fini(&f->requires);
	buf_fini(&f->requires_private);
	buf_fini(&f->libs);
	free(f);
}

/* ---- packages ---- */

static bool
pc_try(const char *folder, const char *inner, const char *name,
    char path[PATH_ROOM])
{
	return snprintf(path, PATH_ROOM, "%s%s/%s.pc", folder, inner, name) <
	    PATH_ROOM && access(path, R_OK) == 0;
}

/* Beside the first file, in $PKG_CONFIG_PATH, in the system's folders. */
static bool
pc_find(const struct pc_walk *w, const char *name, char path[PATH_ROOM])
{
	const char *more = getenv("PKG_CONFIG_PATH");
	char folder[PATH_ROOM];

	if (strchr(name, '/') != NULL)
		return false;
	if (pc_try(w->folder, "", name, path))
		return true;
	for (; more != NULL && *more != '\0'; more += *more == ':') {
		size_t n = strcspn(more, ":");

		snprintf(folder, sizeof(folder), "%.*s", (int)n, more);
		if (pc_try(folder, "", name, path))
			return true;
		more += n;
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (pc_try(folders[i], "/pkgconfig", name, path))
			return true;
	return false;
}

/* The package of that name: its node is "name version". */
static uint32_t
pc_package(struct pc_walk *w, const char *name, const char *known)
{
	struct pc_file *f = calloc(1, sizeof(*f));
	char path[PATH_ROOM], text[GRAPH_NAME_MAX];
	uint32_t i = graph_find(w->names, name), node;
	bool found;

	if (i != UINT32_MAX || f == NULL) {
		free(f);
		return i != UINT32_MAX ? w->nodes[i] : UINT32_MAX;
	}
	if (known != NULL)
		snprintf(path, sizeof(path), "%s", known);
	found = (known != NULL || pc_find(w, name, path)) &&
	    pc_read(w, f, path);
	snprintf(text, sizeof(text), "%s%s%.200s", name, !found ||
	    f->version.len > 0 ? " " : "", found ? read_text(&f->version)
	    : "(not found)");
	node = graph_node(w->g, text);
	i = graph_node(w->names, name);
	if (i != UINT32_MAX && node != UINT32_MAX) {
		w->nodes[i] = node;
		w->paths[i] = found ? strdup(path) : NULL;
		w->g->nodes[node].kind = found ? GRAPH_LIBRARY
		    : GRAPH_MISSING;
		w->g->cut = w->g->cut || !found;
	}
	pc_free(f);
	return node;
}

/* "a >= 1.0, b c": names without their versions. */
static void
pc_requires(struct pc_walk *w, uint32_t from, struct buf *list,
    const char *label)
{
	const char *p = read_text(list);
	char name[256];

	while (*(p += strspn(p, " \t,")) != '\0') {
		size_t n = strcspn(p, " \t,<>=!");

		if (n == 0) { /* "= 1.0" */
			p += strspn(p, "<>=!");
			p += strspn(p, " \t");
			p += strcspn(p, " \t,");
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)n, p);
		graph_edge(w->g, from, pc_package(w, name, NULL), label);
		p += n;
	}
}

/* Its code: the first library of its "-L... -l..." that is there. */
static void
pc_libraries(struct pc_walk *w, uint32_t node, struct buf *libs)
{
	char folder[PATH_ROOM] = "", path[PATH_ROOM], *rest = NULL;

	if (*read_text(libs) == '\0')
		return;
	for (char *word = strtok_r((char *)libs->data, " \t", &rest);
	     word != NULL; word = strtok_r(NULL, " \t", &rest)) {
		if (strncmp(word, "-L", 2) == 0)
			snprintf(folder, sizeof(folder), "%s", word + 2);
		else if (strncmp(word, "-l", 2) == 0 && linked_find(word + 2,
		        folder, path)) {
			w->linked.found++;
			linked_set(&w->linked, node, path);
		}
	}
}

static void
pc_visit(struct pc_walk *w, uint32_t i)
{
	struct pc_file *f = calloc(1, sizeof(*f));

	if (f == NULL || w->paths[i] == NULL) {
		free(f);
		return;
	}
	if (pc_read(w, f, w->paths[i])) {
		pc_requires(w, w->nodes[i], &f->requires, NULL);
		pc_requires(w, w->nodes[i], &f->requires_private, PRIVATE);
		pc_libraries(w, w->nodes[i], &f->libs);
	}
	pc_free(f);
}

bool
graph_is_pkgconfig(const char *path)
{
	size_t n = strlen(path);

	return n > 3 && strcmp(path + n - 3, ".pc") == 0;
}

bool
graph_load_pkgconfig(struct graph *g, const struct graph_source *s)
{
	struct pc_walk *w = calloc(1, sizeof(*w));
	const char *slash = strrchr(s->path, '/');
	char name[GRAPH_NAME_MAX];
	bool fine;

	if (w == NULL)
		return false;
	w->g = w->linked.g = g;
	w->names = graph_new();
	w->paths = calloc(GRAPH_NODES_MAX, sizeof(*w->paths));
	fine = w->names != NULL && w->paths != NULL;
	snprintf(w->folder, sizeof(w->folder), "%.*s", slash != NULL
	    ? (int)(slash - s->path) : 1, slash != NULL ? s->path : ".");
	snprintf(name, sizeof(name), "%s", slash != NULL ? slash + 1
	    : s->path);
	if (strlen(name) > 3)
		name[strlen(name) - 3] = '\0';
	if (fine && pc_package(w, name, s->path) != UINT32_MAX)
		for (uint32_t i = 0; i < w->names->n_nodes; i++)
			pc_visit(w, i);
	if (fine) {
		g->failed = g->failed || w->names->failed;
		if (!g->cut)
			g->origin.complete = GRAPH_WHOLE;
		g->origin.time_ns = w->time_ns;
		for (size_t i = 0; i < GRAPH_NODES_MAX; i++)
			free(w->paths[i]);
	}
	linked_fini(&w->linked);
	graph_free(w->names);
	free(w->paths);
	free(w);
	return fine && !g->failed;
}
